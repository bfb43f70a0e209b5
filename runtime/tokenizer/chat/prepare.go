package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/chat/jinja"
)

// prepare reads messages and gives them the form that templates expect.
func (t *Template) prepare(raw []json.RawMessage) ([]jinja.Value, error) {
	whole := t.plain.Loops("content") || t.tools.Loops("content")
	out := make([]jinja.Value, len(raw))
	for i, r := range raw {
		m, err := jinja.FromJSON(r)
		if err == nil && !m.IsDict() {
			err = errors.New("is no object")
		}
		if err == nil {
			m, err = withArguments(withContent(withReasoning(withRole(m)), whole))
		}
		if err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		out[i] = m
	}
	return out, nil
}

// withRole writes the role in lower case.
func withRole(m jinja.Value) jinja.Value {
	role, _ := m.Field("role")
	name, _ := role.AsText()
	if low := strings.ToLower(name); low != name {
		return m.With("role", jinja.Text(low))
	}
	return m
}

// reasonings are the names under which clients send an earlier answer's reasoning, the first one first.
var reasonings = []string{"reasoning_content", "thinking", "reasoning"}

// withReasoning gives the reasoning of a message the names that templates know.
func withReasoning(m jinja.Value) jinja.Value {
	for _, name := range reasonings {
		if v, has := m.Field(name); has && !v.IsNone() {
			if _, has := m.Field("thinking"); !has {
				m = m.With("thinking", v)
			}
			return m.With("reasoning_content", v)
		}
	}
	return m
}

// withContent makes content a text, but for templates that want all parts.
func withContent(m jinja.Value, whole bool) jinja.Value {
	content, has := m.Field("content")
	if !has || content.IsNone() {
		return m.With("content", jinja.Text(""))
	}
	parts, is := content.AsElements()
	role, _ := m.Field("role")
	if name, _ := role.AsText(); !is || whole && name != "tool" {
		return m
	}
	var texts []string
	for _, p := range parts {
		text, is := p.AsText()
		if field, has := p.Field("text"); has {
			text, is = field.AsText()
		}
		if !is {
			return m // not of texts alone: a template may know what it is
		}
		texts = append(texts, text)
	}
	return m.With("content", jinja.Text(strings.Join(texts, " ")))
}

// withArguments makes objects of the arguments of an assistant's calls, which the API has as texts.
func withArguments(m jinja.Value) (jinja.Value, error) {
	role, _ := m.Field("role")
	field, _ := m.Field("tool_calls")
	calls, is := field.AsElements()
	if name, _ := role.AsText(); !is || name != "assistant" {
		return m, nil
	}
	for i, call := range calls {
		function, _ := call.Field("function")
		arguments, _ := function.Field("arguments")
		text, is := arguments.AsText()
		if !is {
			continue
		}
		object, err := jinja.FromJSON([]byte(text))
		if err != nil {
			return m, fmt.Errorf("tool_calls[%d].function.arguments is %.80q, expected a JSON object: %w", i, text, err)
		}
		if !object.IsDict() {
			return m, fmt.Errorf("tool_calls[%d].function.arguments is %.80q, expected a JSON object", i, text)
		}
		calls[i] = call.With("function", function.With("arguments", object))
	}
	return m.With("tool_calls", jinja.Elements(calls)), nil
}

// split takes the beginning of the answer off the messages.
func split(messages []jinja.Value) ([]jinja.Value, string, error) {
	if len(messages) == 0 {
		return nil, "", errors.New("continue_final_message is true, expected a message to continue")
	}
	last := messages[len(messages)-1]
	role, _ := last.Field("role")
	content, _ := last.Field("content")
	text, is := content.AsText()
	if name, _ := role.AsText(); name != "assistant" || !is {
		return nil, "", fmt.Errorf("continue_final_message is true, expected the last message to be an assistant's text, not of role %.80q", name)
	}
	return messages[:len(messages)-1], text, nil
}

package api

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/chat"
)

// conversation reads what a chat's prompt is made of.
func (f *fields) conversation(t ChatTemplate) chat.Request {
	r := chat.Request{Variables: map[string]json.RawMessage{}, Continue: f.flag("continue_final_message", false)}
	r.Messages = f.messages(t)
	r.Tools = f.tools(t)
	if kwargs := f.object("chat_template_kwargs"); kwargs != nil {
		for _, name := range sortedKeys(kwargs.raw) {
			kwargs.known(name, t)
			r.Variables[name] = kwargs.raw[name]
		}
		f.take(kwargs)
	}
	if effort, has := f.get("reasoning_effort"); has {
		f.text("reasoning_effort", "")
		f.known("reasoning_effort", t)
		if _, own := r.Variables["reasoning_effort"]; !own {
			r.Variables["reasoning_effort"] = effort
		}
	}
	return r
}

// known refuses a field that the template does not know, unless it asks for nothing.
func (f *fields) known(name string, t ChatTemplate) {
	if raw, has := f.get(name); has && !t.Mentions(name) && !asksNothing(raw) {
		f.fail(name, "is %s, expected none: the model's chat template does not know it", show(raw))
	}
}

// tools reads the functions that the model may call; nil: none, or the client wants none called.
func (f *fields) tools(t ChatTemplate) []json.RawMessage {
	choice, has := f.get("tool_choice")
	if has && string(choice) != `"auto"` && string(choice) != `"none"` {
		f.fail("tool_choice", `is %s, expected "auto" or "none": this server makes no model call a tool`, show(choice))
	}
	if string(choice) == `"none"` {
		return nil
	}
	f.refuse("functions")
	f.known("tools", t)
	list := f.objects("tools", "a list of tools")
	tools := make([]json.RawMessage, 0, len(list))
	for i, one := range list {
		inner := &fields{raw: one.fields, prefix: "tools[" + strconv.Itoa(i) + "]."}
		if kind := inner.text("type", "function"); kind != "function" {
			inner.fail("type", `is %s, expected "function"`, show(inner.raw["type"]))
		}
		if function := inner.object("function"); function == nil {
			inner.fail("function", "is missing, expected an object")
		} else if function.text("name", "") == "" {
			function.fail("name", "is %s, expected a name", show(orNull(function.raw["name"])))
			inner.take(function)
		}
		f.take(inner)
		tools = append(tools, one.raw)
	}
	if len(tools) == 0 {
		return nil
	}
	return tools
}

// object is one of a list, as it was written and by its fields.
type object struct {
	raw    json.RawMessage
	fields map[string]json.RawMessage
}

// objects reads a list of objects; nil: it is not there.
func (f *fields) objects(name, want string) []object {
	raw, has := f.get(name)
	if !has {
		return nil
	}
	var list []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		f.wrong(name, raw, want)
		return nil
	}
	out := make([]object, len(list))
	for i, one := range list {
		out[i].raw = one
		if one[0] != '{' || json.Unmarshal(one, &out[i].fields) != nil {
			f.wrong(name, raw, want)
			return nil
		}
	}
	return out
}

// messages reads a chat.
func (f *fields) messages(t ChatTemplate) []json.RawMessage {
	raw, has := f.get("messages")
	if !has {
		f.fail("messages", "is missing, expected a list of messages")
		return nil
	}
	list := f.objects("messages", "a list of messages")
	if f.err == nil && len(list) == 0 {
		f.wrong("messages", raw, "at least one message")
	}
	out := make([]json.RawMessage, len(list))
	roles := t.Roles()
	for i, one := range list {
		m := &fields{raw: one.fields, prefix: "messages[" + strconv.Itoa(i) + "]."}
		m.message(t, roles)
		f.take(m)
		out[i] = one.raw
	}
	return out
}

func (f *fields) message(t ChatTemplate, roles []string) {
	role := strings.ToLower(f.text("role", ""))
	if !slices.Contains(roles, role) {
		f.fail("role", "is %s, expected one of %s", show(orNull(f.raw["role"])), strings.Join(roles, ", "))
	}
	f.refuse("function_call", "tools", "audio")
	f.known("reasoning_content", t)
	f.known("tool_calls", t)
	f.objects("tool_calls", "a list of calls")
	f.content(role)
}

// content checks a string or parts that are text; an assistant's may be missing.
func (f *fields) content(role string) {
	raw, has := f.get("content")
	switch {
	case !has && role != "assistant":
		f.fail("content", "is missing, expected a string or a list of text parts")
		return
	case !has || raw[0] == '"':
		return
	}
	for i, one := range f.objects("content", "a string or a list of text parts") {
		p := &fields{raw: one.fields, prefix: f.prefix + "content[" + strconv.Itoa(i) + "]."}
		if kind := p.text("type", ""); kind != "text" {
			p.fail("type", `is %s, expected "text": this server takes no other parts`, show(orNull(p.raw["type"])))
		}
		if _, has := p.get("text"); !has {
			p.fail("text", "is missing, expected a string")
		}
		p.text("text", "")
		f.take(p)
	}
}

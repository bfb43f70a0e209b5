package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/chat/jinja"
)

// Source is a template as a model ships it.
type Source struct {
	Name  string // stands in errors: the file
	Text  string
	Tools string // the template for chats with tools, where the model has another one for them; "": it has not
}

// Template renders the chats of a model. It does not change, so requests may share it.
type Template struct {
	plain, tools *jinja.Template
	tokens       map[string]jinja.Value
	roles        []string
	limits       jinja.Limits
	now          func() time.Time
}

// roles are those of the OpenAI API.
var roles = []string{"system", "developer", "user", "assistant", "tool", "function"}

// Parse reads a model's template. tokens are its special ones by the names that they have in
// tokenizer_config.json. A fault in the source is a *jinja.Error with file and line.
func Parse(source Source, tokens map[string]string) (*Template, error) {
	plain, err := jinja.Parse(source.Name, source.Text)
	if err != nil {
		return nil, err
	}
	t := &Template{plain: plain, tools: plain, tokens: map[string]jinja.Value{}, roles: roles, limits: jinja.Bounds, now: time.Now}
	if source.Tools != "" {
		if t.tools, err = jinja.Parse(source.Name+" (tool_use)", source.Tools); err != nil {
			return nil, err
		}
	}
	for name, token := range tokens {
		t.tokens[name] = jinja.Text(token)
	}
	return t, nil
}

// chatML is the form of the models that need no files.
const chatML = `{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

// ChatML is the template of the models that need no files. Its end of a turn, <|im_end|>, is an EOS of
// theirs, so that it ends an answer. Text of a message that looks like one of its marks is one, as in
// SGLang: a tokenizer sees no difference.
func ChatML() (*Template, error) {
	t, err := Parse(Source{Name: "ChatML", Text: chatML}, nil)
	if err != nil {
		return nil, err
	}
	t.roles = []string{"system", "developer", "user", "assistant"}
	return t, nil
}

// Roles that messages may have.
func (t *Template) Roles() []string { return slices.Clone(t.roles) }

// Mentions says whether the template has a variable, an attribute or a text that is this word. What
// none of its templates mentions cannot reach the model.
func (t *Template) Mentions(word string) bool {
	return t.plain.Mentions(word) || t.tools.Mentions(word)
}

// Request is a chat that is to become a prompt. All JSON must be valid.
type Request struct {
	Messages  []json.RawMessage          // objects
	Tools     []json.RawMessage          // nil: none
	Variables map[string]json.RawMessage // chat_template_kwargs
	Continue  bool                       // the last message is the beginning of the answer
}

// given are the variables that a request may not set by chat_template_kwargs.
var given = []string{"messages", "tools", "documents", "add_generation_prompt"}

// Render makes the prompt. An error is the request's fault, or its template's.
func (t *Template) Render(r Request) (string, error) {
	messages, err := t.prepare(r.Messages)
	if err != nil {
		return "", err
	}
	begun := ""
	if r.Continue {
		if messages, begun, err = split(messages); err != nil {
			return "", err
		}
	}
	vars, err := t.variables(r.Variables)
	if err != nil {
		return "", err
	}
	template := t.plain
	if r.Tools != nil {
		template = t.tools
		if vars["tools"], err = values("tools", r.Tools); err != nil {
			return "", err
		}
	}
	vars["messages"], vars["add_generation_prompt"] = jinja.Elements(messages), jinja.Truth(true)
	prompt, err := template.Render(vars, t.limits, t.now)
	return prompt + begun, err
}

// variables are the special tokens, and what the client sets, which may be a token too.
func (t *Template) variables(own map[string]json.RawMessage) (map[string]jinja.Value, error) {
	vars := map[string]jinja.Value{"tools": {}, "documents": {}}
	for name, v := range t.tokens {
		vars[name] = v
	}
	for name, raw := range own {
		if slices.Contains(given, name) {
			return nil, fmt.Errorf("chat_template_kwargs has %q, expected none of %s, which the server sets", name, strings.Join(given, ", "))
		}
		v, err := jinja.FromJSON(raw)
		if err != nil {
			return nil, fmt.Errorf("chat_template_kwargs.%s: %w", name, err)
		}
		vars[name] = v
	}
	return vars, nil
}

func values(name string, raw []json.RawMessage) (jinja.Value, error) {
	list := make([]jinja.Value, len(raw))
	for i, r := range raw {
		var err error
		if list[i], err = jinja.FromJSON(r); err != nil {
			return jinja.Value{}, fmt.Errorf("%s[%d]: %w", name, i, err)
		}
	}
	return jinja.Elements(list), nil
}

// Raised gives the words of a template that refuses a chat.
func Raised(err error) (string, bool) {
	var e *jinja.Error
	if errors.As(err, &e) && e.Raised {
		return e.Message, true
	}
	return "", false
}

package api

import (
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/chat"
)

// knowing is a template that knows all that a request may have.
const knowing = `{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system, please') }}{% endif %}
{{- m.role }}:{{ m.content }}{% if m.reasoning_content %}({{ m.reasoning_content }}){% endif %}
{%- for c in m.tool_calls or [] %}[{{ c.function.name }} {{ c.function.arguments.a }}]{% endfor %};{% endfor %}
{%- if tools %}{{ tools|tojson }}{% endif %}{% if enable_thinking is defined %}think {{ enable_thinking }}{% endif %}{{ reasoning_effort }}>`

// made gives a server with a template, nil for none.
func made(t *testing.T, f *fake, source string) string {
	t.Helper()
	template, err := chat.Parse(chat.Source{Name: "t.jinja", Text: source}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, f, func(c *Config) { c.Template = template })
}

// Each field reaches the template as it was sent.
func TestTemplateFields(t *testing.T) {
	const tool = `{"type":"function","function":{"name":"f","parameters":{"z":1.0,"a":2}}}`
	for body, want := range map[string]string{
		`"messages":[{"role":"User","content":"x"}]`:                                                                   "user:x;>",
		`"messages":[{"role":"user","content":"x"}],"tools":[` + tool + `]`:                                            `user:x;[{"type": "function", "function": {"name": "f", "parameters": {"z": 1.0, "a": 2}}}]>`,
		`"messages":[{"role":"user","content":"x"}],"tools":[` + tool + `],"tool_choice":"none"`:                       "user:x;>",
		`"messages":[{"role":"user","content":"x"}],"tools":[` + tool + `],"tool_choice":"auto","n":2`:                 `user:x;[{"type": "function", "function": {"name": "f", "parameters": {"z": 1.0, "a": 2}}}]>`,
		`"messages":[{"role":"user","content":"x"}],"chat_template_kwargs":{"enable_thinking":false}`:                  "user:x;think False>",
		`"messages":[{"role":"user","content":"x"}],"reasoning_effort":"low"`:                                          "user:x;low>",
		`"messages":[{"role":"user","content":"x"}],"chat_template_kwargs":{"nope":false,"other":null}`:                "user:x;>",
		`"messages":[{"role":"assistant","reasoning_content":"r"},{"role":"tool","content":"9"}]`:                      "assistant:(r);tool:9;>",
		`"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":7}"}}]}]`:           "assistant:[f 7];>",
		`"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"So"}],"continue_final_message":true`: "user:x;>So",
	} {
		f := newFake()
		post(t, made(t, f, knowing)+"/v1/chat/completions", `{`+body+`}`)
		if len(f.submitted) != 1 {
			t.Errorf("%s: refused", body)
			continue
		}
		it := f.submitted[0][0]
		if it.Text != want {
			t.Errorf("%s: got %q, want %q", body, it.Text, want)
		}
		if shown := !it.Params.SkipSpecialTokens; shown != strings.Contains(want, "function") {
			t.Errorf("%s: special tokens shown %v, want that with tools only", body, shown)
		}
	}
}

func TestTemplateRefusals(t *testing.T) {
	const x = `"messages":[{"role":"user","content":"x"}]`
	for body, want := range map[string]string{
		`"messages":[{"role":"system","content":"x"}]`: "no system, please",
		x + `,"tools":{}`:                                                                 `tools is {}, expected a list of tools`,
		x + `,"tools":["f"]`:                                                              `tools is ["f"], expected a list of tools`,
		x + `,"tools":[{"type":"retrieval"}]`:                                             `tools[0].type is "retrieval", expected "function"`,
		x + `,"tools":[{"type":"function"}]`:                                              `tools[0].function is missing, expected an object`,
		x + `,"tools":[{"type":"function","function":{}}]`:                                `tools[0].function.name is null, expected a name`,
		x + `,"functions":[{"name":"f"}]`:                                                 `functions is [{"name":"f"}], expected none`,
		x + `,"chat_template_kwargs":[1]`:                                                 `chat_template_kwargs is [1], expected an object`,
		x + `,"chat_template_kwargs":{"messages":[1]}`:                                    `chat_template_kwargs has \"messages\", expected none`,
		x + `,"chat_template_kwargs":{"nope":true}`:                                       `chat_template_kwargs.nope is true, expected none: the model's chat template does not know it`,
		x + `,"reasoning_effort":3`:                                                       `reasoning_effort is 3, expected a string`,
		x + `,"continue_final_message":1`:                                                 `continue_final_message is 1, expected true or false`,
		x + `,"continue_final_message":true`:                                              `continue_final_message is true, expected the last message to be an assistant's text`,
		`"messages":["x"]`:                                                                `messages is ["x"], expected a list of messages`,
		`"messages":[{"role":"robot","content":"x"}]`:                                     `messages[0].role is "robot", expected one of system, developer, user, assistant, tool, function`,
		`"messages":[{"role":"assistant","tool_calls":{}}]`:                               `messages[0].tool_calls is {}, expected a list of calls`,
		`"messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":"x"}}]}]`: `messages[0]: tool_calls[0].function.arguments is \"x\", expected a JSON object`,
		`"messages":[{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"a\":\"\\ud83d\"}"}}]}]`: `half of a character, expected both halves`,
	} {
		f := newFake()
		g := post(t, made(t, f, knowing)+"/v1/chat/completions", `{`+body+`}`)
		unescaped := strings.ReplaceAll(g.body, `\"`, `"`)
		if g.status != 400 || !strings.Contains(unescaped, strings.ReplaceAll(want, `\"`, `"`)) && !strings.Contains(g.body, want) || len(f.submitted) > 0 {
			t.Errorf("%s: got %d %s, want 400 with %s", body, g.status, g.body, want)
		}
	}
}

// A template that loops ends as a refusal of its request, and others are served on.
func TestTemplateLoops(t *testing.T) {
	f := newFake()
	url := made(t, f, `{% macro f() %}{{ f() }}{% endmacro %}{% if messages[0].content == 'loop' %}{{ f() }}{% endif %}ok`)
	if g := post(t, url+"/v1/chat/completions", `{"messages":[{"role":"user","content":"loop"}]}`); g.status != 400 || !strings.Contains(g.body, "t.jinja:1: calls, expressions or values within each other too deep") {
		t.Errorf("got %d %s", g.status, g.body)
	}
	post(t, url+"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`)
	if len(f.submitted) != 1 || f.submitted[0][0].Text != "ok" {
		t.Errorf("submitted %+v, want the second request", f.submitted)
	}
}

// A model without a template takes no chats, and everything else.
func TestNoTemplate(t *testing.T) {
	f := newFake()
	url := start(t, f, func(c *Config) { c.Template = nil })
	if g := post(t, url+"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`); g.status != 400 || !strings.Contains(g.body, "the model has no chat template; start the server with --chat-template") {
		t.Errorf("got %d %s", g.status, g.body)
	}
	if post(t, url+"/v1/completions", `{"prompt":"x"}`); len(f.submitted) != 1 {
		t.Errorf("submitted %+v, want the completion", f.submitted)
	}
}

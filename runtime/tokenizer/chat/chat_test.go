package chat

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/chat/jinja"
)

// request reads messages; more changes the request.
func request(t testing.TB, messages string, more ...func(*Request)) Request {
	t.Helper()
	var r Request
	if err := json.Unmarshal([]byte(messages), &r.Messages); err != nil {
		t.Fatal(err)
	}
	for _, change := range more {
		change(&r)
	}
	return r
}

func with(name, value string) func(*Request) {
	return func(r *Request) {
		r.Variables = maps.Clone(r.Variables)
		if r.Variables == nil {
			r.Variables = map[string]json.RawMessage{}
		}
		r.Variables[name] = json.RawMessage(value)
	}
}

func goOn(r *Request) { r.Continue = true }

func tools(list ...string) func(*Request) {
	return func(r *Request) {
		for _, one := range list {
			r.Tools = append(r.Tools, json.RawMessage(one))
		}
	}
}

const hi = `[{"role":"user","content":"hi"}]`

// What a template is given, one thing a case.
func TestRender(t *testing.T) {
	for _, c := range []struct {
		name, source string
		r            Request
		want         string
	}{
		{"tokens", "{{ bos_token }}{{ eos_token is defined }}{{ nope is defined }}", request(t, hi), "<s>TrueFalse"},
		{"a client's token", "{{ bos_token }}", request(t, hi, with("bos_token", `"<x>"`)), "<x>"},
		{"nothing but messages", "{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ x is defined }}", request(t, hi), "NoneNoneTrueFalse"},
		{"variables", "{{ x }}{{ y.z[0] }}", request(t, hi, with("x", `1.0`), with("y", `{"z":[null]}`)), "1.0None"},
		{"tools", "{{ tools|length }}{{ tools[0]|tojson }}", request(t, hi, tools(`{"b":1,"a":2}`)), `1{"b": 1, "a": 2}`},
		{"every field", "{{ messages[0]|tojson }}", request(t, `[{"role":"User","name":"n","content":"x","z":{"b":1,"a":[]}}]`), `{"role": "user", "name": "n", "content": "x", "z": {"b": 1, "a": []}}`},
		{"parts to a text", "{{ messages[0].content }}", request(t, `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`), "a b"},
		{"parts as they are", "{% for p in messages[0]['content'] %}[{{ p.text }}]{% endfor %}", request(t, `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`), "[a][b]"},
		{"parts of a tool", "{% for p in messages[0].content %}{{ p }}.{% endfor %}", request(t, `[{"role":"tool","content":[{"type":"text","text":"a"},"b"]}]`), "a. .b."},
		{"parts that are no texts", "{{ messages[0].content|tojson }}", request(t, `[{"role":"user","content":[{"type":"image"}]}]`), `[{"type": "image"}]`},
		{"no content", "{{ messages[0].content|tojson }}{{ messages[1].content|tojson }}", request(t, `[{"role":"assistant"},{"role":"assistant","content":null}]`), `""""`},
		{"arguments", "{{ messages[0].tool_calls[0].function.arguments.a }}", request(t, `[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":1.0}"}}]}]`), "1.0"},
		{"both halves of a character in arguments", "{{ messages[0].tool_calls[0].function.arguments.a }}", request(t, `[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":\"\\ud83d\\ude00\"}"}}]}]`), "😀"},
		{"continue", "{{ messages|length }}{{ add_generation_prompt }}>", request(t, `[{"role":"user","content":"x"},{"role":"assistant","content":"Yes, "}]`, goOn), "1True>Yes, "},
		{"the clock", "{{ strftime_now('%d %b %Y') }}", request(t, hi), "03 Feb 2026"},
	} {
		got, err := parse(t, Source{Name: "t", Text: c.source}, map[string]string{"bos_token": "<s>", "eos_token": "</s>"}).Render(c.r)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestRenderFaults(t *testing.T) {
	for want, r := range map[string]Request{
		`messages[0]: is no object`:          request(t, `["x"]`),
		`messages[1]: JSON nested more than`: request(t, `[{},{"content":`+strings.Repeat("[", 600)+strings.Repeat("]", 600)+`}]`),
		`messages[0]: tool_calls[0].function.arguments is "{", expected a JSON object`:                                                          request(t, `[{"role":"assistant","tool_calls":[{"function":{"arguments":"{"}}]}]`),
		`messages[0]: tool_calls[0].function.arguments is "[1]", expected a JSON object`:                                                        request(t, `[{"role":"assistant","tool_calls":[{"function":{"arguments":"[1]"}}]}]`),
		`messages[0]: tool_calls[0].function.arguments is "{\"a\":\"\\ud83d\"}", expected a JSON object: JSON with \ud83d, half of a character`: request(t, `[{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"a\":\"\\ud83d\"}"}}]}]`),
		`continue_final_message is true, expected the last message to be an assistant's text`:                                                   request(t, hi, goOn),
		`continue_final_message is true, expected a message to continue`:                                                                        request(t, `[]`, goOn),
		`chat_template_kwargs has "messages", expected none of messages, tools`:                                                                 request(t, hi, with("messages", `[]`)),
		`chat_template_kwargs has "add_generation_prompt"`:                                                                                      request(t, hi, with("add_generation_prompt", `false`)),
		`chat_template_kwargs.x: EOF`: request(t, hi, with("x", ``)),
		`tools[1]: `:                  request(t, hi, tools(`{}`, `}`)),
	} {
		if got, err := parse(t, Source{Name: "t", Text: "x"}, nil).Render(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, %v, want %s", got, err, want)
		}
	}
}

// A template's own words are told apart from its faults, and a fault in its source names the place.
func TestTemplateFaults(t *testing.T) {
	_, err := parse(t, Source{Name: "t", Text: "\n{{ raise_exception('roles must alternate') }}"}, nil).Render(request(t, hi))
	if words, own := Raised(err); !own || words != "roles must alternate" {
		t.Errorf("got %v, want the template's own words", err)
	}
	_, err = parse(t, Source{Name: "f.jinja", Text: "\n\n{{ messages[7].role }}"}, nil).Render(request(t, hi))
	if _, own := Raised(err); own || err == nil || err.Error() != "f.jinja:3: list object has no element 7" {
		t.Errorf("got %v, want a fault in line 3", err)
	}
	var fault *jinja.Error
	if _, err := Parse(Source{Name: "f.jinja", Text: "a\n{% if x %}\n{{ y y }}"}, nil); !errors.As(err, &fault) || err.Error() != "f.jinja:3: unexpected 'y', expected '}}'" {
		t.Errorf("got %v", err)
	}
	if _, err := Parse(Source{Name: "f.jinja", Text: "a", Tools: "{{"}, nil); !errors.As(err, &fault) || fault.Template != "f.jinja (tool_use)" {
		t.Errorf("got %v, want a fault of the template for tools", err)
	}
	_, err = parse(t, Source{Name: "t", Text: "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"}, nil).Render(request(t, hi))
	if err == nil || !strings.Contains(err.Error(), "too deep") {
		t.Errorf("got %v, want a macro that calls itself stopped", err)
	}
}

// The template for tools is used where there are some.
func TestTwoTemplates(t *testing.T) {
	two := parse(t, Source{Name: "t", Text: "plain", Tools: "{{ tools|length }} tools"}, nil)
	for want, r := range map[string]Request{"plain": request(t, hi), "1 tools": request(t, hi, tools(`{}`))} {
		if got, err := two.Render(r); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if !two.Mentions("tools") || two.Mentions("tool_calls") {
		t.Error("the template mentions tools and not tool_calls")
	}
}

func TestChatML(t *testing.T) {
	ml, err := ChatML()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ml.Render(request(t, `[{"role":"system","content":"s"},{"role":"user","content":"{{ x }}\n"},{"role":"assistant","content":""}]`))
	const want = "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\n{{ x }}\n<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n<|im_start|>assistant\n"
	if err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if slices.Contains(ml.Roles(), "tool") || ml.Mentions("tools") || ml.Mentions("enable_thinking") {
		t.Error("ChatML knows tools or thinking")
	}
}

// What Qwen3's template knows, by which requests are refused or taken.
func TestMentions(t *testing.T) {
	qwen3, smollm2 := shipped(t, "qwen3", nil), shipped(t, "smollm2", nil)
	for _, word := range []string{"tools", "tool_calls", "reasoning_content", "enable_thinking"} {
		if !qwen3.Mentions(word) || smollm2.Mentions(word) {
			t.Errorf("%s: Qwen3 %v, SmolLM2 %v, want true and false", word, qwen3.Mentions(word), smollm2.Mentions(word))
		}
	}
}

// Requests share a template.
func TestConcurrent(t *testing.T) {
	qwen3 := shipped(t, "qwen3", nil)
	r := request(t, `[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`)
	want, err := qwen3.Render(r)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if got, err := qwen3.Render(r); err != nil || got != want {
					t.Errorf("got %q, %v, want %q", got, err, want)
				}
			}
		})
	}
	all.Wait()
}

// Whatever a chat is, Qwen3's and SmolLM2's templates render it or say why not.
func FuzzRender(f *testing.F) {
	f.Add(`[{"role":"user","content":"hi"}]`, `[{"type":"function"}]`, `{"enable_thinking":false}`, true)
	f.Add(`[{"role":"assistant","content":[{"text":"a"}],"tool_calls":[{"function":{"arguments":"{}"}}],"reasoning":"x"}]`, `null`, `{}`, false)
	models := []*Template{shipped(f, "qwen3", nil), shipped(f, "smollm2", nil)}
	f.Fuzz(func(t *testing.T, messages, tools, variables string, cont bool) {
		r := Request{Continue: cont}
		if json.Unmarshal([]byte(messages), &r.Messages) != nil || json.Unmarshal([]byte(tools), &r.Tools) != nil || json.Unmarshal([]byte(variables), &r.Variables) != nil {
			return
		}
		for _, m := range models {
			first, err := m.Render(r)
			second, again := m.Render(r)
			if first != second || (err == nil) != (again == nil) {
				t.Errorf("%q, %v and then %q, %v", first, err, second, again)
			}
		}
	})
}

func BenchmarkRender(b *testing.B) {
	qwen3 := shipped(b, "qwen3", nil)
	r := request(b, `[{"role":"system","content":"Be brief."},{"role":"user","content":"What is 1+1?"},{"role":"assistant","content":"2"},{"role":"user","content":"And 2+2?"}]`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := qwen3.Render(r); err != nil {
			b.Fatal(err)
		}
	}
}

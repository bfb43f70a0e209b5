package api

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

var rewrite = flag.Bool("rewrite", false, "write the golden exchanges in testdata anew")

// TestGolden compares whole responses, byte by byte.
func TestGolden(t *testing.T) {
	null := manager.Position{Token: manager.TokenLogprob{ID: 'x'}, Null: true}
	never := position('b', math.Inf(-1))
	two := []any{says(1, "B", nil), says(0, "A", nil), says(0, "a", byLength), says(1, "", nil), says(1, "b", byToken)}
	logprobs := []any{
		withLogprobs(says(0, "é", nil), null, position('y', -2)),
		manager.Update{RID: "r0", OutputIDs: []int64{'b'}, OutputLogprobs: []manager.Position{never}, PromptTokens: 3},
		withLogprobs(says(0, "c", byText)),
	}
	plain := []any{says(0, "He said \"hi\"\n", nil), says(0, "\u2028\t<b>🙂", byText)}
	incremental := func(c *Config) { c.Args.IncrementalStreaming = true }
	none := func(*Config) {}
	for _, c := range []struct {
		name, path, body string
		script           []any
		change           func(*Config)
	}{
		{"generate", "/generate", `{"text":"abc"}`, plain, none},
		{"generate-batch", "/generate", `{"text":["abc","d"]}`, two, none},
		{"generate-batch-of-one", "/generate", `{"input_ids":[[1,2]]}`, plain, none},
		{"generate-n", "/generate", `{"input_ids":[1,2],"sampling_params":{"n":2}}`, two, none},
		{"generate-logprobs", "/generate", `{"text":"xy","return_logprob":true,"logprob_start_len":0,"top_logprobs_num":2,"token_ids_logprob":[65],"return_text_in_logprobs":true}`, logprobs, none},
		{"generate-logprobs-plain", "/generate", `{"text":"xy","return_logprob":true}`, logprobs, none},
		{"generate-stream", "/generate", `{"text":"abc","stream":true}`, plain, none},
		{"generate-stream-incremental", "/generate", `{"text":"abc","stream":true}`, plain, incremental},
		{"generate-stream-batch", "/generate", `{"text":["abc","d"],"stream":true}`, two, none},
		{"generate-stream-logprobs", "/generate", `{"text":"xy","stream":true,"return_logprob":true,"top_logprobs_num":2}`, logprobs, none},
		{"generate-stream-logprobs-incremental", "/generate", `{"text":"xy","stream":true,"return_logprob":true,"top_logprobs_num":2}`, logprobs, incremental},
		{"completions", "/v1/completions", `{"model":"m","rid":"cmpl-1","prompt":"abc"}`, plain, none},
		{"completions-n-echo", "/v1/completions", `{"rid":"cmpl-1","prompt":"abc","n":2,"echo":true}`, two, none},
		{"completions-logprobs-echo", "/v1/completions", `{"rid":"cmpl-1","prompt":[120,121],"logprobs":2,"echo":true}`, logprobs, none},
		{"completions-stream", "/v1/completions", `{"rid":"cmpl-1","prompt":"abc","stream":true,"stream_options":{"include_usage":true}}`, plain, none},
		{"completions-stream-n-echo", "/v1/completions", `{"rid":"cmpl-1","prompt":["abc","d"],"stream":true,"echo":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`, two, none},
		{"completions-stream-logprobs", "/v1/completions", `{"rid":"cmpl-1","prompt":"xy","stream":true,"logprobs":0}`, logprobs, none},
		{"chat", "/v1/chat/completions", `{"model":"m","rid":"chatcmpl-1","messages":[{"role":"user","content":"hi"}]}`, plain, none},
		{"chat-n-logprobs", "/v1/chat/completions", `{"rid":"chatcmpl-1","messages":[{"role":"user","content":"hi"}],"logprobs":true,"top_logprobs":2}`, logprobs, none},
		{"chat-stream", "/v1/chat/completions", `{"rid":"chatcmpl-1","messages":[{"role":"user","content":"hi"}],"stream":true}`, plain, none},
		{"chat-stream-n", "/v1/chat/completions", `{"rid":"chatcmpl-1","messages":[{"role":"user","content":"hi"}],"n":2,"stream":true,"stream_options":{"include_usage":true}}`, two, none},
		{"chat-stream-logprobs", "/v1/chat/completions", `{"rid":"chatcmpl-1","messages":[{"role":"user","content":"hi"}],"stream":true,"logprobs":true,"top_logprobs":2}`, logprobs, none},
		{"models", "/v1/models", "", nil, none},
		{"model_info", "/model_info", "", nil, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			method := "POST"
			if c.body == "" {
				method = "GET"
			}
			g := do(t, method, start(t, newFake(c.script...), c.change)+c.path, c.body)
			text := fmt.Sprintf("%s %s\n%s\n\n%d %s\n\n%s", method, c.path, c.body, g.status, g.header.Get("Content-Type"), g.body)
			if !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			golden(t, c.name, text)
		})
	}
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *rewrite {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fanoutbench/fanoutbench/results/form"
)

// Servers that do not say how many tokens a text has are sent exact lengths by a
// tokenizer that is given, and their answers must agree with it.
func TestTokenizer(t *testing.T) {
	t.Parallel()
	const file = "../../runtime/tokenizer/bpe/testdata/qwen3-small.json"
	url := (&fake{mute: true}).serve(t)
	arms := []string{"--reference", url, "--candidate", url, "--score-tolerance", "0"}
	measure(t, arms...).run(exitInvalid).says("POST /tokenize: status 404")
	p := measure(t, append(arms, "--tokenizer", file)...).run(exitOK)
	f := p.folder()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if f.Plan.TokenizerSHA256 != form.Sum(b) {
		t.Errorf("tokenizer_sha256 is %q, want that of the file", f.Plan.TokenizerSHA256)
	}
	for _, r := range f.Requests[0] {
		if r.PromptTokens != 3*(4+6) {
			t.Errorf("request %d has %d tokens, want 30", r.Index, r.PromptTokens)
		}
	}
	command(t, "verify", p.output).run(exitOK)
	// One of another model is found out by the first answer.
	data := filepath.Join(t.TempDir(), "requests.jsonl")
	if err := os.WriteFile(data, []byte(`{"query": "the cat and the dog ", "items": ["is the same"]}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	bad := &program{t: t, args: append(arms, "--tokenizer", file, "--dataset", data, "--rps", "20", "--output", filepath.Join(t.TempDir(), "run"))}
	bad.run(exitInvalid).says("prompt_tokens")
}

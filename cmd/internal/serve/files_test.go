package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/bpe"
)

// tinyModels are models of two layers and 64 rows; the folder qwen3 has a tokenizer of
// 60 ids, with BOS.
const tinyModels = "../../../runtime/model/checkpoint/testdata"

// greedyTwin are the n tokens behind the prompt, by package qwen3 alone.
func greedyTwin(t *testing.T, path string, prompt []int64, n int) []int64 {
	t.Helper()
	c, w, err := qwen3.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := qwen3.New(c, w, len(prompt)+n, qwen3.Greedy{})
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(prompt)
	for range n {
		slots := make([]int32, len(all))
		for i := range slots {
			slots[i] = int32(i)
		}
		out, err := m.Forward(&model.Batch{Work: []model.Work{{IDs: all, Slots: slots, Next: -1, Sample: true}}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, out.Chosen[0].Token)
	}
	return all[len(prompt):]
}

// Files of every kind are served as processes and in one: the tokens are those of the
// plain computation behind the tokenizer's ids, with BOS, and the text is theirs.
func TestModelsOfFiles(t *testing.T) {
	folder := filepath.Join(tinyModels, "qwen3")
	tok, err := bpe.Load(filepath.Join(folder, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	const text = "hello the world, 12"
	prompt, err := tok.EncodePrompt(text)
	if err != nil || len(prompt) != 10 || prompt[0] != 1 {
		t.Fatal(prompt, err)
	}
	for name, c := range map[string]struct {
		argv  []string
		class string
	}{
		"qwen3":      {[]string{"--tokenizer-worker-num", "2", "--detokenizer-worker-num", "2"}, "Qwen3ForCausalLM"},
		"llama":      {[]string{"--tokenizer-path", folder, "--in-process"}, "LlamaForCausalLM"},
		"llama.gguf": {[]string{"--tokenizer-path", filepath.Join(folder, "tokenizer.json"), "--dtype", "float32"}, "LlamaForCausalLM"},
		"qwen3.gguf": {[]string{"--tokenizer-path", folder, "--context-length", "200", "--served-model-name", "tiny", "--in-process"}, "Qwen3ForCausalLM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(tinyModels, name)
			s := launch(t, append([]string{"--model-path", path}, c.argv...)...)
			want := greedyTwin(t, path, prompt, 24)
			got, err := s.unary(t.Context(), map[string]any{"text": text,
				"sampling_params": map[string]any{"max_new_tokens": 24, "temperature": 0, "ignore_eos": true, "skip_special_tokens": false}})
			if err != nil || !slices.Equal(got.IDs, want) || got.Text != string(tok.AppendDecode(nil, want, false, true)) {
				t.Errorf("ids %v, text %q, %v; want %v", got.IDs, got.Text, err, want)
			}
			served, context := path, 4096
			if name == "qwen3.gguf" {
				served, context = "tiny", 200
			}
			checkModelInfo(t, s, map[string]any{"architectures": []string{c.class}, "vocab_size": 64, "context_length": context, "model_path": path, "served_model_name": served})
			checkLabels(t, s)
			s.term()
		})
	}
}

// checkModelInfo compares what /model_info says by name.
func checkModelInfo(t *testing.T, s *server, want map[string]any) {
	t.Helper()
	_, info := s.raw(t, "GET", "/model_info", nil)
	for name, v := range want {
		if got := fmt.Sprint(info[name]); got != fmt.Sprint(v) {
			t.Errorf("/model_info has %s %s, want %v", name, got, v)
		}
	}
}

// checkLabels asks for scores: of every id that the model has a logit for, also of those
// that no token stands for, and of none beyond.
func checkLabels(t *testing.T, s *server) {
	t.Helper()
	ask := func(id int) (int, string) {
		status, answer := s.post(t, "/v1/score", map[string]any{"query": "the", "items": []string{" a", " b"}, "label_token_ids": []int{4, id}, "apply_softmax": true})
		return status, fmt.Sprint(answer)
	}
	if status, answer := ask(63); status != 200 || !strings.Contains(answer, "scores") {
		t.Errorf("label 63: %d %s", status, answer)
	}
	if status, answer := ask(64); status != 400 || !strings.Contains(answer, "Token ID 64 is out of vocabulary (vocab size: 64)") {
		t.Errorf("label 64: %d %s", status, answer)
	}
}

// copiedModel is a copy of the folder qwen3, of which one file is changed.
func copiedModel(t *testing.T, name string, change func([]byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(tinyModels, "qwen3"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b = change(b); b == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Files that cannot be served are said at once and alone, before any part is started.
func TestFilesThatCannotBeServed(t *testing.T) {
	gone := func([]byte) []byte { return nil }
	half := func(b []byte) []byte { return b[:len(b)/2] }
	cut := filepath.Join(t.TempDir(), "cut.gguf")
	whole, err := os.ReadFile(filepath.Join(tinyModels, "llama.gguf"))
	if err == nil {
		err = os.WriteFile(cut, half(whole), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	folder, padded := filepath.Join(tinyModels, "qwen3"), func(b []byte) []byte { return []byte(strings.Replace(string(b), `"!": 0`, `"!": 64`, 1)) }
	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{"--model-path", "some/model"}, `--model-path "some/model": there is no such file, want a folder or a .gguf file: nothing is downloaded`},
		{[]string{"--model-path", copiedModel(t, "config.json", gone)}, "config.json: no such file or directory"},
		{[]string{"--model-path", copiedModel(t, "model-00002-of-00003.safetensors", gone)}, "model-00002-of-00003.safetensors: no such file or directory"},
		{[]string{"--model-path", copiedModel(t, "model-00002-of-00003.safetensors", half)}, "model-00002-of-00003.safetensors"},
		{[]string{"--model-path", copiedModel(t, "tokenizer.json", gone)}, "tokenizer.json: no such file or directory"},
		{[]string{"--model-path", copiedModel(t, "tokenizer.json", half)}, "tokenizer_path: bpe: tokenizer.json: unexpected EOF"},
		{[]string{"--model-path", copiedModel(t, "tokenizer.json", padded)}, "has ids to 64, expected at most 63: the model "},
		{[]string{"--model-path", cut}, "cut.gguf"},
		{[]string{"--model-path", filepath.Join(tinyModels, "llama.gguf")}, "llama.gguf: no key tokenizer.ggml.pre, expected a string"},
		{[]string{"--model-path", folder, "--tokenizer-path", "none"}, "tokenizer_path: stat none: no such file or directory"},
		{[]string{"--model-path", folder, "--device", "sim"}, "expected none with device sim"},
		{[]string{"--tokenizer-path", folder}, "expected none without model_path"},
		{[]string{"--model-path", folder, "--context-length", "5000"}, "context_length is 5000, expected 3 to 4096"},
		{[]string{"--model-path", folder, "--max-total-tokens", "2000000000"}, "max_total_tokens 2000000000 need "},
	} {
		got := refusedStart(t, nil, c.argv...)
		if !strings.HasPrefix(got, "fanoutserve: ") || !strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%v: got %s, want one line with %q", c.argv, got, c.want)
		}
	}
	// A flag that has no meaning here is warned of first.
	if got, want := refusedStart(t, nil, "--model-path", "some/model", "--tp", "8"), "fanoutserve: warning: --tp-size 8 has no meaning here and is ignored\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s first", got, want)
	}
}

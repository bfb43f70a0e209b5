//go:build python

package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// smollm2 is the path of the file that scripts/get_smollm2.sh gets.
func smollm2(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("../../../scripts/get_smollm2.sh")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("scripts/get_smollm2.sh: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// A real model answers a question whose answer is known: the file, its vocabulary, the
// weights and every process between them and the client work on one thing. In float32:
// the first token's logit is only 0.08 above the next one's, which coarser sums may miss.
func TestSmolLM2KnowsFrance(t *testing.T) {
	path := smollm2(t)
	s := launch(t, "--model-path", path, "--dtype", "float32", "--tokenizer-worker-num", "2", "--detokenizer-worker-num", "2")
	checkModelInfo(t, s, map[string]any{"architectures": []string{"LlamaForCausalLM"}, "vocab_size": 49152, "context_length": 8192, "served_model_name": path})
	const question = "What is the capital of France?"
	prompt := "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n" +
		"<|im_start|>user\n" + question + "<|im_end|>\n<|im_start|>assistant\n"
	_, ids := s.post(t, "/tokenize", map[string]any{"prompt": prompt})
	if ids["count"] != float64(37) { // as Python's tokenizers has it; no BOS
		t.Errorf("%v tokens, want 37", ids["count"])
	}
	status, answer := s.post(t, "/generate", map[string]any{"text": prompt, "sampling_params": map[string]any{"max_new_tokens": 24, "temperature": 0}})
	if text := fmt.Sprint(answer["text"]); status != 200 || !strings.Contains(text, "Paris") || strings.Contains(text, "<|im_end|>") {
		t.Errorf("/generate: %d %v, want Paris", status, answer)
	}
	if meta, err := json.Marshal(answer["meta_info"]); err != nil || !strings.Contains(string(meta), `"finish_reason":{"matched":2,"type":"stop"}`) {
		t.Errorf("/generate ended by %s, %v, want the model's end of a turn, 2", meta, err)
	}
	status, answer = s.post(t, "/v1/chat/completions", map[string]any{"messages": []any{map[string]any{"role": "user", "content": question}}, "max_tokens": 24, "temperature": 0})
	if text, err := json.Marshal(answer["choices"]); err != nil || status != 200 || !strings.Contains(string(text), "Paris") {
		t.Errorf("/v1/chat/completions: %d %s, %v, want Paris", status, text, err)
	}
	s.term()
}

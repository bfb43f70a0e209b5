//go:build python

package serve

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The official OpenAI client chats with a running server, as processes and in one.
func TestOpenAIClientAgainstTheServer(t *testing.T) {
	exe := os.Getenv("FANOUTBENCH_PYTHON")
	if exe == "" {
		t.Fatal("FANOUTBENCH_PYTHON is not set; it must name a Python that has openai")
	}
	for _, mode := range []string{"--in-process=false", "--in-process"} {
		t.Run(mode, func(t *testing.T) {
			r := launch(t, mode, "--device", "sim", "--sim-step-base", "0.002", "--sim-multi-byte", "0.4", "--served-model-name", "small", "--api-key", "secret",
				"--tokenizer-worker-num", "2", "--detokenizer-worker-num", "2", "--max-running-requests", "2", "--max-queued-requests", "2")
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, exe, "-B", "testdata/openai_live.py", r.url, "secret")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, stderr.Bytes())
			}
			if got := strings.Fields(string(out)); strings.Join(got, " ") != "chat chat-stop chat-logprobs completions models errors overload" {
				t.Errorf("the checks that held: %q", got)
			}
			r.term()
		})
	}
}

//go:build python

package api

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// The official OpenAI client understands every answer of the OpenAI endpoints.
func TestOpenAIClient(t *testing.T) {
	exe := os.Getenv("FANOUTBENCH_PYTHON")
	if exe == "" {
		t.Fatal("FANOUTBENCH_PYTHON is not set; it must name a Python that has openai")
	}
	f := newFake()
	f.script = []any{
		withLogprobs(says(0, "Hé", nil)), withLogprobs(says(1, "a\n\n", nil)),
		withLogprobs(says(0, " 🙂", byText)), withLogprobs(says(1, "b", byLength)),
	}
	url := start(t, f, func(c *Config) {
		c.Args.APIKey = "secret"
		c.Service = oneOrTwo{f}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "-B", "testdata/openai_client.py", url, "secret")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	const want = `chat ["chat.completion", "small", "assistant", "Hé 🙂", "stop", [3, 8, 11]]
chat-n [[0, "Hé 🙂", ["H", "�", "�", " ", "�", "�", "�", "�"]], [1, "a\n\nb", ["a", "\n", "\n", "b"]]]
chat-stream [[0, "assistant", "Hé 🙂", "stop"], [1, "assistant", "a\n\nb", "length"], [3, 12, 15]]
completion ["text_completion", "pHé 🙂", "stop", ["H", "�", "�", " ", "�", "�", "�", "�"], [3, 8, 11]]
completion-batch [[0, "Hé 🙂"], [1, "a\n\nb"]]
completion-stream [[0, "Hé 🙂", "stop"], [1, "a\n\nb", "length"]]
models [["small", "model"]]
model "small"
bad ["BadRequestError", 400, "temperature is -1, expected a number of at least 0", "temperature"]
key ["AuthenticationError", 401, "Unauthorized", null]
unknown ["NotFoundError", 404, "model is \"other\", expected \"small\"", "model"]
full ["RateLimitError", 429, "the queue is full", null]
full-stream ["APIError", "the queue is full", "429"]
`
	if string(out) != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}

// oneOrTwo answers with as many indices as were asked for; the prompt "full" is
// refused once it is queued.
type oneOrTwo struct{ *fake }

func (o oneOrTwo) Submit(ctx context.Context, items []manager.Item, n int) (manager.Call, error) {
	call, err := o.fake.Submit(ctx, items, n)
	if err != nil {
		return nil, err
	}
	var script []any
	for _, step := range o.script {
		if step.(manager.Update).Index < len(items)*n {
			script = append(script, step)
		}
	}
	if items[0].Text == "full" {
		script = []any{manager.Update{Finish: &manager.Finish{Type: "abort", StatusCode: 429, Message: "the queue is full"}}}
	}
	call.(*fakeCall).left = script
	return call, nil
}

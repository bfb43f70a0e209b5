package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// completionChoice is a choice of /v1/completions, or of one event of its stream.
type completionChoice struct {
	Index    int
	Text     string
	Logprobs *struct {
		Offsets []int                `json:"text_offset"`
		Values  []*float64           `json:"token_logprobs"`
		Tokens  []string             `json:"tokens"`
		Top     []map[string]float64 `json:"top_logprobs"`
	}
	Finish *string `json:"finish_reason"`
}

// chatChoice is a choice of /v1/chat/completions, or of one event of its stream.
type chatChoice struct {
	Index          int
	Message, Delta struct{ Content string }
	Logprobs       *struct{ Content []chatToken }
	Finish         *string `json:"finish_reason"`
}

type chatToken struct {
	Token   string
	Bytes   []int
	Logprob float64
	Top     []chatToken `json:"top_logprobs"`
}

// choices are those of an answer, or of all events of a stream, in their order.
func choices[C any](t *testing.T, s *server, path string, body map[string]any, stream bool) []C {
	t.Helper()
	body["stream"] = stream
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	text := s.body(path, string(data))
	events := []string{text}
	if stream {
		events = strings.Split(strings.TrimSuffix(text, "\n\ndata: [DONE]\n\n"), "\n\n")
	}
	var all []C
	for _, event := range events {
		var one struct{ Choices []C }
		if err := json.Unmarshal(bytes.TrimPrefix([]byte(event), []byte("data: ")), &one); err != nil || len(one.Choices) == 0 {
			t.Fatalf("%s: %v in %.500s", path, err, event)
		}
		all = append(all, one.Choices...)
	}
	return all
}

// The older of OpenAI's shapes has the model's log-probabilities: with and without the
// prompt, as text and ids, for n copies, at once and streamed.
func TestCompletionLogprobsAreTheModels(t *testing.T) {
	t.Parallel()
	const maxTokens, top = 6, 3
	ref := newReference(t)
	s := launch(t, "--tokenizer-worker-num", "2", "--detokenizer-worker-num", "2")
	texts := []string{"Hello", "é is a letter"}
	for _, echo := range []bool{false, true} {
		for _, asIDs := range []bool{false, true} {
			for _, n := range []int{1, 2} {
				for _, stream := range []bool{false, true} {
					name := fmt.Sprintf("echo %t, ids %t, n %d, stream %t", echo, asIDs, n, stream)
					body := map[string]any{"prompt": texts, "max_tokens": maxTokens, "temperature": 0, "ignore_eos": true, "logprobs": top, "echo": echo, "n": n}
					if asIDs {
						body["prompt"] = [][]int64{smallIDs(texts[0]), smallIDs(texts[1])}
					}
					got := make([]completionChoice, n*len(texts))
					for _, c := range choices[completionChoice](t, s, "/v1/completions", body, stream) {
						all := &got[c.Index]
						all.Text += c.Text
						if c.Logprobs == nil {
							t.Fatalf("%s: no logprobs in %+v", name, c)
						}
						if all.Logprobs == nil {
							all.Logprobs = c.Logprobs
							continue
						}
						l := all.Logprobs
						l.Tokens, l.Values = append(l.Tokens, c.Logprobs.Tokens...), append(l.Values, c.Logprobs.Values...)
						l.Offsets, l.Top = append(l.Offsets, c.Logprobs.Offsets...), append(l.Top, c.Logprobs.Top...)
					}
					for i := range got {
						ref.completion(t, fmt.Sprintf("%s, choice %d", name, i), &got[i], texts[i/n], maxTokens, top, echo)
					}
				}
			}
		}
	}
	s.term()
}

func (r *reference) completion(t *testing.T, name string, c *completionChoice, text string, maxTokens, top int, echo bool) {
	t.Helper()
	prompt := smallIDs(text)
	all := append(slices.Clone(prompt), r.greedy(prompt, maxTokens)...)
	rows, from := r.logits(all), len(prompt)
	if echo {
		from = 0
	}
	l := c.Logprobs
	if n := len(all) - from; len(l.Tokens) != n || len(l.Values) != n || len(l.Top) != n || len(l.Offsets) != n {
		t.Fatalf("%s: %d tokens, %d values, %d tops, %d offsets, want %d", name, len(l.Tokens), len(l.Values), len(l.Top), len(l.Offsets), n)
	}
	for k, id := range all[from:] {
		if l.Tokens[k] != tokenText(id) || l.Offsets[k] != -1 {
			t.Errorf("%s: token %d is %q at %d, want %q at -1", name, k, l.Tokens[k], l.Offsets[k], tokenText(id))
		}
		if from+k == 0 {
			if l.Values[0] != nil || l.Top[0] != nil {
				t.Errorf("%s: the first token has %v, %v, want null", name, l.Values[0], l.Top[0])
			}
			continue
		}
		want := logSoftmax(rows[from+k-1], 1)
		if l.Values[k] == nil || !near(*l.Values[k], want[id]) {
			t.Errorf("%s: token %d has %v, want %v", name, k, l.Values[k], want[id])
		}
		likely := map[string]float64{} // of two tokens with one text the likelier
		for _, id := range slices.Backward(ranked(rows[from+k-1])[:top]) {
			likely[tokenText(id)] = want[id]
		}
		for text, v := range likely {
			if got, has := l.Top[k][text]; !has || !near(got, v) || len(l.Top[k]) != len(likely) {
				t.Errorf("%s: top of token %d is %v, want %v", name, k, l.Top[k], likely)
			}
		}
	}
}

// The newer of OpenAI's shapes likewise; bytes are the token's own.
func TestChatLogprobsAreTheModels(t *testing.T) {
	const maxTokens, top = 6, 4
	ref := newReference(t)
	s := launch(t)
	prompt := smallIDs("<|im_start|>user\nHow are you?<|im_end|>\n<|im_start|>assistant\n")
	answer := ref.greedy(prompt, maxTokens)
	rows := ref.logits(append(slices.Clone(prompt), answer...))[len(prompt)-1:]
	for _, top := range []int{0, top} {
		for _, n := range []int{1, 2} {
			for _, stream := range []bool{false, true} {
				name := fmt.Sprintf("top %d, n %d, stream %t", top, n, stream)
				got := make([][]chatToken, n)
				body := map[string]any{
					"messages": []any{map[string]any{"role": "user", "content": "How are you?"}}, "max_tokens": maxTokens,
					"temperature": 0, "ignore_eos": true, "logprobs": true, "top_logprobs": top, "n": n,
				}
				for _, c := range choices[chatChoice](t, s, "/v1/chat/completions", body, stream) {
					if c.Logprobs != nil {
						got[c.Index] = append(got[c.Index], c.Logprobs.Content...)
					} else if !stream || c.Delta.Content != "" {
						t.Errorf("%s: no logprobs in %+v", name, c)
					}
				}
				for i, tokens := range got {
					if len(tokens) != maxTokens {
						t.Fatalf("%s: choice %d has %d tokens, want %d", name, i, len(tokens), maxTokens)
					}
					for k, token := range tokens {
						checkChatToken(t, fmt.Sprintf("%s: choice %d, token %d", name, i, k), token, answer[k], rows[k], top)
					}
				}
			}
		}
	}
	s.term()
}

func checkChatToken(t *testing.T, name string, got chatToken, id int64, row []float32, top int) {
	t.Helper()
	want := logSoftmax(row, 1)
	one := func(what string, c chatToken, id int64) {
		t.Helper()
		own := []int{int(id)}
		if id >= 256 {
			own = nil
			for _, b := range []byte(tokenText(id)) {
				own = append(own, int(b))
			}
		}
		if c.Token != tokenText(id) || !slices.Equal(c.Bytes, own) || !near(c.Logprob, want[id]) {
			t.Errorf("%s: %s is %+v, want %q, %v, %v", name, what, c, tokenText(id), own, want[id])
		}
	}
	one("it", got, id)
	if len(got.Top) != top || got.Top == nil {
		t.Fatalf("%s: %d top, want %d", name, len(got.Top), top)
	}
	for i, likely := range ranked(row)[:top] {
		one(fmt.Sprintf("top %d", i), got.Top[i], likely)
	}
}

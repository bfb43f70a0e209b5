package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// Faults that users reported of other servers of this kind, as far as they lie in
// the HTTP surface. Each test names the report.

// sglang issue 2912: all chunks of a stream with n over 1 came under choice 0.
func TestChoicesByIndex(t *testing.T) {
	script := []any{says(2, "c", nil), says(0, "a", nil), says(1, "b", byToken), says(0, "A", byLength), says(2, "C", byText)}
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"messages":[{"role":"user","content":"x"}],"n":3,"stream":true}`,
		"/v1/completions":      `{"prompt":"x","n":3,"stream":true}`,
	} {
		texts, finishes := map[float64]string{}, map[float64]any{}
		for _, c := range chunks(t, post(t, start(t, newFake(script...))+path, body).body) {
			index := at(c, "choices", 0, "index").(float64)
			for _, text := range []any{at(c, "choices", 0, "delta", "content"), at(c, "choices", 0, "text")} {
				if s, is := text.(string); is {
					texts[index] += s
				}
			}
			if finish := at(c, "choices", 0, "finish_reason"); finish != nil {
				if finishes[index] != nil {
					t.Errorf("%s: index %v finishes twice", path, index)
				}
				finishes[index] = finish
			}
		}
		if got, want := fmt.Sprint(texts, finishes), "map[0:aA 1:b 2:cC] map[0:length 1:stop 2:stop]"; got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

// sglang PR 21583: in a stream of what is new, ids were new but logprobs all so far.
func TestIncrementalLengths(t *testing.T) {
	f := newFake(withLogprobs(says(0, "abc", nil)), withLogprobs(says(0, "de", nil)), withLogprobs(says(0, "f", byLength)))
	url := start(t, f, func(c *Config) { c.Args.IncrementalStreaming = true })
	var lengths []int
	body := `{"text":"x","stream":true,"return_logprob":true,"top_logprobs_num":1,"token_ids_logprob":[65]}`
	for _, c := range chunks(t, post(t, url+"/generate", body).body) {
		n := len(c["output_ids"].([]any))
		lengths = append(lengths, n)
		for _, key := range []string{"output_token_logprobs", "output_top_logprobs", "output_token_ids_logprobs"} {
			if got := len(at(c, "meta_info", key).([]any)); got != n {
				t.Errorf("%s has %d, output_ids %d", key, got, n)
			}
		}
		if got := len(c["text"].(string)); got != n {
			t.Errorf("text has %d, output_ids %d", got, n)
		}
	}
	if !slices.Equal(lengths, []int{3, 2, 1}) {
		t.Errorf("lengths %v, want 3, 2, 1", lengths)
	}
}

// sglang PR 31802: a rejection with 429 came back as 200. PR 14537: a row made for
// a full queue had no metadata, and its reader crashed. Issue 33858: 503.
func TestRejectionKeepsStatus(t *testing.T) {
	for _, status := range []int{400, 429, 500, 503} {
		refused := manager.Update{Finish: &manager.Finish{Type: "abort", StatusCode: status, Message: "the queue is full"}}
		for path, body := range requests {
			t.Run(fmt.Sprint(path, status), func(t *testing.T) {
				f := newFake(refused)
				g := post(t, start(t, f)+path, body)
				if g.status != status || !strings.Contains(g.body, "the queue is full") {
					t.Errorf("status %d %s, want %d", g.status, g.body, status)
				}
				f.awaitClose(t, 1)
			})
		}
	}
}

// The same in a stream: an error event, then the end. Nothing more of other indices.
func TestRejectionInStream(t *testing.T) {
	refused := manager.Update{Index: 1, Finish: &manager.Finish{Type: "abort", StatusCode: 503, Message: "the queue is full", ErrType: "QueueFull"}}
	for path, want := range map[string]string{
		"/generate":            `{"error":{"message":"the queue is full"}}`,
		"/v1/completions":      `{"error":{"object":"error","message":"the queue is full","type":"QueueFull","param":null,"code":503}}`,
		"/v1/chat/completions": `{"error":{"object":"error","message":"the queue is full","type":"QueueFull","param":null,"code":503}}`,
	} {
		f := newFake(says(0, "a", nil), refused, says(0, "b", byLength))
		g := post(t, start(t, f)+path, strings.TrimSuffix(requests[path], "}")+`,"n":2,"sampling_params":{"n":2},"stream":true}`)
		all := events(t, g.body)
		if n := len(all); n < 3 || all[n-2] != want || all[n-1] != "[DONE]" {
			t.Errorf("%s: %q, want an end of %s and [DONE]", path, all, want)
		}
		f.awaitClose(t, 1)
	}
}

// An abort without a status is what somebody asked for: 200, finish_reason abort.
func TestAbortWithoutStatus(t *testing.T) {
	ended := says(0, "a", &manager.Finish{Type: "abort", Message: "as asked"})
	for path, body := range requests {
		if path == "/v1/score" {
			continue
		}
		for _, stream := range []string{"", `,"stream":true`} {
			g := post(t, start(t, newFake(ended))+path, strings.TrimSuffix(body, "}")+stream+"}")
			if g.status != 200 || !strings.Contains(g.body, `"finish_reason":"abort"`) && !strings.Contains(g.body, `"finish_reason":{"type":"abort","message":"as asked"`) {
				t.Errorf("%s%s: %d %s", path, stream, g.status, g.body)
			}
		}
	}
}

// sglang issue 25055, PR 26782: logprobs.content had tokens that content had not.
// vllm and others: a chunk whose text is held back lost its logprobs.
func TestChatLogprobsAligned(t *testing.T) {
	held := withLogprobs(manager.Update{RID: "r", OutputIDs: []int64{'b'}})
	script := []any{withLogprobs(says(0, "a", nil)), held, withLogprobs(says(0, "cd", byLength))}
	body := `{"messages":[{"role":"user","content":"x"}],"logprobs":true`
	tokens := func(list any) (s string) {
		for _, entry := range list.([]any) {
			s += at(entry, "token").(string)
		}
		return s
	}
	unary := unmarshal[map[string]any](t, post(t, start(t, newFake(script...))+"/v1/chat/completions", body+"}").body)
	if got := tokens(at(unary, "choices", 0, "logprobs", "content")); got != "abcd" {
		t.Errorf("logprobs of %q, want abcd", got)
	}
	streamed := ""
	for _, c := range chunks(t, post(t, start(t, newFake(script...))+"/v1/chat/completions", body+`,"stream":true}`).body) {
		if list := at(c, "choices", 0, "logprobs", "content"); list != nil {
			streamed += tokens(list)
			if at(c, "choices", 0, "delta", "content") == nil {
				t.Errorf("logprobs without content: %v", c)
			}
		}
	}
	if streamed != "abcd" {
		t.Errorf("streamed logprobs of %q, want abcd", streamed)
	}
}

// mini-sglang: a line end in the text broke the framing of events.
func TestNewlineInText(t *testing.T) {
	text := "a\n\ndata: [DONE]\n\n\r\r\nb"
	for path, body := range requests {
		if path == "/v1/score" {
			continue
		}
		g := post(t, start(t, newFake(says(0, text, byLength)))+path, strings.TrimSuffix(body, "}")+`,"stream":true}`)
		all := ""
		for _, c := range chunks(t, g.body) {
			for _, part := range []any{c["text"], at(c, "choices", 0, "text"), at(c, "choices", 0, "delta", "content")} {
				if s, is := part.(string); is {
					all += s
				}
			}
		}
		if all != text {
			t.Errorf("%s: text %q, want %q", path, all, text)
		}
	}
}

// mini-sglang: stream false streamed all the same; stop was ignored; an update's
// text was lost when it came with the finish.
func TestUnaryStopAndTail(t *testing.T) {
	for path, body := range requests {
		if path == "/v1/score" {
			continue
		}
		f := newFake(says(0, "head ", nil), says(0, "tail", byText))
		own := `,"stream":false,"stop":["X","Y"],"sampling_params":{"stop":["X","Y"]}}`
		g := post(t, start(t, f)+path, strings.TrimSuffix(body, "}")+own)
		if ct := g.header.Get("Content-Type"); ct != "application/json" || strings.Contains(g.body, "data:") {
			t.Errorf("%s: %s %s, want one JSON object", path, ct, g.body)
		}
		if !strings.Contains(g.body, "head tail") {
			t.Errorf("%s: %s, want head tail", path, g.body)
		}
		it := f.items(t)[0]
		if it.Stream || !slices.Equal(it.Params.Stop, []string{"X", "Y"}) {
			t.Errorf("%s: submitted %+v", path, it)
		}
	}
}

// mini-sglang: a prompt that is too long was dropped without a word.
func TestRefusalReachesClient(t *testing.T) {
	for path, body := range requests {
		f := newFake()
		f.refuse = &manager.Error{Status: 400, Type: "BadRequestError", Message: "the prompt has 900 tokens, expected at most 99"}
		for _, stream := range []string{"", `,"stream":true`} {
			g := post(t, start(t, f)+path, strings.TrimSuffix(body, "}")+stream+"}")
			if g.status != 400 || !strings.Contains(g.body, "the prompt has 900 tokens") || g.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s%s: %d %s", path, stream, g.status, g.body)
			}
		}
	}
}

// llama.cpp issues 24496, 11720, 11414: a client that left kept its slot, above
// all one that did not stream. mini-sglang leaked its state.
func TestLeavingClosesCall(t *testing.T) {
	for path, body := range requests {
		for _, stream := range []string{"", `,"stream":true`} {
			t.Run(path+stream, func(t *testing.T) {
				f := newFake()
				ctx, leave := context.WithCancel(t.Context())
				waits := make(chan bool, 1)
				f.script = []any{func() { waits <- true }, hold{}}
				r, err := http.NewRequestWithContext(ctx, "POST", start(t, f)+path, strings.NewReader(strings.TrimSuffix(body, "}")+stream+"}"))
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					<-waits
					leave()
				}()
				if resp, err := http.DefaultClient.Do(r); !errors.Is(err, context.Canceled) {
					t.Errorf("answer %v, error %v, want none and a cancelled request", resp, err)
				}
				f.awaitClose(t, 1)
			})
		}
	}
}

// The first text is there before the second is made: nothing waits in a buffer.
func TestEventsAreFlushed(t *testing.T) {
	for path, body := range requests {
		if path == "/v1/score" {
			continue
		}
		t.Run(path, func(t *testing.T) {
			seen := make(chan bool)
			f := newFake(says(0, "first", nil), func() { <-seen }, says(0, "second", byLength))
			resp, err := http.Post(start(t, f)+path, "text/plain", strings.NewReader(strings.TrimSuffix(body, "}")+`,"stream":true}`))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			r := bufio.NewReader(resp.Body)
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(line, "second") {
					t.Fatalf("%s before first was seen", line)
				}
				if strings.Contains(line, "first") {
					close(seen)
					return
				}
			}
		})
	}
}

// dynamo PRs 8780, 14602: skip_special_tokens had the wrong default, or was ignored.
func TestSkipSpecialTokens(t *testing.T) {
	for path, body := range requests {
		if path == "/v1/score" {
			continue
		}
		for own, want := range map[string]bool{
			"": true,
			`,"skip_special_tokens":null,"sampling_params":{"skip_special_tokens":null}`:   true,
			`,"skip_special_tokens":true,"sampling_params":{"skip_special_tokens":true}`:   true,
			`,"skip_special_tokens":false,"sampling_params":{"skip_special_tokens":false}`: false,
		} {
			f := newFake(says(0, "a", byLength))
			post(t, start(t, f)+path, strings.TrimSuffix(body, "}")+own+"}")
			if got := f.items(t)[0].Params.SkipSpecialTokens; got != want {
				t.Errorf("%s%s: %v, want %v", path, own, got, want)
			}
		}
	}
}

// requests has a plain one for each endpoint that generates.
var requests = map[string]string{
	"/generate":            `{"text":"x"}`,
	"/v1/completions":      `{"prompt":"x"}`,
	"/v1/chat/completions": `{"messages":[{"role":"user","content":"x"}]}`,
	"/v1/score":            `{"query":"q","items":["i"],"label_token_ids":[65]}`,
}

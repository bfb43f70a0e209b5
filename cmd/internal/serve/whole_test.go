package serve

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/fanout"
)

// all runs n streams at once and returns what each got.
func (s *server) all(t *testing.T, n, tokens int) []streamed {
	t.Helper()
	got := make([]streamed, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			var err error
			if got[i], err = s.generate(ctx, prompt(i+1, tokens)); err != nil {
				t.Error(err)
			}
			got[i].Events = 0 // rows may have been merged
		})
	}
	group.Wait()
	return got
}

// Every fanout strategy gives the same streams, with one and with several workers and detokenizers, as
// processes and in one; and a stream is what a unary request gets.
func TestStrategiesGiveTheSameStreams(t *testing.T) {
	t.Parallel()
	device := []string{"--device", "sim", "--sim-step-base", "0.001", "--sim-multi-byte", "0.5", "--sim-empty", "0.1", "--sim-special", "0.05", "--incremental-streaming-output"}
	var want []streamed
	check := func(t *testing.T, args ...string) {
		r := launch(t, append(args, device...)...)
		got := r.all(t, 16, 60)
		if want == nil {
			want = got
			for i, s := range got {
				if !s.Done || s.Finish != "length" || len(s.IDs) != 60 {
					t.Fatalf("stream %d is %+v", i, s)
				}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("the streams differ from those of the first server")
		}
		for i := range got[:4] {
			one, err := r.unary(t.Context(), prompt(i+1, 60))
			if err != nil || one.Text != want[i].Text || !reflect.DeepEqual(one.IDs, want[i].IDs) {
				t.Errorf("unary request %d: %v, got %q, the stream had %q", i, err, one.Text, want[i].Text)
			}
		}
		r.term()
	}
	for _, info := range fanout.List() {
		if info.NeedsPrepared {
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			check(t, "--fanout-strategy", info.Name, "--tokenizer-worker-num", "2", "--detokenizer-worker-num", "2")
		})
	}
	t.Run("one of each", func(t *testing.T) { check(t) })
	t.Run("one worker, three detokenizers", func(t *testing.T) { check(t, "--detokenizer-worker-num", "3") })
	t.Run("in process", func(t *testing.T) {
		check(t, "--in-process", "--tokenizer-worker-num", "2", "--detokenizer-worker-num", "2")
	})
	t.Run("byte buffer", func(t *testing.T) { check(t, "--detokenize-method", "bytes") })
	t.Run("zmq4", func(t *testing.T) { check(t, "--zmq", "zmq4") })
}

// The model that the program makes serves a greedy text, the same streamed and not, whatever runs beside it.
func TestSeededModel(t *testing.T) {
	r := launch(t, "--incremental-streaming-output")
	body := func() map[string]any {
		return map[string]any{"text": "The capital of France", "sampling_params": map[string]any{"temperature": 0, "max_new_tokens": 12, "ignore_eos": true}}
	}
	alone, err := r.unary(t.Context(), body())
	if err != nil || len(alone.IDs) != 12 {
		t.Fatalf("got %+v, %v", alone, err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			s, err := r.generate(t.Context(), body())
			if err != nil || !reflect.DeepEqual(s.IDs, alone.IDs) || s.Text != alone.Text {
				t.Errorf("got %+v, %v, alone %+v", s, err, alone)
			}
		})
	}
	group.Wait()
	r.term()
}

// What cannot be served is refused by name, and the server lives on.
func TestBadRequests(t *testing.T) {
	r := launch(t, "--context-length", "512", "--max-body-bytes", "100000")
	for _, c := range []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"too long", "/generate", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 600)), 400, "600"},
		{"far too long", "/generate", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 60000)), 400, "the prompt has at least "},
		{"a chat far too long", "/v1/chat/completions", fmt.Sprintf(`{"messages":[{"role":"user","content":%q}]}`, strings.Repeat("x", 60000)), 400, "the prompt has at least "},
		{"id out of range", "/generate", `{"input_ids":[70000]}`, 400, "70000"},
		{"negative id", "/generate", `{"input_ids":[-1]}`, 400, "-1"},
		{"temperature", "/generate", `{"text":"a","sampling_params":{"temperature":-1}}`, 400, "temperature"},
		{"top_p", "/generate", `{"text":"a","sampling_params":{"top_p":7}}`, 400, "top_p"},
		{"NaN", "/generate", `{"text":"a","sampling_params":{"temperature":NaN}}`, 400, "JSON"},
		{"no JSON", "/generate", `{"text":`, 400, "JSON"},
		{"UTF-8", "/generate", "{\"text\":\"\xff\"}", 400, "UTF-8"},
		{"too large", "/generate", `{"text":"` + strings.Repeat("x", 200000) + `"}`, 413, "100000"},
		{"chat", "/v1/chat/completions", `{"messages":[]}`, 400, "messages"},
		{"score", "/v1/score", `{"query":"a","items":["b"]}`, 400, "label_token_ids must be provided"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, answer := r.raw(t, "POST", c.path, []byte(c.body))
			if status != c.status || !strings.Contains(fmt.Sprint(answer), c.want) {
				t.Errorf("got %d %v, want %d and %q", status, answer, c.status, c.want)
			}
		})
	}
	if status, answer := r.raw(t, "POST", "/generate", []byte(`{"text":"a","sampling_params":{"max_new_tokens":2}}`)); status != 200 {
		t.Errorf("afterwards: %d %v", status, answer)
	}
	r.term()
}

// A rid that is in use is refused, and the first request goes on unharmed (sglang PR 19035, vllm#10583).
func TestDuplicateRID(t *testing.T) {
	t.Parallel()
	for _, workers := range []string{"1", "3"} {
		t.Run(workers+" workers", func(t *testing.T) {
			r := launch(t, "--device", "sim", "--sim-step-base", "0.01", "--incremental-streaming-output", "--tokenizer-worker-num", workers)
			body := prompt(1, 300)
			body["rid"] = "the-same"
			first := make(chan streamed)
			go func() {
				s, err := r.generate(t.Context(), body)
				if err != nil {
					t.Error(err)
				}
				first <- s
			}()
			r.waitFor("the first request to run", func() bool { return r.running(t) == 1 })
			for range 6 {
				again := prompt(2, 5)
				again["rid"] = "the-same"
				if status, answer := r.post(t, "/generate", again); status != 400 || !strings.Contains(fmt.Sprint(answer), "the-same") {
					t.Errorf("got %d %v, want 400", status, answer)
				}
			}
			if s := <-first; !s.Done || len(s.IDs) != 300 || s.Finish != "length" {
				t.Errorf("the first request had %d ids, finish %q", len(s.IDs), s.Finish)
			}
			r.term()
		})
	}
}

package serve

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// How many messages a batch of 100 prompts is on its way to the scheduler: SGLang's
// rule, and our cuts between items. The answers do not depend on it.
func TestDispatchOverHTTP(t *testing.T) {
	t.Parallel()
	texts, ids := make([]string, 100), make([][]int, 100)
	for i := range texts {
		texts[i] = fmt.Sprintf("prompt %03d", i)
		for _, b := range []byte(texts[i]) {
			ids[i] = append(ids[i], int(b))
		}
	}
	var want []string
	for _, c := range []struct {
		way       string
		text, ids float64 // messages
	}{
		{"", 100, 1},
		{"--enable-tokenizer-batch-encode", 1, 1},
		{"--disable-batch-send --enable-tokenizer-batch-encode", 100, 100},
		{"--enable-tokenizer-batch-encode --batch-send-max-reqs 30", 4, 4},
		{"--enable-tokenizer-batch-encode --batch-send-max-tokens 99", 12, 12}, // 9 prompts of 10 tokens are 90
		{"--batch-send-max-tokens 5", 100, 100},                                // each is longer, and goes alone
	} {
		t.Run(c.way, func(t *testing.T) {
			r := launch(t, append([]string{"--skip-server-warmup"}, strings.Fields(c.way)...)...)
			params := map[string]any{"max_new_tokens": 4, "temperature": 0}
			for name, batch := range map[string]struct {
				prompts  any
				messages float64
			}{"text": {texts, c.text}, "input_ids": {ids, c.ids}} {
				before := r.metric(t, "fanoutbench:requests_forwarded_total")
				var got []string
				for _, a := range r.answers(t, map[string]any{name: batch.prompts, "sampling_params": params}) {
					got = append(got, a.Text)
				}
				if n := r.metric(t, "fanoutbench:requests_forwarded_total") - before; n != batch.messages {
					t.Errorf("%s: %v messages, want %v", name, n, batch.messages)
				}
				if want == nil {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: the answers differ from those of the first server", name)
				}
			}
			r.term()
		})
	}
}

// With an interval of k tokens a stream has its first at once, then every k, and the
// rest with the finish; a request may have an interval of its own.
func TestStreamIntervalOverHTTP(t *testing.T) {
	r := launch(t, "--device", "sim", "--sim-step-base", "0.003", "--sim-special", "0", "--sim-empty", "0", "--sim-multi-byte", "0", "--stream-interval", "4", "--incremental-streaming-output")
	for interval, more := range map[int]map[string]any{4: nil, 6: {"stream_interval": 6}, 1: {"stream_interval": 1}} {
		so := 0
		events := r.events(t, map[string]any{"text": "x", "sampling_params": drawn(1, 30, more)})
		for i, e := range events {
			so += len(e.IDs)
			if interval > 1 && so%interval != 1 && i < len(events)-1 || len(e.Text) != len(e.IDs) {
				t.Errorf("interval %d: event %d ends at token %d, with %q of %d tokens", interval, i, so, e.Text, len(e.IDs))
			}
		}
		if so != 30 || len(events) < 30/interval/2 {
			t.Errorf("interval %d: %d tokens in %d events", interval, so, len(events))
		}
	}
	r.term()
}

// The items before one that is too long were sent, and run: the refusal ends them.
func TestARefusedBatchLeavesNothingRunning(t *testing.T) {
	r := launch(t, append([]string{"--context-length", "20000"}, slow...)...)
	texts := make([]string, 20)
	for i := range texts {
		texts[i] = fmt.Sprintf("prompt %03d", i)
	}
	texts[19] = strings.Repeat("x", 20000)
	status, answer := r.post(t, "/generate", map[string]any{"text": texts, "sampling_params": map[string]any{"max_new_tokens": 10000, "ignore_eos": true}})
	if status != 400 || !strings.Contains(fmt.Sprint(answer), "item 19: the prompt has 20000 tokens") {
		t.Errorf("%d %v", status, answer)
	}
	r.waitFor("the server to be idle", func() bool { return r.running(t) == 0 })
	r.waitFor("the detokenizers to have no state", func() bool { return r.metric(t, "fanoutbench:states") == 0 })
	if n := r.metric(t, "sglang:num_aborted_requests_total"); n != 19 {
		t.Errorf("%v requests were aborted, want the 19 that were sent", n)
	}
	r.term()
}

package serve

import (
	"slices"
	"strings"
	"testing"
)

// A cache with too little room for what runs takes requests back and computes them again: all finish, each
// with the text that it has on an idle server, and says how often it was taken back.
//
// The requests come as one message, so that what is taken back follows from the scheduler's rules and not
// from when they arrive. A prefill batch has room for few of them: of those that are admitted together all
// room is set aside, of those that run already a share, which turns out to be too little.
func TestRetraction(t *testing.T) {
	t.Parallel()
	const requests, tokens = 12, 400
	for _, way := range [][]string{nil, {"--schedule-policy", "lpm"}, {"--page-size", "16", "--chunked-prefill-size", "64", "--enable-mixed-chunk"}} {
		t.Run(strings.Join(way, " "), func(t *testing.T) {
			r := launch(t, append(way, "--device", "sim", "--sim-step-base", "0.0003", "--sim-stop", "0", "--max-total-tokens", "2304", "--max-prefill-tokens", "6", "--enable-tokenizer-batch-encode")...)
			texts, params := make([]string, requests), make([]any, requests)
			for i := range requests {
				texts[i] = "hello"
				params[i] = drawn(i+1, tokens, map[string]any{"ignore_eos": false}) // with it all room is set aside at once
			}
			got := r.answers(t, map[string]any{"text": texts, "sampling_params": params})
			if len(got) != requests {
				t.Fatalf("%d answers, want %d", len(got), requests)
			}
			sum := 0
			for i, a := range got {
				if a.Meta.Completion != tokens || a.Meta.Finish == nil || a.Meta.Finish.Type != "length" {
					t.Errorf("request %d: %+v", i, a.Meta)
				}
				sum += a.Meta.Retractions
			}
			for i := 0; i < requests; i += 3 {
				alone := r.answers(t, map[string]any{"text": texts[i], "sampling_params": params[i]})[0]
				if alone.Meta.Retractions != 0 || !slices.Equal(got[i].IDs, alone.IDs) {
					t.Errorf("request %d, taken back %d times, differs from what it is alone", i, got[i].Meta.Retractions)
				}
			}
			if n := r.metric(t, "sglang:num_retracted_requests_total"); sum == 0 || n != float64(sum) {
				t.Errorf("meta_info has %d retractions, the metric %v, want as many and some", sum, n)
			}
			if used := r.metric(t, "sglang:num_used_tokens"); used != 0 {
				t.Errorf("%v tokens are still used", used)
			}
			r.term()
		})
	}
}

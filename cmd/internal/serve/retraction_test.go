package serve

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A cache with too little room for what runs takes requests back and computes them again: all finish, each
// with the text that it has on an idle server, and says how often it was taken back.
func TestRetraction(t *testing.T) {
	const requests, tokens = 12, 400
	for _, way := range [][]string{nil, {"--schedule-policy", "lpm"}, {"--page-size", "16", "--chunked-prefill-size", "64", "--enable-mixed-chunk"}} {
		t.Run(strings.Join(way, " "), func(t *testing.T) {
			r := launch(t, append(way, "--device", "sim", "--sim-step-base", "0.003", "--sim-stop", "0", "--max-total-tokens", "2304")...)
			ask := func(i int) (ids any, retractions float64) {
				body := prompt(i+1, tokens)
				body["sampling_params"].(map[string]any)["ignore_eos"] = false // with it all room is set aside at once
				status, answer := r.post(t, "/generate", body)
				meta, _ := answer["meta_info"].(map[string]any)
				if status != 200 || meta["completion_tokens"] != float64(tokens) || !strings.Contains(fmt.Sprint(meta["finish_reason"]), "length") {
					t.Errorf("request %d: %d %v", i, status, meta)
				}
				retractions, _ = meta["num_retractions"].(float64)
				return answer["output_ids"], retractions
			}
			got := make([]any, requests)
			counts := make([]float64, requests)
			var group sync.WaitGroup
			for i := range requests {
				var done atomic.Bool
				group.Go(func() { got[i], counts[i] = ask(i); done.Store(true) })
				// Of requests that come together all room is set aside, of those that run a share.
				r.waitFor("the request to be there", func() bool {
					return done.Load() || r.metric(t, "sglang:num_running_reqs")+r.metric(t, "sglang:num_queue_reqs") > float64(min(i, 6))
				})
			}
			group.Wait()
			var sum float64
			for _, n := range counts {
				sum += n
			}
			for i := 0; i < requests; i += 3 {
				alone, again := ask(i)
				if again != 0 || !reflect.DeepEqual(got[i], alone) {
					t.Errorf("request %d, taken back %v times, differs from what it is alone", i, counts[i])
				}
			}
			if n := r.metric(t, "sglang:num_retracted_requests_total"); sum == 0 || n != sum {
				t.Errorf("meta_info has %v retractions, the metric %v, want as many and some", sum, n)
			}
			if used := r.metric(t, "sglang:num_used_tokens"); used != 0 {
				t.Errorf("%v tokens are still used", used)
			}
			r.term()
		})
	}
}

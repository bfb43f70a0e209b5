package serve

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// short is the first of the requests that have a short prompt and a long answer: a
// small cache has room for their prompts only.
const short = 6

// asked are requests that share prefixes: greedy ones, and ones that draw from a
// seed, with penalties and with filters, of different lengths.
func asked() []map[string]any {
	var all []map[string]any
	shared := strings.Repeat("A prefix that many of them share. ", 4)
	for i := range 18 {
		params := map[string]any{"max_new_tokens": 8 + 5*(i%4), "temperature": 0, "ignore_eos": true}
		switch i % 3 {
		case 1:
			params["temperature"], params["sampling_seed"], params["top_p"], params["top_k"] = 0.9, i, 0.9, 40
		case 2:
			params["temperature"], params["sampling_seed"], params["min_p"], params["repetition_penalty"] = 1.3, i, 0.01, 1.2
		}
		text := shared[:len(shared)-7*(i%5)] + fmt.Sprint("request ", i)
		if i >= short {
			text = fmt.Sprintf("%02dabc", i) // a prefill batch has room for one
			params["max_new_tokens"] = 100
		}
		all = append(all, map[string]any{"text": text, "sampling_params": params, "return_logprob": true, "top_logprobs_num": 2})
	}
	return all
}

// said is all that must not depend on the company of a request.
type said struct {
	Text   string
	IDs    []int64
	Output []entry
	Top    [][]entry
}

// arrivals sends the requests in an order, so many at once, each second one as a
// stream, and returns what each got, in the requests' order.
func (s *server) arrivals(t *testing.T, order []int, atOnce int) []said {
	t.Helper()
	requests, got := asked(), make([]said, len(order))
	places := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for _, i := range order {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			all, err := s.fetch(ctx, requests[i], i%2 == 1)
			if err != nil {
				t.Errorf("request %d: %v", i, err)
				return
			}
			a := all[len(all)-1] // of a stream the last event has everything
			got[i] = said{a.Text, a.IDs, a.Meta.Output, a.Meta.OutputTop}
		})
	}
	group.Wait()
	return got
}

// The small model's tokens, text and log-probabilities are the same to the bit
// whatever the order of arrival, the company, the limits of batches, the cache and
// the policy; with a seed those that are drawn, too.
func TestSameAnswersWhateverTheBatch(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	alone := make([]int, len(asked()))
	for i := range alone {
		alone[i] = i
	}
	var want []said
	for i, way := range []string{
		"--disable-radix-cache", // first, and one by one: nobody has company
		"",
		"--in-process --tokenizer-worker-num 2 --detokenizer-worker-num 2",
		"--schedule-policy lpm",
		"--schedule-policy lpm --max-running-requests 4 --page-size 8",
		"--chunked-prefill-size 16 --enable-mixed-chunk",
		"--chunked-prefill-size -1 --max-prefill-tokens 40",
		"--max-running-requests 3 --disable-radix-cache",
		"--max-total-tokens 440 --max-prefill-tokens 6 --stream-interval 3",
	} {
		t.Run(way, func(t *testing.T) {
			r := launch(t, strings.Fields(way)...)
			if i == 0 {
				want = r.arrivals(t, alone, 1)
				checkLively(t, want)
			}
			if n := r.oneMessage(t, want); n == 0 && strings.Contains(way, "total") {
				t.Error("nothing was retracted; the cache is too large to say anything")
			}
			for i, got := range r.arrivals(t, random.Perm(len(want)), len(want)) {
				if !reflect.DeepEqual(got, want[i]) {
					t.Errorf("request %d got %q, alone %q", i, got.Text, want[i].Text)
				}
			}
			if cached := r.metric(t, "sglang:cached_tokens_total"); (cached == 0) != strings.Contains(way, "disable-radix") {
				t.Errorf("%v tokens were in the cache", cached)
			}
			r.term()
		})
	}
}

// oneMessage sends the short requests as lists of ids, which the scheduler gets as
// one message, and says how often one was retracted.
func (s *server) oneMessage(t *testing.T, want []said) (retractions int) {
	t.Helper()
	var ids [][]int
	var params []any
	for _, r := range asked()[short:] {
		var of []int
		for _, b := range []byte(r["text"].(string)) {
			of = append(of, int(b))
		}
		ids, params = append(ids, of), append(params, r["sampling_params"])
	}
	for i, a := range s.answers(t, map[string]any{"input_ids": ids, "sampling_params": params, "return_logprob": true, "top_logprobs_num": 2}) {
		retractions += a.Meta.Retractions
		if got := (said{a.Text, a.IDs, a.Meta.Output, a.Meta.OutputTop}); !reflect.DeepEqual(got, want[short+i]) {
			t.Errorf("in one message request %d got %q, alone %q", short+i, got.Text, want[short+i].Text)
		}
	}
	return retractions
}

// checkLively makes sure that the answers differ where requests do.
func checkLively(t *testing.T, all []said) {
	t.Helper()
	texts := map[string]bool{}
	for _, s := range all {
		texts[s.Text] = true
		if len(s.Output) != len(s.IDs) || len(s.Top) != len(s.IDs) || len(s.IDs) < 8 {
			t.Fatalf("an answer has %d ids, %d logprobs, %d top", len(s.IDs), len(s.Output), len(s.Top))
		}
	}
	if len(texts) < len(all)-1 {
		t.Errorf("%d texts of %d requests", len(texts), len(all))
	}
}

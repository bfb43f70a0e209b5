package manager

import "github.com/fanoutbench/fanoutbench/runtime/server/counters"

// seconds are the bounds of all three histograms, as far apart as those of
// SGLang's time to first token.
var seconds = []float64{
	.001, .002, .005, .01, .02, .04, .06, .08, .1, .2, .4, .6, .8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400,
}

// Specs are the counters that a Manager needs in its Set.
func Specs() []counters.Spec {
	specs := []counters.Spec{
		{Name: "num_requests_total", Help: "Requests whose last row came, n copies and the runs that cache their prompts included."},
		{Name: "prompt_tokens_total", Help: "Prompt tokens of requests whose last row came."},
		{Name: "generation_tokens_total", Help: "Tokens generated for requests whose last row came."},
		{Name: "cached_tokens_total", Help: "Prompt tokens, of requests whose last row came, that were in the cache."},
		{Name: "num_aborted_requests_total", Help: "Requests that ended with an abort, or whose client left before their end."},
		{Name: "rows_delivered", Help: "Rows that their request has."},
		{Name: "rows_dropped_request_ended", Help: "Rows whose client had left, or whose request had been ended here."},
		{Name: "rows_dropped_unknown", Help: "Rows of a rid that no request had."},
		{Name: "rows_missing", Help: "Row numbers that a later row of the request left out."},
		{Name: "rows_doubled", Help: "Rows that came a second time."},
		{Name: "rows_reordered", Help: "Rows that came after they were counted as missing."},
	}
	for i := range specs {
		specs[i].Kind = counters.KindCounter
	}
	for _, h := range [][2]string{
		{"time_to_first_token_seconds", "From the submission of a request to its first row with a token."},
		{"inter_token_latency_seconds", "Between two tokens; a row's tokens share the time since the row before."},
		{"e2e_request_latency_seconds", "From the submission of a request to its last row."},
	} {
		specs = append(specs, counters.Spec{Name: h[0], Help: h[1], Kind: counters.KindHistogram, Buckets: seconds})
	}
	return append(specs,
		counters.Spec{Name: "receiving", Help: "The loop that receives rows and answers.", Kind: counters.KindBeat},
		counters.Spec{Name: "sending", Help: "Whoever sends to the router.", Kind: counters.KindBeat},
		counters.Process)
}

// metrics are the same, by field.
type metrics struct {
	requests, promptTokens, generationTokens, cachedTokens, aborted *counters.Counter
	delivered, left, unknown, missing, doubled, reordered           *counters.Counter
	firstToken, interToken, endToEnd                                *counters.Histogram
	receiving, sending                                              *counters.Beat
}

func newMetrics(s *counters.Set) metrics {
	return metrics{
		requests:         s.Counter("num_requests_total"),
		promptTokens:     s.Counter("prompt_tokens_total"),
		generationTokens: s.Counter("generation_tokens_total"),
		cachedTokens:     s.Counter("cached_tokens_total"),
		aborted:          s.Counter("num_aborted_requests_total"),
		delivered:        s.Counter("rows_delivered"),
		left:             s.Counter("rows_dropped_request_ended"),
		unknown:          s.Counter("rows_dropped_unknown"),
		missing:          s.Counter("rows_missing"),
		doubled:          s.Counter("rows_doubled"),
		reordered:        s.Counter("rows_reordered"),
		firstToken:       s.Histogram("time_to_first_token_seconds"),
		interToken:       s.Histogram("inter_token_latency_seconds"),
		endToEnd:         s.Histogram("e2e_request_latency_seconds"),
		receiving:        s.Beat("receiving"),
		sending:          s.Beat("sending"),
	}
}

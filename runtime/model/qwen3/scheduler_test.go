package qwen3

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
)

// requests are some with common beginnings, and the tokens that each has alone.
func requests(t *testing.T, c Config, w *Weights) (all []scheduler.TokenizedGenerateReqInput, want map[string][]int64) {
	t.Helper()
	r := rand.New(rand.NewPCG(11, 0))
	var stem []int64
	for range 50 {
		stem = append(stem, r.Int64N(int64(c.VocabSize)))
	}
	want = map[string][]int64{}
	for i := range 9 {
		in := scheduler.TokenizedGenerateReqInput{RID: fmt.Sprintf("r%d", i), LogprobStartLen: -1, Stream: i%2 == 0}
		in.InputIDs = slices.Clone(stem[:i*5])
		for range 1 + r.IntN(20) {
			in.InputIDs = append(in.InputIDs, r.Int64N(int64(c.VocabSize)))
		}
		in.SamplingParams.MaxNewTokens = 1 + r.IntN(30)
		in.SamplingParams.IgnoreEOS = true
		in.ReturnLogprob = i%3 == 0
		want[in.RID], _ = alone(t, c, w, in.InputIDs, in.SamplingParams.MaxNewTokens)
		all = append(all, in)
	}
	return all, want
}

// serve runs the requests to their ends, each handed over two steps after the
// one before.
func serve(t *testing.T, m model.Model, config scheduler.Config, all []scheduler.TokenizedGenerateReqInput) (map[string][]int64, *scheduler.Scheduler) {
	t.Helper()
	s, err := scheduler.New(config, m.Limits())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]int64{}
	for step := 0; len(all) > 0 || !s.Idle(); step++ {
		if step == 5000 {
			t.Fatalf("no end after %d steps: %+v", step, s.Stats())
		}
		now := float64(step) * 0.01
		if len(all) > 0 && step%2 == 0 {
			if err := s.Receive(now, &all[0]); err != nil {
				t.Fatal(err)
			}
			all = all[1:]
		}
		batch := s.Schedule(now)
		if batch == nil {
			continue
		}
		out, err := m.Forward(batch)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Finish(now, out.Chosen); err != nil {
			t.Fatal(err)
		}
		if rows := s.Take().Rows; rows != nil {
			for i, rid := range rows.RIDs {
				got[rid] = append(got[rid], rows.OutputIDs[i]...)
			}
		}
	}
	return got, s
}

// Through the scheduler, whatever its limits and its cache: the tokens that each
// request has alone.
func TestSameTokensThroughTheScheduler(t *testing.T) {
	usual := scheduler.Config{MaxTotalTokens: 1000, MaxRunningRequests: 16, MaxPrefillTokens: 4096}
	configs := map[string]func(*scheduler.Config){
		"usual":          func(*scheduler.Config) {},
		"one at a time":  func(c *scheduler.Config) { c.MaxRunningRequests = 1 },
		"chunks of 7":    func(c *scheduler.Config) { c.ChunkedPrefillSize = 7 },
		"mixed chunks":   func(c *scheduler.Config) { c.ChunkedPrefillSize, c.EnableMixedChunk = 16, true },
		"no cache":       func(c *scheduler.Config) { c.DisableRadixCache = true },
		"pages, lpm":     func(c *scheduler.Config) { c.PageSize, c.SchedulePolicy = 4, scheduler.LPM },
		"little memory":  func(c *scheduler.Config) { c.MaxTotalTokens, c.Conservativeness = 110, 0.01 },
		"small prefills": func(c *scheduler.Config) { c.MaxPrefillTokens = 16 },
	}
	for _, c := range []Config{odd(), small()} {
		w := seeded(t, c, 5)
		all, want := requests(t, c, w)
		cached, retracted := 0, 0
		for name, change := range configs {
			config := usual
			change(&config)
			got, s := serve(t, newModel(t, c, w, config.MaxTotalTokens, Greedy{}), config, slices.Clone(all))
			for rid, tokens := range want {
				if !slices.Equal(got[rid], tokens) {
					t.Errorf("%s: rid %q: tokens %v, want %v", name, rid, got[rid], tokens)
				}
			}
			for _, b := range s.PrefillBatches() {
				cached += b.CachedTokens
			}
			retracted += s.Stats().Retracted
		}
		if cached == 0 || retracted == 0 {
			t.Errorf("%d cached tokens, %d retractions: the configs test too little", cached, retracted)
		}
	}
}

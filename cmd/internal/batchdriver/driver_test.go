package batchdriver

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
	"github.com/fanoutbench/fanoutbench/cmd/internal/scoring"
	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

func TestRound2(t *testing.T) {
	for in, want := range map[float64]float64{0.3: 0.3, 0.129: 0.12, 1: 1, 4.99: 4.9, 32: 32, 1999: 1900, 4096: 4000} {
		if got := round2(in); got != want {
			t.Errorf("round2(%v) = %v, want %v", in, got, want)
		}
	}
}

// Batches of a log are given to requests only if they add up to each one's items.
func TestAttribute(t *testing.T) {
	batches := func(sizes ...int) (list []scoring.LogBatch) {
		for _, n := range sizes {
			list = append(list, scoring.LogBatch{NewSeqs: n})
		}
		return list
	}
	for _, k := range []struct {
		batches []scoring.LogBatch
		want    [][]batchrun.Spread // nil: they do not add up
	}{
		{batches(50, 10, 40), [][]batchrun.Spread{{{Batch: 0, Items: 50}}, {{Batch: 1, Items: 10}, {Batch: 2, Items: 40}}}},
		{batches(50), nil},
		{batches(50, 10, 40, 1), nil},
		{batches(60, 40), nil},
		{batches(50, 0, 50), nil},
		{nil, nil},
	} {
		requests := make([]batchrun.Request, 2)
		ok := attribute(k.batches, requests, 50)
		if ok != (k.want != nil) {
			t.Errorf("%v: %v", k.batches, ok)
		}
		for i, r := range requests {
			if ok && !reflect.DeepEqual(r.Prefills, k.want[i]) || !ok && r.Prefills != nil {
				t.Errorf("%v: request %d has %v", k.batches, i, r.Prefills)
			}
		}
	}
	failed := []batchrun.Request{{Error: "reset"}, {}}
	if attribute(batches(50, 50), failed, 50) {
		t.Error("a request failed, and it is not known which batches were its")
	}
}

// A chunk of a stream came when the read came that its last byte was in, and its tokens with it.
func TestArrivals(t *testing.T) {
	sent := load.Sent{Chunks: []float64{1, 2, 3}, ChunkEnds: []int{10, 30, 40}}
	a := scoring.Answer{Chunks: []scoring.Chunk{{Tokens: 1, End: 5}, {Tokens: 2, End: 10}, {Tokens: 3, End: 11}, {Tokens: -1, End: 40}}}
	chunks, tokens := arrivals(sent, a)
	if !slices.Equal(chunks, []float64{1000, 1000, 2000, 3000}) || !slices.Equal(tokens, []float64{1000, 1000, 1000, 2000, 2000, 2000}) {
		t.Errorf("chunks %v, tokens %v", chunks, tokens)
	}
	if chunks, tokens := arrivals(load.Sent{}, a); chunks != nil || tokens != nil {
		t.Errorf("without times: %v, %v", chunks, tokens)
	}
}

// config is of two servers that nothing is asked of.
func config() *Config {
	mode := func(mode string) servearm.Arm {
		return servearm.Arm{Spec: "builtin:" + mode, Kind: servearm.KindBuiltin, Mode: mode, Options: map[string]string{"device": "sim"}}
	}
	return &Config{
		Arms:   map[string]servearm.Arm{batchrun.Reference: mode("individual"), batchrun.Candidate: mode("batch")},
		Load:   Load{API: scoring.Score, Singles: []int{2, 4}, Sequential: 3, Items: 2, QueryTokens: 1, ItemTokens: 1, Unique: 2, Duration: time.Second, Distribution: load.Poisson},
		Rounds: 40, Warmup: 2, Seed: 9, MarginPct: 5, Primary: []string{"avg_ms", "p99_ms"}, Timeout: time.Second, ToolVersion: "test",
	}
}

func made(c *Config) *requests {
	prompt := scoring.Prompt{Query: "q", Items: []string{"a", "b"}, Tokens: 4}
	return &requests{load: c.Load, labels: []int64{1}, prompts: map[int][]scoring.Prompt{2: {prompt, prompt}, 4: {prompt, prompt}}}
}

// A plan follows from its seed, and has coins of both sides and a schedule of its own
// for each round.
func TestPlan(t *testing.T) {
	c := config()
	p, schedules, err := plan(c, made(c), 20, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := plan(c, made(c), 20, 1e-5)
	if err != nil || !reflect.DeepEqual(p, again) {
		t.Errorf("another plan from the same seed, %v", err)
	}
	if n := len(slices.DeleteFunc(slices.Clone(p.First), func(arm string) bool { return arm != batchrun.Reference })); n < 8 || n > 32 {
		t.Errorf("the reference is first in %d of 40 rounds", n)
	}
	if len(schedules) != 40 || len(p.Schedules) != 40 || len(p.Primary) != 6 || p.Reference.Options["mode"] != "individual" || p.Candidate.Options["mode"] != "batch" {
		t.Errorf("%d schedules, plan %+v", len(schedules), p)
	}
	seen := map[string]bool{}
	for _, s := range p.Schedules {
		if seen[s.SHA256] {
			t.Errorf("round %d has the schedule of another", s.Round)
		}
		seen[s.SHA256] = true
	}
	c.Primary = nil
	if p, _, err := plan(c, made(c), 20, 1e-5); err != nil || len(p.Primary) != 3 || p.Primary[2].Metric != "leading_ms" {
		t.Errorf("default family %+v, %v", p.Primary, err)
	}
	c.Primary = []string{}
	if p, _, err := plan(c, made(c), 20, 1e-5); err != nil || len(p.Primary) != 0 || p.MarginPct != 0 {
		t.Errorf("family of nothing %+v, %v", p.Primary, err)
	}
	most := 0
	for round := range p.Rounds {
		most = max(most, 2*p.RequestsOf(round, 2))
	}
	if got := records(p); got != 2*most {
		t.Errorf("%d records, want %d", got, 2*most)
	}
}

// A load whose bodies would not fit in memory is refused before anything is sent.
func TestTooManyBodies(t *testing.T) {
	c := config()
	s, err := made(c).set(2, "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bodies(s, maxBodies); err == nil || !strings.Contains(err.Error(), "want a shorter duration") {
		t.Errorf("got %v", err)
	}
}

// Bodies of a trial differ in their names only, and each has one.
func TestNames(t *testing.T) {
	d := &driver{plan: batchrun.Plan{Seed: 255}}
	seen := map[string]bool{}
	for _, arm := range arms {
		for round := range 3 {
			for _, cell := range []string{"0", "1", "w"} {
				seen[d.runName(round, cell, arm)] = true
			}
		}
	}
	if len(seen) != 18 || !seen["ff-2-w-can"] {
		t.Errorf("names %v", seen)
	}
}

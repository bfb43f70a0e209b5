package sim_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/sim"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
)

// still is a clock that is wherever it is asked to be.
type still struct{ now float64 }

func (c *still) Now() float64 { return c.now }

func (c *still) SleepUntil(seconds float64) error {
	c.now = max(c.now, seconds)
	return nil
}

type text struct {
	Tokens        []int64
	Input, Output []model.Position
	Finish        string
}

func serve(t *testing.T, c scheduler.Config, requests []scheduler.TokenizedGenerateReqInput) (map[string]*text, scheduler.Stats) {
	t.Helper()
	clock := &still{}
	m, err := sim.New(sim.Config{
		ContextLength: 200, Seed: 3, Clock: clock, Step: sim.StepTime{Base: 0.01, PerToken: 1e-5, PerContext: 1e-7},
		Shares: sim.Shares{MultiByte: 0.3, Empty: 0.1, Special: 0.05, Stop: 0.03},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := scheduler.New(c, m.Limits())
	if err != nil {
		t.Fatal(err)
	}
	for i := range requests {
		in := requests[i]
		if err := s.Receive(clock.now, &in); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]*text{}
	for batch := s.Schedule(clock.now); batch != nil; batch = s.Schedule(clock.now) {
		out, err := m.Forward(batch)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Finish(clock.now, out.Chosen); err != nil {
			t.Fatal(err)
		}
		rows := s.Take().Rows
		for i := 0; rows != nil && i < rows.Len(); i++ {
			rid := rows.RIDs[i]
			if got[rid] == nil {
				got[rid] = &text{}
			}
			got[rid].Tokens = append(got[rid].Tokens, rows.OutputIDs[i]...)
			if rows.OutputLogprobs != nil {
				got[rid].Input = append(got[rid].Input, rows.InputLogprobs[i]...)
				got[rid].Output = append(got[rid].Output, rows.OutputLogprobs[i]...)
			}
			if f := rows.FinishedReasons[i]; f != nil {
				got[rid].Finish = fmt.Sprintf("%+v", *f)
			}
		}
	}
	return got, s.Stats()
}

// A request's tokens and scores are the same in any batch, in any order of
// arrival, in chunks, retracted, with the cache and without.
func TestTokensDependOnTheRequestAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	var requests []scheduler.TokenizedGenerateReqInput
	for i := range 12 {
		in := scheduler.TokenizedGenerateReqInput{RID: fmt.Sprint("r", i), Stream: true, LogprobStartLen: -1}
		for range 1 + r.IntN(30) {
			in.InputIDs = append(in.InputIDs, 'a'+r.Int64N(4))
		}
		in.SamplingParams.MaxNewTokens = r.IntN(60)
		if i%2 == 0 {
			seed := int64(i)
			in.SamplingParams.Seed = &seed
		}
		if i%3 == 0 {
			in.ReturnLogprob, in.TopLogprobsNum, in.TokenIDsLogprob, in.LogprobStartLen = true, 2, []int64{7}, 0
		}
		requests = append(requests, in)
	}
	want, _ := serve(t, scheduler.Config{MaxTotalTokens: 2000, MaxRunningRequests: 1, MaxPrefillTokens: 1000}, requests)
	if len(want) != len(requests) {
		t.Fatalf("%d texts of %d requests", len(want), len(requests))
	}
	retracted := 0
	for n := range 40 {
		c := scheduler.Config{
			MaxTotalTokens: 100 + r.IntN(200), MaxRunningRequests: 1 + r.IntN(12), MaxPrefillTokens: 1 + r.IntN(100), Conservativeness: 0.1,
			ChunkedPrefillSize: r.IntN(2) * (1 + r.IntN(9)), DisableRadixCache: r.IntN(2) == 0, EnableMixedChunk: r.IntN(2) == 0,
		}
		r.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		got, stats := serve(t, c, requests)
		retracted += stats.Retracted
		for rid := range want {
			if !reflect.DeepEqual(got[rid], want[rid]) {
				t.Fatalf("run %d, %+v: rid %s has\n%+v, alone\n%+v", n, c, rid, got[rid], want[rid])
			}
		}
	}
	if retracted == 0 {
		t.Error("no request was retracted, so nothing is shown of it")
	}
}

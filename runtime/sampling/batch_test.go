package sampling_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/fake"
	"github.com/fanoutbench/fanoutbench/runtime/sampling"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
)

var limits = model.Limits{VocabSize: 60, ContextLength: 64, EOS: []int64{59}}

// text is what came of a request.
type text struct {
	Tokens   []int64
	Logprobs []model.Position
}

// serve runs the requests through a scheduler and a model that depends on a
// request's own tokens alone, and samples. It says what came of each, and how
// often a request was retracted.
func serve(t *testing.T, c scheduler.Config, requests []scheduler.TokenizedGenerateReqInput) (map[string]*text, int) {
	t.Helper()
	m := fake.New(limits, c.MaxTotalTokens)
	sampler, err := sampling.New(limits, 11)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scheduler.New(c, limits)
	if err != nil {
		t.Fatal(err)
	}
	for i := range requests {
		in := requests[i]
		if err := s.Receive(0, &in); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]*text{}
	for steps := 0; ; steps++ {
		batch := s.Schedule(float64(steps))
		if batch == nil {
			break
		}
		out, err := m.Forward(batch)
		if err != nil {
			t.Fatal(err)
		}
		chosen := make([]model.Choice, len(batch.Work))
		for i := range batch.Work {
			if !batch.Work[i].Sample {
				continue
			}
			if chosen[i], err = sampler.Choose(&batch.Work[i], out.Logits[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Finish(float64(steps), chosen); err != nil {
			t.Fatal(err)
		}
		collect(s.Take().Rows, got)
	}
	return got, s.Stats().Retracted
}

func collect(rows *scheduler.BatchTokenIDOutput, got map[string]*text) {
	if rows == nil {
		return
	}
	for i, rid := range rows.RIDs {
		if got[rid] == nil {
			got[rid] = &text{}
		}
		got[rid].Tokens = append(got[rid].Tokens, rows.OutputIDs[i]...)
		if rows.OutputLogprobs != nil {
			got[rid].Logprobs = append(got[rid].Logprobs, rows.OutputLogprobs[i]...)
		}
	}
}

func someRequests(r *rand.Rand) []scheduler.TokenizedGenerateReqInput {
	var requests []scheduler.TokenizedGenerateReqInput
	for i := range 12 {
		in := scheduler.TokenizedGenerateReqInput{RID: fmt.Sprint("r", i), Stream: true, LogprobStartLen: -1}
		for range 1 + r.IntN(12) {
			in.InputIDs = append(in.InputIDs, r.Int64N(20))
		}
		in.SamplingParams.Sampling = sampling.Default()
		p := &in.SamplingParams.Sampling
		p.Temperature, p.TopP, p.FrequencyPenalty, p.RepetitionPenalty = 0.3+r.Float64(), 0.9, 0.5, 1.2
		p.MinNewTokens = r.IntN(4)
		in.SamplingParams.MaxNewTokens = 4 + r.IntN(20)
		if i%3 > 0 {
			seed := int64(i % 4)
			p.Seed = &seed
		}
		if i%2 == 0 {
			in.ReturnLogprob, in.TopLogprobsNum, in.TokenIDsLogprob = true, 3, []int64{5}
		}
		requests = append(requests, in)
	}
	// Two of one prompt and one seed, which have one text.
	twice := requests[1]
	twice.RID = "again"
	return append(requests, twice)
}

// The same seed, the same text: alone, in any batch, in any order of arrival,
// with its prompt in chunks, retracted, with the cache and without.
func TestSameSeedSameText(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	requests := someRequests(r)
	roomy := scheduler.Config{MaxTotalTokens: 1000, MaxRunningRequests: 1, MaxPrefillTokens: 1000}
	want, _ := serve(t, roomy, requests)
	if len(want) != len(requests) {
		t.Fatalf("%d texts of %d requests", len(want), len(requests))
	}
	if !slices.Equal(want["r1"].Tokens, want["again"].Tokens) {
		t.Errorf("one prompt, one seed: %v and %v", want["r1"].Tokens, want["again"].Tokens)
	}
	retracted := 0
	for n := range 60 {
		c := scheduler.Config{
			MaxTotalTokens: 40 + r.IntN(100), Conservativeness: 0.1, MaxRunningRequests: 1 + r.IntN(12), MaxPrefillTokens: 1 + r.IntN(60),
			ChunkedPrefillSize: r.IntN(2) * (1 + r.IntN(9)), DisableRadixCache: r.IntN(2) == 0, EnableMixedChunk: r.IntN(2) == 0,
		}
		r.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		got, times := serve(t, c, requests)
		retracted += times
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

package scheduler

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// drawConfig draws limits, tight ones among them.
func drawConfig(r *rand.Rand) Config {
	page := []int{1, 1, 1, 4, 16}[r.IntN(5)]
	c := Config{
		PageSize:           page,
		MaxTotalTokens:     []int{64, 96, 200, 1000}[r.IntN(4)],
		MaxRunningRequests: []int{1, 2, 5, 64}[r.IntN(4)],
		MaxPrefillTokens:   []int{1, 16, 50, 4096}[r.IntN(4)],
		ChunkedPrefillSize: []int{0, 0, 1, 2, 5}[r.IntN(5)] * page,
		SchedulePolicy:     []Policy{FCFS, LPM}[r.IntN(2)],
		DisableRadixCache:  r.IntN(3) == 0,
		EnableMixedChunk:   r.IntN(2) == 0,
		StreamInterval:     1 + r.IntN(3),
		Records:            1 + r.IntN(100),
		Conservativeness:   []float64{0.01, 0.3, 1, 3}[r.IntN(4)],
	}
	return c
}

// drawRequests draws requests that share prefixes and differ in how they end.
func drawRequests(r *rand.Rand, n int) []*TokenizedGenerateReqInput {
	stems := make([][]int64, 3)
	for i := range stems {
		for range 40 {
			stems[i] = append(stems[i], r.Int64N(40))
		}
	}
	var all []*TokenizedGenerateReqInput
	for i := range n {
		in := &TokenizedGenerateReqInput{RID: fmt.Sprintf("r%d", i), LogprobStartLen: -1, Stream: r.IntN(4) > 0}
		in.InputIDs = slices.Clone(stems[r.IntN(3)][:r.IntN(38)])
		for range 1 + r.IntN(6) {
			in.InputIDs = append(in.InputIDs, r.Int64N(40))
		}
		p := &in.SamplingParams
		p.MaxNewTokens = []int{0, 1, 2, 10, 30, 60, 5000}[r.IntN(7)]
		p.IgnoreEOS = r.IntN(2) == 0
		if r.IntN(3) == 0 {
			p.StopTokenIDs = []int64{r.Int64N(40), r.Int64N(40)}
		}
		p.StreamInterval = r.IntN(4)
		in.ReturnLogprob = r.IntN(4) == 0
		if in.ReturnLogprob && r.IntN(2) == 0 {
			in.LogprobStartLen = r.IntN(len(in.InputIDs) + 1)
		}
		if r.IntN(5) == 0 {
			in.CacheSalt = "salt"
		}
		all = append(all, in)
	}
	return all
}

// deliver hands the requests over between steps, alone and in batches.
func deliver(r *rand.Rand, b *bench, all []*TokenizedGenerateReqInput, between func()) {
	for len(all) > 0 {
		n := min(1+r.IntN(5), len(all))
		if n == 1 {
			b.receive(all[0])
		} else {
			m := &BatchTokenizedGenerateReqInput{}
			for _, in := range all[:n] {
				m.Batch = append(m.Batch, *in)
			}
			b.receive(m)
		}
		all = all[n:]
		for range r.IntN(4) {
			between()
		}
	}
}

// Whatever the limits, the order of arrival, the cache: a request's tokens are
// those it has alone, nothing is lost or doubled, and everything is freed.
func TestSameTokensWhateverTheBatch(t *testing.T) {
	retracted, cached, chunks := 0, 0, 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 5))
		all := drawRequests(r, 1+r.IntN(25))
		for range 3 {
			c := drawConfig(r)
			b := newBench(t, c, tinyLimits)
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			deliver(r, b, all, func() { b.step() })
			b.run()
			for _, in := range all {
				checkResult(t, b, in)
			}
			st := b.s.Stats()
			retracted += st.Retracted
			for _, batch := range b.s.PrefillBatches() {
				cached += batch.CachedTokens
				if batch.Close == CloseChunkedPrefillSize {
					chunks++
				}
			}
			b.empty()
			if t.Failed() {
				t.Fatalf("seed %d, config %+v", seed, c)
			}
		}
	}
	if retracted == 0 || cached == 0 || chunks == 0 {
		t.Errorf("%d retractions, %d cached tokens, %d chunks: the draw tests too little", retracted, cached, chunks)
	}
}

func checkResult(t *testing.T, b *bench, in *TokenizedGenerateReqInput) {
	t.Helper()
	got := b.got[in.RID]
	if got == nil || got.finish == nil {
		t.Errorf("rid %q has no finished reason", in.RID)
		return
	}
	want, finish := alone(b.m, in, b.s.maxLength())
	if !slices.Equal(got.output, want) || *got.finish != *finish {
		t.Errorf("rid %q: tokens %v, %+v, want %v, %+v", in.RID, got.output, got.finish, want, finish)
	}
	tail := in.InputIDs[max(0, len(in.InputIDs)-promptTail):]
	if decode := append(slices.Clone(tail), want...); !slices.Equal(got.decode, decode) {
		t.Errorf("rid %q: decode_ids %v, want %v", in.RID, got.decode, decode)
	}
	if in.ReturnLogprob {
		checkLogprobs(t, in, got)
	}
}

// checkLogprobs looks that each position was there once, the first with null.
func checkLogprobs(t *testing.T, in *TokenizedGenerateReqInput, got *result) {
	t.Helper()
	start := newRequest(in, 0).logprobStart
	want := in.InputIDs[start:]
	var ids []int64
	for i, p := range got.in {
		ids = append(ids, p.Token.ID)
		if p.Null != (i == 0) {
			t.Errorf("rid %q: input logprob %d is null: %t", in.RID, i, p.Null)
		}
	}
	if !slices.Equal(ids, want) {
		t.Errorf("rid %q: input logprobs of %v, want of %v", in.RID, ids, want)
	}
	if n := max(len(got.output), 1); len(got.out) != n { // one without a token for max_new_tokens 0
		t.Errorf("rid %q: %d output logprobs for %d tokens", in.RID, len(got.out), len(got.output))
	}
}

// Aborts at any time, also while a batch is computed, and failing batches: each
// request still finishes once, with a beginning of its tokens, and all is freed.
func TestAbortsAtAnyTime(t *testing.T) {
	reasons := map[string]int{}
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 6))
		all := drawRequests(r, 1+r.IntN(25))
		c := drawConfig(r)
		b := newBench(t, c, tinyLimits)
		abort := func() {
			if r.IntN(3) == 0 {
				b.receive(&AbortReq{RID: fmt.Sprintf("r%d", r.IntN(len(all)))})
			}
		}
		step := func() {
			abort()
			batch := b.start()
			if batch == nil {
				return
			}
			abort()
			if r.IntN(30) == 0 {
				b.s.Fail(b.now, "made to")
				b.take()
				return
			}
			b.finish(batch)
		}
		deliver(r, b, all, step)
		for range 40 {
			step()
		}
		b.run()
		for _, in := range all {
			got := b.got[in.RID]
			if got == nil || got.finish == nil {
				t.Fatalf("seed %d: rid %q has no finished reason", seed, in.RID)
			}
			reasons[got.finish.Type+got.finish.Message]++
			if want, _ := alone(b.m, in, b.s.maxLength()); len(got.output) > len(want) || !slices.Equal(got.output, want[:len(got.output)]) {
				t.Fatalf("seed %d: rid %q: tokens %v, want a beginning of %v", seed, in.RID, got.output, want)
			}
		}
		b.empty()
	}
	for _, reason := range []string{"length", "stop", "abortaborted", "abortmade to"} {
		if reasons[reason] == 0 {
			t.Errorf("no request ended with %q: the draw tests too little (%v)", reason, reasons)
		}
	}
}

// The same messages at the same times give the same batches, rows and lines.
func TestDeterministic(t *testing.T) {
	trace := func() string {
		r := rand.New(rand.NewPCG(9, 9))
		c := Config{MaxTotalTokens: 96, MaxRunningRequests: 8, MaxPrefillTokens: 60, ChunkedPrefillSize: 16, SchedulePolicy: LPM, Conservativeness: 0.1}
		b := newBench(t, c, tinyLimits)
		var batches []*model.Batch
		deliver(r, b, drawRequests(r, 30), func() { batches = append(batches, b.step()) })
		b.run()
		text := fmt.Sprint(b.log, b.s.PrefillBatches())
		for _, batch := range batches {
			if batch != nil {
				text += fmt.Sprint(batch.Mode, batchRIDs(batch), batch.Work[0].Slots)
			}
		}
		return text
	}
	first := trace()
	for range 5 {
		if again := trace(); again != first {
			t.Fatalf("another trace:\n%s\nfirst:\n%s", again, first)
		}
	}
}

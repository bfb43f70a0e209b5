package scheduler

import (
	"fmt"
	"slices"
	"testing"
)

// lpm is a bench with that policy, and a prompt of n tokens in its cache.
func lpm(t *testing.T, n int) *bench {
	t.Helper()
	c := usual()
	c.SchedulePolicy, c.MaxTotalTokens, c.MaxPrefillTokens, c.MaxRunningRequests = LPM, 100000, 100000, 1000
	b := newBench(t, c, wideLimits)
	if n > 0 {
		b.receive(ask("warm", n, 0, 0))
		b.run()
	}
	return b
}

// lpm tries the longest prefix first, equals in the order of arrival.
func TestLPMLongestFirst(t *testing.T) {
	b := lpm(t, 60)
	other := func(rid string, shared int) {
		in := ask(rid, 70, 1, 0)
		for i := shared; i < 70; i++ {
			in.InputIDs[i] = int64(len(rid) + i%5)
		}
		b.receive(in)
	}
	other("fifty", 50)
	other("forty", 40)
	other("sixty", 60)
	other("fifty2", 50)
	wantRIDs(t, b.step(), "sixty", "fifty", "fifty2", "forty")
}

// Over 128 waiting requests lpm leaves the order as it is.
func TestLPMOver128IsFCFS(t *testing.T) {
	for n, want := range map[int]string{128: "long", 129: "r0"} {
		b := lpm(t, 60)
		m := many(n-1, 60, 1)
		m.Batch = append(m.Batch, *ask("long", 60, 1, 0))
		b.receive(m)
		if got := b.step().Work[0].RID; got != want {
			t.Errorf("%d waiting: first %q, want %q", n, got, want)
		}
		if p := b.s.PrefillBatches(); (p[len(p)-1].Policy == LPM) != (n == 128) {
			t.Errorf("%d waiting: policy %q in force", n, p[len(p)-1].Policy)
		}
	}
}

// Without a cache lpm is fcfs.
func TestLPMWithoutCacheIsFCFS(t *testing.T) {
	c := usual()
	c.SchedulePolicy, c.DisableRadixCache = LPM, true
	b := newBench(t, c, wideLimits)
	if got := b.s.policyInForce(); got != FCFS {
		t.Errorf("policy %q, want %q", got, FCFS)
	}
}

// In-batch prefixes: a request that shares 32 tokens or more with one before it
// goes behind all others, unless more than 32 of its own are in the cache.
func TestInBatchPrefixEdges(t *testing.T) {
	for _, test := range []struct {
		warm, shared int
		want         []string
	}{
		{0, 31, []string{"a", "b", "c"}},
		{0, 32, []string{"a", "c", "b"}},
		{32, 50, []string{"a", "c", "b"}}, // a match of 32 is looked at
		{33, 50, []string{"a", "b", "c"}}, // one of 33 is not
	} {
		t.Run(fmt.Sprintf("%d cached, %d shared", test.warm, test.shared), func(t *testing.T) {
			b := lpm(t, test.warm)
			second := ask("b", 60, 1, 0)
			for i := test.shared; i < 60; i++ {
				second.InputIDs[i] = 1
			}
			b.receive(ask("a", 60, 1, 0))
			b.receive(second)
			c := ask("c", 60, 1, 0)
			c.InputIDs[0] = 2 // shares nothing
			b.receive(c)
			wantRIDs(t, b.step(), test.want...)
		})
	}
}

// In-batch prefix caching is an order and no barrier: 100 equal prompts with lpm
// and a cold cache are one batch where the budget has room for all, and where it
// has not, those that wait find the prefix.
func TestInBatchPrefixIsAnOrderOnly(t *testing.T) {
	for budget, want := range map[int][]int{40000: {100}, 30000: {99, 1}, 600: {1, 99}} {
		b := lpm(t, 0)
		b.s.config.MaxPrefillTokens = budget
		m := &BatchTokenizedGenerateReqInput{}
		for i := range 100 {
			m.Batch = append(m.Batch, *ask(fmt.Sprintf("r%d", i), 300, 0, 0))
		}
		b.receive(m)
		var sizes []int
		for batch := b.step(); batch != nil; batch = b.step() {
			sizes = append(sizes, len(batch.Work))
		}
		if !slices.Equal(sizes, want) {
			t.Errorf("max_prefill_tokens %d: batches of %v, want %v", budget, sizes, want)
		}
		if got := b.s.PrefillBatches(); len(want) == 2 && got[1].CachedTokens != 299*want[1] {
			t.Errorf("max_prefill_tokens %d: %d cached tokens in the second batch, want %d", budget, got[1].CachedTokens, 299*want[1])
		}
	}
}

// A prompt's last token is always computed; with return_logprob all from
// logprob_start_len on.
func TestMatchable(t *testing.T) {
	for _, test := range []struct {
		logprob       bool
		start, maxNew int
		want, from    int
	}{
		{false, -1, 5, 9, 9},
		{true, -1, 5, 9, 9},
		{true, 4, 5, 4, 4},
		{true, 0, 5, 0, 0},
		{true, -1, 0, 9, 10}, // prefill only: no input logprobs
	} {
		in := ask("a", 10, test.maxNew, 0)
		in.ReturnLogprob, in.LogprobStartLen = test.logprob, test.start
		r := newRequest(in, 1)
		if r.matchable() != test.want || r.logprobStart != test.from {
			t.Errorf("%+v: matchable %d, start %d", test, r.matchable(), r.logprobStart)
		}
	}
}

// new_token_ratio: where it begins, how it goes down, and what a retraction and
// an idle scheduler make of it.
func TestNewTokenRatio(t *testing.T) {
	c := usual()
	c.MaxTotalTokens = 2000
	b := newBench(t, c, wideLimits)
	near := func(what string, want float64) {
		t.Helper()
		if got := b.s.Stats().NewTokenRatio; got < want-1e-9 || got > want+1e-9 {
			t.Errorf("%s: ratio %.6f, want %.6f", what, got, want)
		}
	}
	near("first", 0.7)
	b.receive(ask("a", 10, 1000, 0))
	b.step()
	near("after a prefill", 0.7)
	for range 300 {
		b.step()
	}
	near("after 300 decodes", 0.7-0.7*0.86/2)
	for range 400 {
		b.step()
	}
	near("after 700 decodes", 0.7*0.14)
	b.s.full = CloseNoToken
	b.s.retract() // nobody has to go: a has 701 of 1000 tokens
	near("after a retraction", float64(701+20)/1001)
	if b.s.full != open {
		t.Error("a retraction does not let requests be tried again")
	}
	b.run()
	near("idle", 0.7)
	c.Conservativeness = 3
	b = newBench(t, c, wideLimits)
	near("at most", 1)
}

package scheduler

import (
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

var wideLimits = model.Limits{VocabSize: 40, ContextLength: 1 << 20, EOS: []int64{7}}

// busy is a bench with one running request, x, of 10 prompt tokens and left to
// generate, and a new_token_ratio of 1, so that rem_total is
// total − 10 − left − 1.
func busy(t *testing.T, c Config, left int) *bench {
	t.Helper()
	c.Conservativeness = 2
	b := newBench(t, c, wideLimits)
	b.receive(ask("x", 10, left+1, 25))
	if got := batchRIDs(b.step()); !slices.Equal(got, []string{"x"}) {
		t.Fatalf("first batch %v, want x", got)
	}
	return b
}

// closed says why and where the latest prefill batch closed.
func closed(b *bench) (Close, string) {
	all := b.s.PrefillBatches()
	last := all[len(all)-1]
	return last.Close, last.Refused
}

func wantRIDs(t *testing.T, batch *model.Batch, want ...string) {
	t.Helper()
	if got := batchRIDs(batch); !slices.Equal(got, want) {
		t.Errorf("batch %v, want %v", got, want)
	}
}

func wantRefused(t *testing.T, b *bench, rid string, why Close) {
	t.Helper()
	if r, _ := b.s.Record(rid); r.Refusals[why] == 0 || len(r.Admissions) > 0 {
		t.Errorf("rid %q: refusals %v, admissions %v; want %s and none", rid, r.Refusals, r.Admissions, why)
	}
}

// Rule 1: with ignore_eos and no cache, requests must fit one after the other to
// their ends: 100 − 2·10 slots for twice 39 new tokens leave 2, which is not
// more than one a request.
func TestRule1ConservativeWithoutEOSAndCache(t *testing.T) {
	tests := []struct {
		name             string
		cache, eos       bool
		maxNew, admitted int
	}{
		{"39 new tokens", false, false, 39, 1},
		{"38 new tokens", false, false, 38, 2},
		{"with EOS", false, true, 39, 2},
		{"with the cache", true, false, 39, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := usual()
			c.MaxTotalTokens, c.DisableRadixCache = 100, !test.cache
			b := newBench(t, c, wideLimits)
			m := many(2, 10, test.maxNew)
			for i := range m.Batch {
				m.Batch[i].SamplingParams.IgnoreEOS = !test.eos
			}
			b.receive(m)
			if got := len(b.step().Work); got != test.admitted {
				t.Errorf("%d admitted, want %d", got, test.admitted)
			}
		})
	}
}

// Rule 1: the slots of a request that ends early are there for the others.
func TestRule1ReckonsWithWhatEnds(t *testing.T) {
	for maxNew, want := range map[int]int{88: 2, 89: 1} { // 100 − 2·10 + 10 slots, one to spare
		c := usual()
		c.MaxTotalTokens, c.DisableRadixCache = 100, true
		b := newBench(t, c, wideLimits)
		m := many(2, 10, maxNew)
		m.Batch[0].SamplingParams.MaxNewTokens = 5
		b.receive(m)
		if got := len(b.step().Work); got != want {
			t.Errorf("%d new tokens: %d admitted, want %d", maxNew, got, want)
		}
		b.run()
		b.empty()
	}
}

// Rule 1, ours: a request that fills the memory alone is admitted.
func TestRule1AdmitsOneAlone(t *testing.T) {
	c := usual()
	c.MaxTotalTokens, c.DisableRadixCache = 100, true
	b := newBench(t, c, wideLimits)
	b.receive(ask("a", 10, 1000, 0))
	wantRIDs(t, b.step(), "a")
	b.run()
	if got := b.got["a"]; len(got.output) != 89 || got.finish.Type != FinishLength {
		t.Errorf("%d tokens, %+v, want 89 and length", len(got.output), got.finish)
	}
}

// Rule 2: rem_total is 41, and a request of 41 is refused.
func TestRule2TotalEdge(t *testing.T) {
	for maxNew, want := range map[int]string{10: "a", 11: "x"} {
		c := usual()
		c.MaxTotalTokens = 100
		b := busy(t, c, 49)
		b.receive(ask("a", 30, maxNew, 0))
		wantRIDs(t, b.step(), want)
		if want == "x" {
			wantRefused(t, b, "a", CloseNoToken)
		}
	}
}

// Rule 2 and the reservation of running requests reckon with 4096 new tokens at
// most: 20000 − 10 − 4096 are left here for 100 + 4096.
func TestRule2ClipsNewTokens(t *testing.T) {
	c := usual()
	c.MaxTotalTokens = 20000
	b := busy(t, c, 100000)
	b.receive(ask("a", 100, 100000, 0))
	wantRIDs(t, b.step(), "a")
}

// Rule 2 reckons with what a retracted request has yet to generate.
func TestRule2AfterRetraction(t *testing.T) {
	r := newRequest(ask("a", 10, 50, 0), 1)
	r.tokens = append(r.tokens, 1, 2, 3)
	if got := r.remaining(); got != 47 {
		t.Errorf("%d new tokens are reckoned with, want 47", got)
	}
}

// Rule 3: 100 requests of 300 tokens fill max_prefill_tokens exactly, and the
// last is refused.
func TestRule3ExactFillIsRefused(t *testing.T) {
	for limit, want := range map[int]int{30000: 99, 30001: 100} {
		c := usual()
		c.MaxTotalTokens, c.MaxPrefillTokens, c.MaxRunningRequests = 100000, limit, 200
		b := newBench(t, c, wideLimits)
		b.receive(many(100, 300, 0))
		if got := len(b.step().Work); got != want {
			t.Errorf("max_prefill_tokens %d: first batch of %d, want %d", limit, got, want)
		}
		if why, rid := closed(b); want == 99 && (why != CloseMaxPrefillTokens || rid != "r99") {
			t.Errorf("closed by %s at %q, want %s at r99", why, rid, CloseMaxPrefillTokens)
		}
	}
}

// Rule 3: what fills the budget is admitted when it is first, and one that is
// larger too, alone.
func TestRule3FirstIsAdmittedAlone(t *testing.T) {
	for _, length := range []int{20, 35} {
		c := usual()
		c.MaxPrefillTokens = 20
		b := newBench(t, c, wideLimits)
		b.receive(ask("a", length, 1, 0))
		b.receive(ask("b", 3, 1, 5))
		wantRIDs(t, b.step(), "a")
		wantRIDs(t, b.step(), "b")
	}
}

// Rule 3 counts whole pages.
func TestRule3CountsPages(t *testing.T) {
	c := usual()
	c.MaxPrefillTokens, c.PageSize = 22, 4
	b := newBench(t, c, wideLimits)
	b.receive(many(3, 5, 1)) // eight each: the third finds six left, and has five
	if got := len(b.step().Work); got != 2 {
		t.Errorf("%d admitted, want 2", got)
	}
}

// Rule 4: the matched prefix of 20 counts as room until it is locked; then 15
// tokens do not fit into 40 − 20 − 6 − 1.
func TestRule4LockTakesThePrefixFromTheRoom(t *testing.T) {
	c := usual()
	c.MaxTotalTokens = 40
	b := newBench(t, c, wideLimits)
	b.receive(ask("p", 20, 1, 0))
	b.run()
	b.s.config.Conservativeness = 2
	b.receive(ask("x", 6, 2, 25))
	b.step()
	b.receive(ask("a", 25, 10, 0))
	wantRIDs(t, b.step(), "x") // finishes
	wantRefused(t, b, "a", CloseNoToken)
	if got := b.s.tree.Protected(); got != 0 {
		t.Errorf("%d slots are locked when nobody runs, want 0", got)
	}
	wantRIDs(t, b.step(), "a")
}

// Rule 5: a prompt longer than rem_chunk is cut to it, rounded down to pages.
func TestRule5CutsToPages(t *testing.T) {
	c := usual()
	c.ChunkedPrefillSize, c.PageSize, c.EnableMixedChunk = 16, 4, true
	b := busy(t, c, 40) // one decode token counts against the chunk
	b.receive(ask("a", 30, 4, 0))
	batch := b.step()
	wantRIDs(t, batch, "a", "x")
	if got := len(batch.Work[0].IDs); got != 12 || batch.Work[0].Sample {
		t.Errorf("a chunk of %d (token: %t), want 12 of the 15 left (false)", got, batch.Work[0].Sample)
	}
}

// Rule 5: what fits rem_chunk exactly is whole.
func TestRule5ExactFitIsWhole(t *testing.T) {
	c := usual()
	c.ChunkedPrefillSize = 16
	b := newBench(t, c, wideLimits)
	b.receive(ask("a", 16, 4, 0))
	if batch := b.step(); !batch.Work[0].Sample {
		t.Errorf("16 tokens of a chunk of 16 are cut to %d", len(batch.Work[0].IDs))
	}
}

// Rule 5: a chunk of nothing refuses: one decode token leaves three, less than
// a page.
func TestRule5NothingLeftOfTheChunk(t *testing.T) {
	c := usual()
	c.ChunkedPrefillSize, c.PageSize, c.EnableMixedChunk = 4, 4, true
	b := newBench(t, c, wideLimits)
	b.receive(ask("x", 2, 40, 0))
	b.step()
	b.receive(ask("a", 3, 4, 25))
	if batch := b.step(); batch.Mode != model.Decode {
		t.Errorf("a %s batch of %v, want decodes only", batch.Mode, batchRIDs(batch))
	}
	wantRefused(t, b, "a", CloseChunkedPrefillSize)
	b.run()
	b.empty()
}

// Rule 5: a chunk reserves no new tokens, a whole prompt reserves its own.
func TestRule5ReservesNewTokensOfWholePromptsOnly(t *testing.T) {
	for length, want := range map[int]float64{16: 16 + 4, 17: 16} {
		c := usual()
		c.ChunkedPrefillSize = 16
		b := newBench(t, c, wideLimits)
		a := newAdder(b.s, 0)
		a.addOne(newRequest(ask("a", length, 4, 0), 1))
		if a.reserved != want {
			t.Errorf("a prompt of %d reserves %g, want %g", length, a.reserved, want)
		}
	}
}

// Rule 6: which budget is gone after an admission.
func TestRule6BudgetsAfterAdmission(t *testing.T) {
	b := newBench(t, usual(), wideLimits)
	tests := []struct {
		reserved        float64
		taken           int
		remInput, chunk int
		want            Close
	}{
		{4095, 4095, 1, 1, open},
		{4096, 0, 1, 1, CloseNoToken},
		{0, 4096, 1, 1, CloseNoToken},
		{0, 0, 0, 1, CloseMaxPrefillTokens},
		{0, 0, 1, 0, CloseChunkedPrefillSize},
		{0, 0, 0, 0, CloseMaxPrefillTokens},
	}
	for _, test := range tests {
		a := &adder{s: b.s, reserved: test.reserved, taken: test.taken, remInput: test.remInput, remChunk: test.chunk, chunking: true}
		if got := a.state(); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
	if got := (&adder{s: b.s, remInput: 1}).state(); got != open {
		t.Errorf("without chunking: %q, want to go on", got)
	}
}

// The chunked request goes first, with the least of what is left of it, of the
// chunk and of rem_total, in whole pages where it is cut.
func TestChunkedRequestTakesTheLeast(t *testing.T) {
	tests := []struct {
		rest, chunk int
		reserved    float64
		want        int
		cut         Close // of a request that is not whole
	}{
		{10, 16, 0, 10, CloseQueueEmpty},
		{16, 16, 0, 16, CloseQueueEmpty},
		{30, 16, 0, 16, CloseChunkedPrefillSize},
		{30, 16, 4096 - 11.5, 8, CloseNoToken},
		{30, 16, 4096, 0, CloseNoToken},
		{30, 2, 0, 0, CloseChunkedPrefillSize},
	}
	for _, test := range tests {
		c := usual()
		c.PageSize, c.ChunkedPrefillSize = 4, 16
		b := newBench(t, c, wideLimits)
		a := newAdder(b.s, 0)
		a.remChunk, a.reserved = test.chunk, test.reserved
		r := newRequest(ask("a", test.rest, 4, 0), 1)
		a.addChunked(r)
		got := 0
		if len(a.admitted) > 0 {
			got = r.extend
		}
		if got != test.want || a.whyCut != test.cut {
			t.Errorf("%+v: %d tokens, cut %q", test, got, a.whyCut)
		}
	}
}

// max_running_requests closes a batch, and counts those that run already.
func TestMaxRunningRequests(t *testing.T) {
	c := usual()
	c.MaxRunningRequests = 3
	b := busy(t, c, 5)
	b.receive(many(5, 10, 4))
	wantRIDs(t, b.step(), "r0", "r1")
	if why, rid := closed(b); why != CloseMaxRunningRequests || rid != "r2" {
		t.Errorf("closed by %s at %q, want %s at r2", why, rid, CloseMaxRunningRequests)
	}
	wantRIDs(t, b.step(), "x", "r0", "r1")
}

// A request that leaves makes room for a waiting one while others go on.
func TestLeavingOpensTheBatch(t *testing.T) {
	c := usual()
	c.MaxRunningRequests = 2
	b := newBench(t, c, wideLimits)
	m := many(3, 10, 9)
	m.Batch[0].SamplingParams.MaxNewTokens = 2
	b.receive(m)
	wantRIDs(t, b.step(), "r0", "r1")
	wantRIDs(t, b.step(), "r0", "r1")
	wantRIDs(t, b.step(), "r2")
	wantRIDs(t, b.step(), "r1", "r2")
}

// A chunked request that gets nothing in a batch of others stays the chunked one.
func TestChunkedRequestIsNotLost(t *testing.T) {
	c := usual()
	c.MaxTotalTokens, c.PageSize, c.ChunkedPrefillSize, c.Conservativeness = 48, 4, 8, 0.001
	b := newBench(t, c, wideLimits)
	b.receive(ask("x", 4, 34, 25))
	b.step()
	b.receive(ask("long", 30, 4, 0))
	wantRIDs(t, b.step(), "long")
	b.s.newTokenRatio = 1 // leaves three tokens, less than a page
	b.receive(ask("short", 1, 1, 9))
	wantRIDs(t, b.step(), "short")
	b.run()
	if got := b.got["long"]; got == nil || len(got.output) != 4 {
		t.Errorf("the chunked request: %+v, want 4 tokens", got)
	}
	b.empty()
}

// Running requests at the ends of their pages may need more than is left beside
// a prompt: then they decode in the next step.
func TestMixedWithoutRoomForDecodes(t *testing.T) {
	c := usual()
	c.MaxTotalTokens, c.PageSize, c.EnableMixedChunk, c.Conservativeness = 24, 4, true, 0.001
	b := newBench(t, c, wideLimits)
	for i, rid := range []string{"x", "y", "z"} {
		b.receive(ask(rid, 4, 3, int64(7*i)))
	}
	wantRIDs(t, b.step(), "x", "y", "z")
	b.receive(ask("a", 1, 1, 29))
	wantRIDs(t, b.step(), "a")
	wantRIDs(t, b.step(), "x", "y", "z")
	b.run()
	b.empty()
}

// Mixed decode tokens count against all three budgets.
func TestMixedDecodesCount(t *testing.T) {
	c := usual()
	c.ChunkedPrefillSize, c.MaxPrefillTokens, c.MaxTotalTokens = 16, 20, 100
	b := busy(t, c, 9)
	with, without := newAdder(b.s, 1), newAdder(b.s, 0)
	if with.remChunk != 15 || with.remInput != 19 || with.remTotal() != 80 || with.remCurrent() != 89 {
		t.Errorf("with: chunk %d, input %d, total %g, now %d; want 15, 19, 80, 89", with.remChunk, with.remInput, with.remTotal(), with.remCurrent())
	}
	if without.remChunk != 16 || without.remInput != 20 || without.remTotal() != 81 || without.remCurrent() != 90 {
		t.Errorf("without: chunk %d, input %d, total %g, now %d; want 16, 20, 81, 90", without.remChunk, without.remInput, without.remTotal(), without.remCurrent())
	}
}

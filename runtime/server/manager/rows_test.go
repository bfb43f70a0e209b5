package manager

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

func TestRowsOfABatchGoToTheirCalls(t *testing.T) {
	k := start(t, nil)
	a, b := k.submit(1, item("a0", "x"), item("a1", "x")), k.submit(1, item("b", "x"))
	k.rows(at0("a1", "one"), at0("b", "two"), at0("a0", "three"))
	for _, want := range []struct {
		call  Call
		index int
		rid   string
		text  string
	}{{a, 1, "a1", "one"}, {a, 0, "a0", "three"}, {b, 0, "b", "two"}} {
		if u := next(t, want.call); u.Index != want.index || u.RID != want.rid || u.Text != want.text || u.Rows != 1 || u.Finish != nil {
			t.Errorf("got %+v, want %+v", u, want)
		}
	}
	nothing(t, a)
	nothing(t, b)
	k.counts("rows_delivered=3", "rows_dropped_unknown=0", "rows_missing=0")
}

func TestAnUpdateHasAllThatTheRowHas(t *testing.T) {
	k := start(t, nil)
	it := item("r", "abc")
	it.ReturnLogprob, it.LogprobStartLen, it.TopLogprobsNum, it.TokenIDsLogprob = true, 0, 1, []int64{9}
	c := k.submit(1, it)
	b := batch(t, row{rid: "r", number: int64(0), text: "hi", ids: []int64{4, 5}, finish: stopped(), out: []float64{-.5, -.25}})
	some := wire.Somes[float64]
	b.RetractionCounts = []wire.Opt[int64]{wire.Some(int64(2))}
	b.InputTokenLogprobsVal = [][]wire.Opt[float64]{{{}, wire.Some(-1.)}}
	b.InputTokenLogprobsIdx = [][]wire.Opt[int64]{wire.Somes([]int64{97, 98})}
	b.OutputTopLogprobsVal = [][][]wire.Opt[float64]{{some([]float64{-.1}), some([]float64{-.2})}}
	b.OutputTopLogprobsIdx = [][][]wire.Opt[int64]{{wire.Somes([]int64{7}), wire.Somes([]int64{8})}}
	b.OutputTokenIDsLogprobsVal = [][][]wire.Opt[float64]{{some([]float64{-3}), some([]float64{-4})}}
	b.OutputTokenIDsLogprobsIdx = [][][]wire.Opt[int64]{{wire.Somes([]int64{9}), wire.Somes([]int64{9})}}
	k.clock.advance(2 * time.Second)
	if err := k.Receive(encode(t, b)); err != nil {
		t.Fatal(err)
	}
	u := next(t, c)
	got := fmt.Sprintf("%q %v in=%v out=%v prompt=%d completion=%d cached=%d retractions=%d latency=%v finish=%s %d",
		u.Text, u.OutputIDs, u.InputLogprobs, u.OutputLogprobs, u.PromptTokens, u.CompletionTokens, u.CachedTokens, u.Retractions, u.Latency, u.Finish.Type, *u.Finish.MatchedToken)
	want := `"hi" [4 5] in=[{{97 0} true [] []} {{98 -1} false [] []}] out=[{{4 -0.5} false [{7 -0.1}] [{9 -3}]} {{5 -0.25} false [{8 -0.2}] [{9 -4}]}]` +
		` prompt=3 completion=2 cached=1 retractions=2 latency=2s finish=stop 0`
	if got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	ended(t, c)
	k.counts("num_requests_total=1", "prompt_tokens_total=3", "generation_tokens_total=2", "cached_tokens_total=1", "num_aborted_requests_total=0")
}

func TestLogprobColumnsThatContradictEachOther(t *testing.T) {
	one, two := wire.Somes([]float64{-1}), wire.Somes([]float64{-1, -2})
	id, ids := wire.Somes([]int64{1}), wire.Somes([]int64{1, 2})
	for _, c := range []struct {
		change func(*wire.BatchStrOutput)
		want   string
	}{
		{func(b *wire.BatchStrOutput) { b.OutputTokenLogprobsIdx = [][]wire.Opt[int64]{id} }, "output_token_logprobs_idx has 1 positions, expected 2"},
		{func(b *wire.BatchStrOutput) { b.InputTokenLogprobsIdx = [][]wire.Opt[int64]{id} }, "input_token_logprobs_idx has 1 positions, expected 0"},
		{func(b *wire.BatchStrOutput) { b.OutputTopLogprobsVal = [][][]wire.Opt[float64]{{one}} }, "output_top_logprobs_val has 1 positions, expected 2"},
		{func(b *wire.BatchStrOutput) { b.OutputTopLogprobsVal = [][][]wire.Opt[float64]{{one, two}} }, "output_top_logprobs of position 0: 1 values for 0 ids"},
		{func(b *wire.BatchStrOutput) {
			b.OutputTokenIDsLogprobsVal, b.OutputTokenIDsLogprobsIdx = [][][]wire.Opt[float64]{{one, one}}, [][][]wire.Opt[int64]{{id, ids}}
		}, "output_token_ids_logprobs of position 1: 1 values for 2 ids"},
	} {
		k := start(t, nil)
		call := k.submit(1, item("r", "x"))
		b := batch(t, row{rid: "r", number: int64(0), text: "a", ids: []int64{1, 2}, out: []float64{-1, -2}})
		c.change(b)
		if err := k.take(encode(t, b)); err != nil {
			t.Fatal(err)
		}
		if u := next(t, call); u.Text != "" || u.Finish == nil || u.Finish.StatusCode != 500 || !strings.Contains(u.Finish.Message, c.want) {
			t.Errorf("got %+v, want a 500 with %q", u.Finish, c.want)
		}
		k.abortedOnce("r")
		k.counts("rows_delivered=0", "rows_dropped_request_ended=1")
	}
}

func TestACounterThatIsNullKeepsItsValue(t *testing.T) {
	k := start(t, nil)
	c := k.submit(1, item("r", "x"))
	k.rows(row{rid: "r", number: int64(0), ids: []int64{1, 2}})
	next(t, c)
	b := batch(t, row{rid: "r", number: int64(1)})
	b.PromptTokens, b.CachedTokens, b.CompletionTokens = nil, nil, nil
	if err := k.take(encode(t, b)); err != nil {
		t.Fatal(err)
	}
	if u := next(t, c); u.PromptTokens != 3 || u.CachedTokens != 1 || u.CompletionTokens != 2 {
		t.Errorf("got %+v", u)
	}
}

func TestFinishes(t *testing.T) {
	pair := func(k string, v wire.Value) wire.Pair { return wire.Pair{Key: k, Value: v} }
	for _, c := range []struct {
		finish wire.Map
		want   Finish
	}{
		{reason("stop", pair("matched", "END")), Finish{Type: "stop", MatchedText: "END"}},
		{reason("stop", pair("matched", nil)), Finish{Type: "stop"}},
		{reason("length", pair("length", int64(8))), Finish{Type: "length", Length: 8}},
		{reason("abort", pair("message", "m"), pair("status_code", int64(503)), pair("err_type", "E")), Finish{Type: "abort", Message: "m", StatusCode: 503, ErrType: "E"}},
		{reason("abort", pair("message", "m"), pair("status_code", nil), pair("err_type", nil)), Finish{Type: "abort", Message: "m"}},
		{reason("whim"), Finish{Type: "abort", StatusCode: 500, ErrType: "InternalServerError", Message: `a row of "r": finished_reason has the type "whim", expected stop, length or abort`}},
	} {
		k := start(t, nil)
		call := k.submit(1, item("r", "x"))
		k.rows(row{rid: "r", number: int64(0), finish: c.finish})
		if u := next(t, call); u.Finish == nil || *u.Finish != c.want {
			t.Errorf("%v: got %+v, want %+v", c.finish, u.Finish, c.want)
		}
		ended(t, call)
		if k.InFlight() != 0 || len(k.router.aborts()) != 0 {
			t.Errorf("%v: %d states are left, aborts %q", c.finish, k.InFlight(), k.router.aborts())
		}
	}
}

// TestRowFaults sends rows by their numbers, and has the text that the caller gets.
func TestRowFaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		numbers []any
		texts   string // what Next gave
		message string // of the abort, if any
		counts  []string
	}{
		{"in order", []any{0, 1, 2}, "012", "", []string{"rows_delivered=3", "rows_missing=0", "rows_doubled=0", "rows_reordered=0"}},
		{"doubled", []any{0, 1, 1, 0, 2}, "012", "", []string{"rows_delivered=3", "rows_doubled=2", "rows_missing=0", "rows_dropped_request_ended=0"}},
		{"first missing", []any{1}, "", `rows 0 to 0 of "r" are missing`, []string{"rows_delivered=0", "rows_missing=1", "rows_dropped_request_ended=1"}},
		{"missing", []any{0, 3, 4}, "0", `rows 1 to 2 of "r" are missing`, []string{"rows_delivered=1", "rows_missing=2", "rows_reordered=0", "rows_dropped_request_ended=2"}},
		{"reordered", []any{0, 2, 1, 3}, "0", `rows 1 to 1 of "r" are missing`, []string{"rows_delivered=1", "rows_missing=1", "rows_reordered=1", "rows_doubled=0", "rows_dropped_request_ended=3"}},
		{"no number", []any{0, nil}, "0", `a row of "r": customized_info has no row number for it`, []string{"rows_delivered=1", "rows_dropped_request_ended=1"}},
		{"negative", []any{-1}, "", `a row of "r": its number is -1`, []string{"rows_dropped_request_ended=1"}},
		{"beyond all", []any{1 << 60}, "", `a row of "r": its number is 1152921504606846976`, []string{"rows_missing=0", "rows_dropped_request_ended=1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := start(t, nil)
			call := k.submit(1, item("r", "x"))
			for _, n := range c.numbers {
				r := row{rid: "r", text: fmt.Sprint(n)}
				if i, ok := n.(int); ok {
					r.number = int64(i)
				}
				k.rows(r)
			}
			u := next(t, call)
			if c.texts != u.Text {
				t.Errorf("got the text %q, want %q", u.Text, c.texts)
			}
			k.counts(c.counts...)
			if c.message == "" {
				if u.Finish != nil {
					t.Errorf("got %+v, want no finish", u.Finish)
				}
				return
			}
			if u.Finish == nil || u.Finish.StatusCode != 500 || !strings.HasPrefix(u.Finish.Message, c.message) {
				t.Errorf("got %+v, want a 500 with %q", u.Finish, c.message)
			}
			ended(t, call)
			k.abortedOnce("r")
			k.rows(row{rid: "r", number: int64(9), finish: reason("abort")})
			if k.InFlight() != 0 {
				t.Error("the state is left after the last row")
			}
		})
	}
}

// abortedOnce waits for the abort of rid, which must be the only one.
func (k *kit) abortedOnce(rid string) {
	k.t.Helper()
	guard := time.After(time.Minute)
	for len(k.router.aborts()) == 0 {
		select {
		case <-k.router.more:
		case <-guard:
			k.t.Fatalf("waited a minute for the abort of %q", rid)
		}
	}
	if got := k.router.aborts(); len(got) != 1 || got[0] != rid {
		k.t.Errorf("got the aborts %q, want one of %q", got, rid)
	}
}

// An abort with status 500 may be a detokenizer's, which the scheduler does not know of: without an
// AbortReq it would compute to the last token, for nobody.
func TestAnAbortOfTheDetokenizerEndsTheRequestAtTheScheduler(t *testing.T) {
	k := start(t, nil)
	failed, refused, good := k.submit(1, item("failed", "x")), k.submit(1, item("refused", "x")), k.submit(1, item("good", "x"))
	status := func(n int64) wire.Map { return reason("abort", wire.Pair{Key: "status_code", Value: n}) }
	k.rows(
		row{rid: "good", number: int64(0), finish: stopped()},
		row{rid: "refused", number: int64(0), finish: status(400)},
		row{rid: "failed", number: int64(0), finish: status(500)},
	)
	for _, c := range []Call{failed, refused, good} {
		if u := next(t, c); u.Finish == nil {
			t.Errorf("got %+v, want the finish", u)
		}
		ended(t, c)
	}
	k.abortedOnce("failed")
	k.rows(row{rid: "failed", number: int64(1)}) // the scheduler went on meanwhile
	k.counts("rows_delivered=3", "rows_dropped_unknown=1")
}

func TestADoubledLastRowDoesNotLeaveItsCallerWaiting(t *testing.T) {
	k := start(t, nil)
	c := k.submit(1, item("r", "x"))
	k.rows(at0("r", "a"))
	k.rows(row{rid: "r", number: int64(0), text: "a", finish: stopped()})
	if u := next(t, c); u.Text != "a" || u.Finish == nil || u.Finish.StatusCode != 500 {
		t.Errorf("got %+v", u)
	}
	k.counts("rows_doubled=1", "rows_delivered=1", "rows_dropped_request_ended=0")
}

func TestRowsOfNobodyAreCountedAndLoggedOnceASecond(t *testing.T) {
	k := start(t, nil)
	for range 3 {
		k.rows(at0("x", ""), at0("y", ""))
	}
	k.counts("rows_dropped_unknown=6", "rows_delivered=0")
	k.clock.advance(time.Second)
	k.rows(at0("x", ""))
	if k.log.count("Rows of unknown requests were dropped") != 2 || k.log.count("skipped_lines=2") != 1 {
		t.Errorf("got the log\n%s", k.log.b.String())
	}
}

func TestAMalformedFrameIsAnError(t *testing.T) {
	k := start(t, nil)
	good := encode(t, batch(t, at0("r", "a")))
	b := batch(t, at0("r", "a"))
	b.CustomizedInfo.Wrapper = wire.PickleWrapper
	for _, frame := range [][]byte{nil, {0xc1}, good[:len(good)-1], append(good[:len(good):len(good)], 0xc0), encode(t, b), []byte("\x91\xa7NoClass")} {
		if err := k.Receive(frame); err == nil {
			t.Errorf("%q: no error", frame)
		}
	}
	if err := k.Receive(good); err != nil {
		t.Error(err)
	}
}

func TestAnEmbeddingEndsTheRequestThatItCameFor(t *testing.T) {
	k := start(t, nil)
	c := k.submit(1, item("r", "x"))
	frame := encode(t, &wire.BatchEmbeddingOutput{RIDs: []string{"r", "s"}})
	if err := k.Receive(frame); err != nil {
		t.Fatal(err)
	}
	if u := next(t, c); u.Finish == nil || u.Finish.StatusCode != 500 || !strings.Contains(u.Finish.Message, "BatchEmbeddingOutput") {
		t.Errorf("got %+v", u)
	}
	k.abortedOnce("r")
	k.counts("rows_dropped_request_ended=1", "rows_dropped_unknown=1", "rows_delivered=0")
}

func TestHistograms(t *testing.T) {
	k := start(t, nil)
	k.submit(1, item("r", "x"))
	for i, r := range []row{{ids: []int64{1}}, {}, {ids: []int64{1, 2, 3}}, {ids: []int64{4}, finish: stopped()}} {
		k.clock.advance(time.Second)
		r.rid, r.number = "r", int64(i)
		k.rows(r)
	}
	for _, h := range []struct {
		name  string
		count uint64
		sum   float64
	}{{"time_to_first_token_seconds", 1, 1}, {"inter_token_latency_seconds", 4, 3}, {"e2e_request_latency_seconds", 1, 4}} {
		if count, sum := k.histogram(h.name); count != h.count || math.Abs(sum-h.sum) > 1e-9 {
			t.Errorf("%s: got %d with the sum %g, want %d with %g", h.name, count, sum, h.count, h.sum)
		}
	}
}

// TestNoTextIsLost has many calls, frames of any grouping, and callers of any
// slowness: joined, each index has what was sent.
func TestNoTextIsLost(t *testing.T) {
	const calls, indexes, rows = 8, 4, 60
	k := start(t, nil)
	var pending [][]row
	var readers sync.WaitGroup
	for n := range calls {
		var items []Item
		want := make([]string, indexes)
		for i := range indexes {
			rid := fmt.Sprintf("%d-%d", n, i)
			items = append(items, item(rid, "x"))
			var all []row
			for j := range rows {
				text := fmt.Sprintf("%s:%d;", rid, j)
				want[i] += text
				all = append(all, row{rid: rid, number: int64(j), text: text, ids: []int64{int64(j)}})
			}
			all[rows-1].finish = stopped()
			pending = append(pending, all)
		}
		c := k.submit(1, items...)
		readers.Add(1)
		go func() {
			defer readers.Done()
			readSlowly(t, c, n, want, rows)
		}()
	}
	r := rand.New(rand.NewPCG(5, 6))
	for len(pending) > 0 {
		var frame []row
		for range 1 + r.IntN(6) {
			if len(pending) == 0 {
				break
			}
			i := r.IntN(len(pending))
			frame = append(frame, pending[i][0])
			if pending[i] = pending[i][1:]; len(pending[i]) == 0 {
				pending = append(pending[:i], pending[i+1:]...)
			}
		}
		k.rows(frame...)
	}
	readers.Wait()
	k.counts(fmt.Sprintf("rows_delivered=%d", calls*indexes*rows), "rows_missing=0", "rows_doubled=0", "rows_dropped_request_ended=0")
	if k.InFlight() != 0 {
		t.Errorf("%d states are left", k.InFlight())
	}
}

// readSlowly reads a call, the slower the higher n, and compares.
func readSlowly(t *testing.T, c Call, n int, want []string, rows int) {
	got, count, finishes := make([]string, len(want)), make([]int, len(want)), make([]int, len(want))
	for {
		u, err := tryNext(c)
		if err != nil {
			break
		}
		got[u.Index] += u.Text
		count[u.Index] += u.Rows
		if len(u.OutputIDs) != u.Rows {
			t.Errorf("an update of %d rows has %d ids", u.Rows, len(u.OutputIDs))
		}
		if u.Finish != nil {
			finishes[u.Index]++
		}
		time.Sleep(time.Duration(n) * 100 * time.Microsecond)
	}
	for i := range want {
		if got[i] != want[i] || count[i] != rows || finishes[i] != 1 {
			t.Errorf("call %d, index %d: %d rows, %d finishes, text %.60q, want %.60q", n, i, count[i], finishes[i], got[i], want[i])
		}
	}
}

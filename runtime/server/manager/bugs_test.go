package manager

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// Each test is a public report against a system that does this job, and says what
// is right.

// sglang#36333: a streaming client leaves, and its request runs to max_tokens while
// each of its rows floods the log.
func TestBug36333AClientThatLeavesIsAbortedOnceAndQuietly(t *testing.T) {
	k := start(t, nil)
	c := k.submit(1, item("r", "x"))
	k.rows(at0("r", "a"))
	c.Close()
	for i := range 50 {
		k.rows(row{rid: "r", number: int64(i + 1)})
	}
	k.rows(row{rid: "r", number: int64(51), finish: reason("abort")})
	if got := k.router.aborts(); !slices.Equal(got, []string{"r"}) {
		t.Errorf("got the aborts %q", got)
	}
	if n := k.log.count("\n"); n != 0 {
		t.Errorf("%d lines were logged:\n%s", n, k.log.b.String())
	}
	k.counts("rows_dropped_request_ended=51", "rows_dropped_unknown=0")
}

// sglang#37833, sglang PR 34894: the state is deleted before the abort goes, which
// is then skipped.
func TestBug37833AStateStaysUntilTheSchedulersLastWord(t *testing.T) {
	k := start(t, nil)
	k.router.reply = func(m request.Message) {
		if _, abort := m.(*request.AbortReq); abort && k.InFlight() != 1 {
			t.Error("the abort goes out for a request without a state")
		}
	}
	k.submit(1, item("r", "x")).Close()
	if got := k.router.aborts(); !slices.Equal(got, []string{"r"}) || k.InFlight() != 1 {
		t.Errorf("got the aborts %q, %d states", got, k.InFlight())
	}
	if e := k.refused(1, item("r", "x")); e.Status != 400 {
		t.Errorf("the rid was given again: %v", e)
	}
	k.rows(row{rid: "r", number: int64(0), finish: reason("abort")})
	if k.InFlight() != 0 {
		t.Error("the state is left")
	}
}

// sglang#33858, sglang PR 33940: with two workers the abort of a full queue has no
// way back, and the client hangs.
func TestBug33858AFullQueueReachesTheClient(t *testing.T) {
	for name, refuse := range map[string]func(*kit){
		"as a reply": func(k *kit) {
			f := &request.FinishReason{Type: "abort", Message: "full", StatusCode: 503, ErrType: "ServiceUnavailable"}
			k.answers(&request.AbortReq{RID: "r", HTTPWorkerIPC: ipc, FinishedReason: f})
		},
		"as a row": func(k *kit) {
			f := reason("abort", wire.Pair{Key: "message", Value: "full"}, wire.Pair{Key: "status_code", Value: int64(503)}, wire.Pair{Key: "err_type", Value: "ServiceUnavailable"})
			k.rows(row{rid: "r", number: int64(0), finish: f})
		},
	} {
		k := start(t, nil)
		c := k.submit(1, item("r", "x"))
		if r := k.router.sent()[0].(*request.TokenizedGenerateReqInput); r.HTTPWorkerIPC != ipc {
			t.Errorf("the request says %q is its worker", r.HTTPWorkerIPC)
		}
		refuse(k)
		u := next(t, c)
		if want := (Finish{Type: "abort", Message: "full", StatusCode: 503, ErrType: "ServiceUnavailable"}); u.Finish == nil || *u.Finish != want {
			t.Errorf("%s: got %+v", name, u.Finish)
		}
		ended(t, c)
		if k.InFlight() != 0 {
			t.Errorf("%s: the state is left", name)
		}
		k.counts("num_aborted_requests_total=1")
	}
}

// vllm#39863: the engine dies, and requests hang.
func TestBugVLLM39863RequestsFailWhenTheServerDoes(t *testing.T) {
	k := start(t, nil)
	c := k.submit(1, item("r", "x"))
	k.Fail(errors.New("the scheduler died"))
	if u := next(t, c); u.Finish == nil || u.Finish.StatusCode != 503 || !strings.Contains(u.Finish.Message, "the scheduler died") {
		t.Errorf("got %+v", u)
	}
	ended(t, c)
}

// sglang PR 24944: a column that is shorter than the batch is read beyond its end.
func TestBugPR24944AShortColumnIsNull(t *testing.T) {
	k := start(t, nil)
	c := k.submit(1, item("a", "x"), item("b", "x"))
	b := batch(t, at0("a", "one"), at0("b", "two"))
	b.PromptTokens, b.CachedTokens, b.OutputStrs = b.PromptTokens[:1], nil, b.OutputStrs[:1]
	b.FinishedReasons, b.OutputIDs, b.OutputTokenLogprobsVal, b.OutputTokenLogprobsIdx = nil, nil, nil, nil
	if err := k.Receive(encode(t, b)); err != nil {
		t.Fatal(err)
	}
	if u := next(t, c); u.Text != "one" || u.PromptTokens != 3 {
		t.Errorf("got %+v", u)
	}
	if u := next(t, c); u.Text != "" || u.PromptTokens != 0 || u.Rows != 1 || u.Finish != nil {
		t.Errorf("got %+v", u)
	}
}

// sglang PR 21583: ids come as what is new, logprobs as all there are.
func TestBugPR21583AsManyLogprobsAsIDs(t *testing.T) {
	k := start(t, nil)
	it := item("r", "x")
	it.ReturnLogprob = true
	c := k.submit(1, it)
	for i := range 6 {
		k.rows(row{rid: "r", number: int64(i), ids: []int64{int64(i), 9}, out: []float64{float64(-i), -9}})
		if i%3 == 2 {
			u := next(t, c)
			if len(u.OutputIDs) != 6 || len(u.OutputLogprobs) != 6 {
				t.Fatalf("got %d ids, %d logprobs, want 6 of each", len(u.OutputIDs), len(u.OutputLogprobs))
			}
			for j, p := range u.OutputLogprobs {
				if p.Token.ID != u.OutputIDs[j] {
					t.Errorf("logprob %d is of id %d, the id is %d", j, p.Token.ID, u.OutputIDs[j])
				}
			}
		}
	}
	k.rows(row{rid: "r", number: int64(6), ids: []int64{1, 2}, out: []float64{-1}})
	if u := next(t, c); u.Finish == nil || !strings.Contains(u.Finish.Message, "1 output logprobs for 2 output_ids") {
		t.Errorf("got %+v", u.Finish)
	}
}

// sglang PR 17005: all logprobs so far are made again in each step.
func TestBugPR17005ALogprobIsGivenOnce(t *testing.T) {
	k := start(t, nil)
	it := item("r", "x")
	it.ReturnLogprob = true
	c := k.submit(1, it)
	total := 0
	for i := range 200 {
		k.rows(row{rid: "r", number: int64(i), ids: []int64{1}, out: []float64{-1}})
		total += len(next(t, c).OutputLogprobs)
	}
	if total != 200 {
		t.Errorf("%d logprobs were made of 200 tokens", total)
	}
}

// sglang#2912: all copies of a streamed n > 1 come as choice 0.
func TestBug2912ACopysIndexIsItsChoice(t *testing.T) {
	k := start(t, nil)
	k.finisher()
	c := k.submit(2, item("", "a"), item("", "b"))
	var rids []string
	for _, m := range k.router.sent()[2:] {
		rids = append(rids, m.(*request.TokenizedGenerateReqInput).RID)
	}
	for _, i := range []int{2, 0, 3, 1} {
		k.rows(at0(rids[i], fmt.Sprint("choice ", i)))
	}
	for _, i := range []int{2, 0, 3, 1} {
		if u := next(t, c); u.Index != i || u.Text != fmt.Sprint("choice ", i) {
			t.Errorf("got index %d with %q, want %d", u.Index, u.Text, i)
		}
	}
}

// vllm PR 12298, ATOM PR 2161: a slow consumer has a backlog of rows.
func TestBugPR12298ASlowCallersRowsAreMerged(t *testing.T) {
	k := start(t, nil)
	c := k.submit(1, item("r", "x"), item("s", "x"))
	var want string
	for i := range 1000 {
		want += fmt.Sprint(i, " ")
		k.rows(row{rid: "r", number: int64(i), text: fmt.Sprint(i, " "), ids: []int64{int64(i % 256)}})
	}
	k.rows(at0("s", "other"))
	if u := next(t, c); u.Text != want || u.Rows != 1000 || len(u.OutputIDs) != 1000 {
		t.Errorf("got %d rows, %d ids, %d bytes, want %d", u.Rows, len(u.OutputIDs), len(u.Text), len(want))
	}
	if u := next(t, c); u.Text != "other" {
		t.Errorf("got %+v", u)
	}
	nothing(t, c)
	if k.log.count("Streaming backlog") != 1 {
		t.Errorf("got the log\n%s", k.log.b.String())
	}
	k.counts("rows_delivered=1001")
}

// llama.cpp#24496, #11720, #11414: a client that leaves does not free its slot; also
// one that does not stream, or whose prompt is still computed.
func TestBugLlama24496LeavingAbortsAtAnyTime(t *testing.T) {
	for _, c := range []struct {
		stream bool
		rows   []row
	}{{true, nil}, {false, nil}, {false, []row{at0("r", "a")}}} {
		k := start(t, nil)
		it := item("r", "x")
		it.Stream = c.stream
		call := k.submit(1, it)
		k.rows(c.rows...)
		call.Close()
		if got := k.router.aborts(); !slices.Equal(got, []string{"r"}) {
			t.Errorf("%+v: got the aborts %q", c, got)
		}
	}
}

// sglang PR 6855: a request that is aborted while it waits has an empty result.
func TestBugPR6855AnAbortWithoutOutput(t *testing.T) {
	k := start(t, nil)
	c := k.submit(1, item("r", "x"))
	k.rows(row{rid: "r", number: int64(0), finish: reason("abort", wire.Pair{Key: "message", Value: "aborted"})})
	if u := next(t, c); u.Text != "" || u.Finish == nil || u.Finish.Type != "abort" || u.Finish.StatusCode != 0 {
		t.Errorf("got %+v", u)
	}
	ended(t, c)
	if count, _ := k.histogram("time_to_first_token_seconds"); count != 0 {
		t.Error("it has a time to first token")
	}
}

// sglang PR 31802: a rejection with 429 comes as 200.
func TestBugPR31802AStatusIsKept(t *testing.T) {
	for _, code := range []int{400, 429, 500, 503} {
		k := start(t, nil)
		c := k.submit(1, item("r", "x"), item("s", "x"))
		k.answers(&request.AbortReq{RID: "r", FinishedReason: &request.FinishReason{Type: "abort", StatusCode: code, ErrType: "E", Message: "m"}})
		k.rows(row{rid: "s", number: int64(0), finish: reason("abort", wire.Pair{Key: "status_code", Value: int64(code)})})
		for range 2 {
			if u := next(t, c); u.Finish == nil || u.Finish.StatusCode != code {
				t.Errorf("%d: got %+v", code, u.Finish)
			}
		}
	}
}

// sglang PR 14537: a full queue's answer lacks a key, which crashes.
func TestBugPR14537AnAbortThatLacksKeys(t *testing.T) {
	k := start(t, nil)
	c := k.submit(1, item("r", "x"), item("s", "x"))
	k.answers(&request.AbortReq{RID: "r"})
	k.rows(row{rid: "s", number: int64(0), finish: reason("abort")})
	for range 2 {
		if u := next(t, c); u.Finish == nil || *u.Finish != (Finish{Type: "abort"}) {
			t.Errorf("got %+v", u.Finish)
		}
	}
	k.answers(&request.AbortReq{RID: "unknown"})
	k.answers(&request.AbortReq{})
}

// sglang#3695: health probes crash the server after a while.
func TestBug3695AProbesCloseIsHarmless(t *testing.T) {
	k := start(t, nil)
	for i := range 1000 {
		rid := fmt.Sprint("HEALTH_CHECK_", i)
		c := k.submit(1, item(rid, "x"))
		if i%2 == 0 {
			k.rows(row{rid: rid, number: int64(0), finish: reason("length")})
		}
		c.Close()
		c.Close()
		k.rows(row{rid: rid, number: int64(0), finish: reason("abort")})
	}
	if k.InFlight() != 0 {
		t.Errorf("%d states are left", k.InFlight())
	}
	if got := len(k.router.aborts()); got != 500 {
		t.Errorf("%d aborts were sent, want those of the 500 that had not finished", got)
	}
}

package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// Public bug reports on the way in; bugs_test.go has those on the way back.

// sglang PR 3951: an over-long prompt waits for ever.
func TestBugPR3951AnOverlongPromptIsRefusedAtOnce(t *testing.T) {
	k := start(t, nil)
	it := item("r", strings.Repeat("x", 5000))
	if e := k.refused(1, it); e.Status != 400 || !strings.Contains(e.Message, "at least 500 tokens") || !strings.Contains(e.Message, "max_new_tokens is 8") || !strings.Contains(e.Message, "at most 98") {
		t.Errorf("got %v", e)
	}
}

// sglang PR 19035, vllm#10583, sglang#8089: a rid that is in flight comes again,
// which crashes, hangs or mixes the two.
func TestBugPR19035TheSecondOfARidIsRefusedAndTheFirstUnharmed(t *testing.T) {
	k := start(t, nil)
	first := k.submit(1, item("r", "x"))
	k.rows(at0("r", "a"))
	if e := k.refused(1, item("other", "x"), item("r", "x")); e.Status != 400 || !strings.Contains(e.Message, `"r" is a request's that has not finished`) {
		t.Errorf("got %v", e)
	}
	if k.InFlight() != 1 {
		t.Errorf("%d states, want the first's only", k.InFlight())
	}
	k.rows(row{rid: "r", number: int64(1), text: "b", finish: stopped()})
	if u := next(t, first); u.Text != "ab" || u.Finish == nil || u.Finish.Type != "stop" {
		t.Errorf("got %+v", u)
	}
	ended(t, first)
	k.submit(1, item("r", "x"))
}

// The same between two workers: the scheduler's reply ends the second, whose worker
// has no other request of that rid.
func TestBugPR19035AReplyEndsTheSecondOfAnotherWorker(t *testing.T) {
	k := start(t, nil)
	c := k.submit(1, item("r", "x"))
	f := &request.FinishReason{Type: "abort", Message: "twice", StatusCode: 400, ErrType: "BadRequestError"}
	k.answers(&request.AbortReq{RID: "r", HTTPWorkerIPC: ipc, FinishedReason: f})
	if u := next(t, c); u.Finish == nil || u.Finish.StatusCode != 400 || u.Finish.ErrType != "BadRequestError" {
		t.Errorf("got %+v", u)
	}
}

// sglang PR 28143: the rids that two workers make collide.
func TestBugPR28143MadeRidsAreUUIDs(t *testing.T) {
	seen := map[string]bool{}
	for range 10000 {
		rid := newRID()
		if len(rid) != 32 || rid[12] != '4' || !strings.ContainsRune("89ab", rune(rid[16])) || seen[rid] {
			t.Fatalf("%q is no fresh UUID of version 4", rid)
		}
		seen[rid] = true
	}
}

// sglang#25414: a batch of scores and generations fails.
func TestBug25414AMixedBatch(t *testing.T) {
	k := start(t, func(c *Config) { c.EnableTokenizerBatchEncode = true })
	score, generate := item("a", "x"), item("b", "x")
	score.Params, score.ReturnLogprob, score.TokenIDsLogprob, score.Stream = params(0), true, []int64{5, 6}, false
	c := k.submit(1, score, generate)
	if got := shape(k.router.sent()); !slices.Equal(got, []string{"batch [x x]"}) {
		t.Errorf("sent %q", got)
	}
	b := batch(t, row{rid: "a", number: int64(0), finish: reason("length")}, row{rid: "b", number: int64(0), ids: []int64{7}, finish: stopped()})
	b.OutputTokenLogprobsVal, b.OutputTokenLogprobsIdx = [][]wire.Opt[float64]{wire.Somes([]float64{-1}), {}}, [][]wire.Opt[int64]{wire.Somes([]int64{8}), {}}
	b.OutputTokenIDsLogprobsVal = [][][]wire.Opt[float64]{{wire.Somes([]float64{-2, -3})}, {}}
	b.OutputTokenIDsLogprobsIdx = [][][]wire.Opt[int64]{{wire.Somes([]int64{5, 6})}, {}}
	if err := k.Receive(encode(t, b)); err != nil {
		t.Fatal(err)
	}
	if u := next(t, c); u.Finish.Type != "length" || fmt.Sprint(u.OutputLogprobs) != "[{{8 -1} false [] [{5 -2} {6 -3}]}]" {
		t.Errorf("got %+v", u)
	}
	if u := next(t, c); u.Finish.Type != "stop" || len(u.OutputIDs) != 1 || u.OutputLogprobs != nil {
		t.Errorf("got %+v", u)
	}
}

// sglang seed 001: a batch of 100 is split on its way.
func TestBugSeed001ABatchIsOneMessage(t *testing.T) {
	k := start(t, nil)
	var items []Item
	for range 100 {
		items = append(items, Item{InputIDs: make([]int64, 90)}.with(0))
	}
	k.submit(1, items...)
	sent := k.router.sent()
	if len(sent) != 1 || len(sent[0].(*request.BatchTokenizedGenerateReqInput).Batch) != 100 {
		t.Errorf("sent %d messages, want 1 of 100 items", len(sent))
	}
}

// dynamo PR 8780, 14602: skip_special_tokens is false by default, or not heeded.
func TestBugDynamo8780SkipSpecialTokens(t *testing.T) {
	for _, skip := range []bool{true, false} {
		k := start(t, nil)
		it := item("r", "x")
		if !it.Params.SkipSpecialTokens {
			t.Error("the default is false")
		}
		it.Params.SkipSpecialTokens = skip
		k.submit(1, it)
		if got := k.router.sent()[0].(*request.TokenizedGenerateReqInput).SamplingParams.SkipSpecialTokens; got != skip {
			t.Errorf("sent %v, want %v", got, skip)
		}
	}
}

// pegainfer#215: a send that failed is ignored.
func TestBugPegainfer215AFailedSendIsAnError(t *testing.T) {
	k := start(t, nil)
	first := k.submit(1, item("a", "x"))
	k.router.mu.Lock()
	k.router.err = errors.New("broken pipe")
	k.router.mu.Unlock()
	if _, err := k.Submit(context.Background(), []Item{item("b", "x")}, 1); status(err) != 503 || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("got %v", err)
	}
	if u := next(t, first); u.Finish == nil || u.Finish.StatusCode != 503 {
		t.Errorf("got %+v", u)
	}
	if k.Err() == nil || k.InFlight() != 0 {
		t.Errorf("the service goes on: %v, %d states", k.Err(), k.InFlight())
	}
}

package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// Faults that were reported against servers of this kind, as far as a scheduler
// can have them. Each name has the project and number of the report.

// A client left, and its request went on to max_new_tokens (also llama.cpp 24496,
// 11720, 11414: the slot stayed taken): it ends within a step, with one row,
// streaming or unary.
func TestSGLang36333AbortEndsWithinAStep(t *testing.T) {
	for _, stream := range []bool{true, false} {
		for _, computing := range []bool{false, true} {
			b := newBench(t, usual(), wideLimits)
			in := ask("a", 10, 1000, 0)
			in.Stream = stream
			b.receive(in)
			b.step()
			b.step()
			batch := b.start()
			if !computing {
				b.finish(batch)
			}
			rows := 0
			if b.got["a"] != nil {
				rows = b.got["a"].rows
			}
			b.receive(&AbortReq{RID: "a"})
			if computing {
				b.finish(batch)
			}
			if got := b.got["a"]; got.finish == nil || got.finish.Type != FinishAbort || got.rows != rows+1 {
				t.Errorf("stream %t, computing %t: %d rows more, %+v", stream, computing, got.rows-rows, got.finish)
			}
			if b.step() != nil {
				t.Error("there is a step after the abort")
			}
			b.empty()
		}
	}
}

// An abort between two batches missed a request that was in neither: every state
// is looked at, and an abort before its request waits for it.
func TestSGLang36876AbortLooksEverywhere(t *testing.T) {
	c := usual()
	c.ChunkedPrefillSize, c.MaxRunningRequests = 8, 2
	for name, steps := range map[string]int{"waiting": 0, "chunked": 1, "running": 3, "running behind": 4} {
		b := newBench(t, c, wideLimits)
		b.receive(ask("a", 20, 50, 0))
		for range steps {
			b.step()
		}
		b.receive(&AbortReq{RID: "a"})
		if got := b.got["a"]; got == nil || got.finish == nil || got.finish.Type != FinishAbort {
			t.Errorf("%s: no abort", name)
		}
		b.empty()
	}
	b := newBench(t, c, wideLimits)
	b.receive(&AbortReq{RID: "a"})
	b.now += 4
	b.receive(ask("a", 20, 50, 0))
	if got := b.got["a"]; got == nil || got.finish.Type != FinishAbort {
		t.Error("early: no abort")
	}
	b.receive(&AbortReq{RID: "b"})
	b.now += 6
	b.receive(ask("b", 20, 3, 0))
	b.run()
	if got := b.got["b"]; got.finish.Type != FinishLength {
		t.Errorf("an abort of six seconds ago ended the request: %+v", got.finish)
	}
	b.empty()
}

// The queue overflowed and the abort had no route: it goes to the worker that
// asked (also sglang PR 14537: no crash), with 503.
func TestSGLang33858QueueFullAnswersItsWorker(t *testing.T) {
	c := usual()
	c.MaxQueuedRequests = 2
	b := newBench(t, c, wideLimits)
	b.receive(many(2, 10, 2))
	in := ask("late", 10, 2, 0)
	in.HTTPWorkerIPC = "w7"
	if err := b.s.Receive(b.now, in); err != nil {
		t.Fatal(err)
	}
	rows := b.s.out.Rows
	b.take()
	if got := b.got["late"]; got == nil || got.finish.StatusCode != 503 || rows.HTTPWorkerIPCs[0] != "w7" {
		t.Errorf("answer %+v to %v, want 503 to w7", got, rows)
	}
	b.step() // makes room in the queue
	b.receive(ask("later", 10, 2, 0))
	b.run()
	if got := b.got["later"].finish; got.Type != FinishLength {
		t.Errorf("a request after the overflow ended with %+v", got)
	}
	b.empty()
}

// A prompt that is too long waited for ever (also mini-sglang, which dropped
// it): it has an answer at once.
func TestSGLang3951TooLongIsAnsweredAtOnce(t *testing.T) {
	b := newBench(t, usual(), tinyLimits)
	b.receive(ask("a", 511, 1, 0))
	if got := b.got["a"]; got == nil || got.finish.StatusCode != 400 || !strings.Contains(got.finish.Message, "511 ids, expected at most 510") {
		t.Errorf("answer %+v, want 400 with the limit", got)
	}
	b.receive(ask("b", 510, 1, 0))
	b.run()
	if got := b.got["b"].finish; got.Type != FinishLength {
		t.Errorf("510 ids: %+v, want length", got)
	}
	b.empty()
}

// A second request with a rid in flight mixed both outputs (sglang PR 19035, 8089,
// vllm 10583): the second has a reply, no row, and the first is unharmed.
func TestVLLM10583DuplicateRID(t *testing.T) {
	b := newBench(t, usual(), wideLimits)
	first := ask("a", 10, 20, 0)
	b.receive(first)
	for i := range 10 {
		second := ask("a", 12, 3, int64(i))
		second.HTTPWorkerIPC = "w1"
		b.receive(second)
		b.step()
	}
	b.run()
	if len(b.reply) != 10 || b.reply[0].HTTPWorkerIPC != "w1" || b.reply[0].FinishedReason.StatusCode != 400 {
		t.Errorf("replies %+v, want ten with 400 to w1", b.reply)
	}
	checkResult(t, b, first)
	b.empty()
	b.receive(ask("a", 10, 2, 0)) // the rid is free again
	if len(b.reply) != 10 {
		t.Error("a rid that finished is refused")
	}
}

// Output ids of a row were deltas, logprobs all from the start (also sglang PR
// 17005: they were gone through again in every step): as many in every row, each
// once.
func TestSGLang21583LogprobsAreDeltas(t *testing.T) {
	b := newBench(t, usual(), wideLimits)
	in := ask("a", 10, 9, 0)
	in.ReturnLogprob, in.SamplingParams.StreamInterval = true, 3
	b.receive(in)
	inputs := 0
	for batch := b.start(); batch != nil; batch = b.start() {
		out, err := b.m.Forward(batch)
		if err != nil {
			t.Fatal(err)
		}
		choice := model.Choice{Token: model.Greedy(out.Logits[0]), Input: inputPositions(batch.Work[0])}
		if err := b.s.Finish(b.now, []model.Choice{choice}); err != nil {
			t.Fatal(err)
		}
		if rows := b.s.Take().Rows; rows != nil {
			if len(rows.OutputIDs[0]) != len(rows.OutputLogprobs[0]) {
				t.Errorf("a row of %d ids and %d logprobs", len(rows.OutputIDs[0]), len(rows.OutputLogprobs[0]))
			}
			inputs += len(rows.InputLogprobs[0])
		}
	}
	if inputs != 1 {
		t.Errorf("%d input logprobs in all, want 1", inputs)
	}
}

// A chunked request that is put back begins its input logprobs anew.
func TestRetractedChunkSendsInputLogprobsOnce(t *testing.T) {
	c := usual()
	c.MaxTotalTokens, c.ChunkedPrefillSize, c.EnableMixedChunk, c.Conservativeness = 20, 3, true, 0.01
	b := newBench(t, c, wideLimits)
	b.receive(ask("a", 1, 15, 29))
	b.step()
	in := ask("b", 14, 2, 0)
	in.ReturnLogprob, in.LogprobStartLen = true, 0
	b.receive(in)
	b.run()
	checkResult(t, b, in)
	if b.got["b"].retract != 1 {
		t.Errorf("retracted %d times, want once", b.got["b"].retract)
	}
	b.empty()
}

// An abort of a waiting request came after its prefill: it is never computed.
func TestSGLang6855AbortWhileWaitingIsNotComputed(t *testing.T) {
	c := usual()
	c.MaxRunningRequests = 1
	b := newBench(t, c, wideLimits)
	b.receive(ask("a", 10, 5, 0))
	b.receive(ask("b", 10, 5, 20))
	b.step()
	b.receive(&AbortReq{RID: "b"})
	for batch := b.step(); batch != nil; batch = b.step() {
		wantRIDs(t, batch, "a")
	}
	if got := b.got["b"]; len(got.output) != 0 || got.rows != 1 {
		t.Errorf("%d tokens in %d rows, want none in one", len(got.output), got.rows)
	}
	b.empty()
}

// A score and a generation in one batch failed an assertion.
func TestSGLang25414ScoreBesideGenerate(t *testing.T) {
	for _, mixed := range []bool{false, true} {
		c := usual()
		c.EnableMixedChunk, c.ChunkedPrefillSize = mixed, 16
		b := newBench(t, c, wideLimits)
		b.receive(ask("running", 10, 9, 3))
		b.step()
		score := ask("score", 10, 0, 0)
		score.ReturnLogprob, score.TokenIDsLogprob, score.Stream = true, []int64{3, 4}, false
		b.receive(score)
		b.receive(ask("generate", 3, 3, 20))
		batch := b.step()
		if got := batchRIDs(batch); !slices.Equal(got[:2], []string{"score", "generate"}) || (len(got) == 3) != mixed {
			t.Errorf("mixed %t: batch %v", mixed, got)
		}
		if got := batch.Work[0].Logprobs; !got.Want || !slices.Equal(got.IDs, []int64{3, 4}) || batch.Work[1].Logprobs.Want {
			t.Errorf("wanted logprobs %+v and %+v", got, batch.Work[1].Logprobs)
		}
		b.run()
		if got := b.got["score"]; len(got.output) != 0 || len(got.out) != 1 || got.finish.Type != FinishLength || got.finish.Length != 0 {
			t.Errorf("score: %+v", got)
		}
		if got := b.got["generate"]; len(got.output) != 3 || len(got.out) != 0 {
			t.Errorf("generate: %+v", got)
		}
		b.empty()
	}
}

// A health probe was aborted and the server with it: probes come and go.
func TestSGLang3695ProbesAreHarmless(t *testing.T) {
	b := newBench(t, usual(), wideLimits)
	work := ask("work", 10, 300, 5)
	b.receive(work)
	for i := range 200 {
		probe := ask(fmt.Sprintf("HEALTH_CHECK_%d", i), 1, 1, 0)
		b.receive(probe)
		if i%3 == 0 {
			b.receive(&AbortReq{RID: probe.RID})
		}
		b.step()
		if i%3 == 1 {
			b.receive(&AbortReq{RID: probe.RID})
		}
	}
	b.run()
	checkResult(t, b, work)
	b.empty()
}

// A batch of fifty was split at the scheduler: one message is one prefill batch
// within the budget, while what comes between steps is cut where the steps are.
func TestSGLangBatchSendIsOnePrefillBatch(t *testing.T) {
	b := newBench(t, usual(), wideLimits)
	b.receive(many(50, 20, 0))
	if got := len(b.step().Work); got != 50 {
		t.Errorf("one message: a first batch of %d, want 50", got)
	}
	b = newBench(t, usual(), wideLimits)
	m := many(50, 20, 0)
	var sizes []int
	for i := range m.Batch {
		b.receive(&m.Batch[i])
		if i == 9 || i == 49 {
			sizes = append(sizes, len(b.step().Work))
		}
	}
	if !slices.Equal(sizes, []int{10, 40}) {
		t.Errorf("single messages with a step after ten: batches of %v, want 10 and 40", sizes)
	}
}

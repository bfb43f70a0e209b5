package scheduler

import (
	"math"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

func TestConfigErrors(t *testing.T) {
	for want, change := range map[string]func(*Config, *model.Limits){
		"max_total_tokens is 1, expected at least 2":             func(c *Config, _ *model.Limits) { c.MaxTotalTokens = 1 },
		"max_total_tokens: kvcache: 3 tokens":                    func(c *Config, _ *model.Limits) { c.MaxTotalTokens, c.PageSize = 3, 4 },
		"max_running_requests is 0":                              func(c *Config, _ *model.Limits) { c.MaxRunningRequests = 0 },
		"max_queued_requests is -1":                              func(c *Config, _ *model.Limits) { c.MaxQueuedRequests = -1 },
		"max_prefill_tokens is 0":                                func(c *Config, _ *model.Limits) { c.MaxPrefillTokens = 0 },
		"stream_interval is -1":                                  func(c *Config, _ *model.Limits) { c.StreamInterval = -1 },
		`schedule_policy is "lof", expected "fcfs" or "lpm"`:     func(c *Config, _ *model.Limits) { c.SchedulePolicy = "lof" },
		"chunked_prefill_size is 6, expected a multiple of page": func(c *Config, _ *model.Limits) { c.ChunkedPrefillSize, c.PageSize = 6, 4 },
		"schedule_conservativeness is NaN, expected more than 0": func(c *Config, _ *model.Limits) { c.Conservativeness = math.NaN() },
		"the memory of aborts is -1 s, expected more than 0":     func(c *Config, _ *model.Limits) { c.AbortMemory = -1 },
		"the model's vocab_size is 0, expected at least 1":       func(_ *Config, l *model.Limits) { l.VocabSize = 0 },
		"the model's context_length is 1, expected at least 2":   func(_ *Config, l *model.Limits) { l.ContextLength = 1 },
	} {
		c, l := usual(), wideLimits
		change(&c, &l)
		if _, err := New(c, l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// A message that is none, or contradicts itself, changes nothing.
func TestMessageErrors(t *testing.T) {
	one := []TokenizedGenerateReqInput{*ask("a", 3, 1, 0)}
	for want, message := range map[string]any{
		"got a string, expected *TokenizedGenerateReqInput": "hello",
		"got a <nil>": nil,
		"a TokenizedGenerateReqInput has an empty rid":            ask("", 3, 1, 0),
		"has 2 rids for 1 items":                                  &BatchTokenizedGenerateReqInput{RIDs: []string{"a", "b"}, Batch: one},
		"has 0 http_worker_ipcs for 1 items":                      &BatchTokenizedGenerateReqInput{HTTPWorkerIPCs: []string{}, Batch: one},
		"item 1 of a BatchTokenizedGenerateReqInput has an empty": &BatchTokenizedGenerateReqInput{Batch: []TokenizedGenerateReqInput{one[0], {}}},
		"an AbortReq has an empty rid":                            &AbortReq{},
	} {
		b := newBench(t, usual(), wideLimits)
		b.receive(ask("before", 5, 2, 0))
		if err := b.s.Receive(0, message); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		if st := b.s.Stats(); st.Received != 1 || st.Waiting != 1 {
			t.Errorf("%s: %+v, want one request as before", want, st)
		}
		b.run()
		b.empty()
	}
}

func TestRequestRefusals(t *testing.T) {
	for want, change := range map[string]func(*TokenizedGenerateReqInput){
		"input_ids is empty":                           func(in *TokenizedGenerateReqInput) { in.InputIDs = nil },
		"stream_interval is -1":                        func(in *TokenizedGenerateReqInput) { in.SamplingParams.StreamInterval = -1 },
		"stop has 1 strings":                           func(in *TokenizedGenerateReqInput) { in.SamplingParams.Stop = []string{"x"} },
		"logprob_start_len is -2, expected -1 to 5":    func(in *TokenizedGenerateReqInput) { in.LogprobStartLen = -2 },
		"logprob_start_len is 6":                       func(in *TokenizedGenerateReqInput) { in.LogprobStartLen = 6 },
		"top_logprobs_num is 41, expected 0 to 40":     func(in *TokenizedGenerateReqInput) { in.TopLogprobsNum = 41 },
		"token_ids_logprob[1] is 40, expected 0 to 39": func(in *TokenizedGenerateReqInput) { in.TokenIDsLogprob = []int64{3, 40} },
		"token_ids_logprob[0] is -1, expected 0 to 39": func(in *TokenizedGenerateReqInput) { in.TokenIDsLogprob = []int64{-1} },
	} {
		b := newBench(t, usual(), wideLimits)
		in := ask("a", 5, 2, 0)
		change(in)
		b.receive(in)
		if got := b.got["a"]; got == nil || got.finish.StatusCode != 400 || !strings.Contains(got.finish.Message, want) {
			t.Errorf("answer %+v, want 400: %s", got, want)
		}
		b.empty()
	}
}

// A token outside the vocabulary is not sent, and ends its request only.
func TestTokenOutsideTheVocabulary(t *testing.T) {
	for _, token := range []int64{40, -1} {
		b := newBench(t, usual(), wideLimits)
		in := ask("a", 5, 9, 0)
		in.ReturnLogprob = true
		b.receive(in)
		b.receive(ask("b", 5, 2, 9))
		if _, err := b.m.Forward(b.start()); err != nil {
			t.Fatal(err)
		}
		if err := b.s.Finish(b.now, []model.Choice{{Token: token}, {Token: 3}}); err != nil {
			t.Fatal(err)
		}
		b.take()
		if got := b.got["a"]; len(got.output) != 0 || len(got.out) != 0 || got.finish.StatusCode != 500 || !strings.Contains(got.finish.Message, "expected 0 to 39") {
			t.Errorf("token %d: %+v %+v", token, got, got.finish)
		}
		if got := b.got["b"]; got.finish != nil || len(got.output) != 1 {
			t.Errorf("token %d beside it: %+v", token, got)
		}
		b.run()
		b.empty()
	}
}

// Choices that do not fit leave the batch as it is.
func TestFinishWithOtherChoices(t *testing.T) {
	b := newBench(t, usual(), wideLimits)
	b.receive(many(2, 5, 2))
	batch := b.start()
	want := "1 choices for a batch of 2 works"
	if err := b.s.Finish(b.now, make([]model.Choice, 1)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	b.finish(batch)
	b.run()
	b.empty()
}

func TestCallsOutOfOrderPanic(t *testing.T) {
	b := newBench(t, usual(), wideLimits)
	b.receive(many(1, 5, 2))
	for name, call := range map[string]func(){
		"Finish":   func() { _ = b.s.Finish(0, nil) },
		"Fail":     func() { b.s.Fail(0, "") },
		"Schedule": func() { b.s.Schedule(0); b.s.Schedule(0) },
	} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(r.(string), name) {
					t.Errorf("%s: recovered %v", name, r)
				}
			}()
			call()
		}()
		b = newBench(t, usual(), wideLimits)
		b.receive(many(1, 5, 2))
	}
}

// Flush does nothing while there are requests.
func TestFlushWaits(t *testing.T) {
	b := newBench(t, usual(), wideLimits)
	b.receive(ask("a", 5, 2, 0))
	if b.s.Flush() {
		t.Error("flushed with a waiting request")
	}
	b.run()
	b.empty()
}

// Records and aborts of unknown rids are bounded; what has not finished is kept.
func TestBoundedMemory(t *testing.T) {
	c := usual()
	c.Records = 3
	b := newBench(t, c, wideLimits)
	b.receive(ask("kept", 5, 4000, 0))
	for i := range 20 {
		b.receive(&many(i+1, 5, 1).Batch[i])
		b.step()
	}
	if _, ok := b.s.Record("kept"); !ok || len(b.s.records.byRID) != 4 || len(b.s.records.ended) != 3 || len(b.s.PrefillBatches()) != 3 {
		t.Errorf("records of %d requests, %d ended, %d batches; want 4, 3, 3", len(b.s.records.byRID), len(b.s.records.ended), len(b.s.PrefillBatches()))
	}
	if r, ok := b.s.Record("r19"); !ok || len(r.Admissions) != 1 || r.Admissions[0].Tokens != 5 {
		t.Errorf("record of the latest: %+v", r)
	}
	if _, ok := b.s.Record("r3"); ok {
		t.Error("the record of an early request is kept")
	}
	for i := range 3 * abortLimit {
		b.receive(&AbortReq{RID: strings.Repeat("z", i+1)})
	}
	if got := len(b.s.aborted); got != abortLimit {
		t.Errorf("%d aborts are remembered, want %d", got, abortLimit)
	}
}

// The lines are SGLang's to the character.
func TestLogLines(t *testing.T) {
	c := usual()
	c.DecodeLogInterval, c.MaxTotalTokens = 2, 100
	b := newBench(t, c, wideLimits)
	b.receive(ask("warm", 20, 1, 0))
	b.run()
	b.log = nil
	b.receive(ask("a", 21, 9, 0))
	b.step()
	b.step()
	b.step()
	want := []string{
		"Prefill batch. #new-seq: 1, #new-token: 1, #cached-token: 20, token usage: 0.20, #running-req: 0, #queue-req: 0, ",
		`Prefill batch 2 closed: queue-empty, policy: fcfs`,
		"Decode batch, #running-req: 1, #token: 22, token usage: 0.22, cuda graph: False, gen throughput (token/s): 4.00, #queue-req: 0",
	}
	if strings.Join(b.log, "\n") != strings.Join(want, "\n") {
		t.Errorf("lines\n%q\nwant\n%q", b.log, want)
	}
}

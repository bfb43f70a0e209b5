package engine

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// failing is a model whose device is broken.
type failing struct{ model.Model }

func (failing) Forward(*model.Batch) (model.Output, error) {
	return model.Output{}, errors.New("device lost")
}

func score(rid, text string, labels ...int64) *request.TokenizedGenerateReqInput {
	in := ask(rid, text, 0)
	in.Stream, in.ReturnLogprob, in.TokenIDsLogprob = false, true, labels
	return in
}

// A score has the log-probabilities of its labels, in their order, in one row
// without an output id; beside generations in one batch, with and without
// log-probabilities: output path bug sglang#25414.
func TestScoreBesideGenerate(t *testing.T) {
	s := start(t, nil)
	with := ask("with", "with logprobs", 4)
	with.ReturnLogprob, with.TopLogprobsNum, with.LogprobStartLen = true, 3, 9
	scored := score("score", "How many?", 'b', 'a', 'b')
	s.send(batchOf([]*request.TokenizedGenerateReqInput{ask("plain", "without", 4), scored, with}))
	s.wait("plain", "score", "with")
	_, steps := alone(t, s.a, scored)
	got := s.got["score"]
	if len(got.ids) != 0 || got.rows != 1 || get(got.finish, "type") != "length" || get(got.finish, "length") != int64(0) {
		t.Errorf("the score has %d rows, ids %v, finished_reason %v", got.rows, got.ids, got.finish)
	}
	if len(got.out.idsIdx) != 1 || !slices.Equal(got.out.idsIdx[0], []int64{'b', 'a', 'b'}) || len(got.out.val) != 1 {
		t.Fatalf("labels %v at %d positions", got.out.idsIdx, len(got.out.val))
	}
	for i, want := range steps[0].Step.IDs {
		if v := got.out.idsVals[0][i]; v != want.Val || v >= 0 {
			t.Errorf("label %d: %v, want %v", i, v, want.Val)
		}
	}
	if plain := s.got["plain"]; len(plain.out.val) != 0 || len(plain.out.idsIdx) != 0 || len(plain.ids) != 4 {
		t.Errorf("a request that asked for none has log-probabilities: %+v", plain.out)
	}
	s.checkLogprobs(with)
}

// checkLogprobs looks at the columns of a request with the top 3 from position 9 on.
func (s *server) checkLogprobs(in *request.TokenizedGenerateReqInput) {
	s.t.Helper()
	got := s.got[in.RID]
	_, steps := alone(s.t, s.a, in)
	if !slices.Equal(got.out.idx, got.ids) || len(got.out.topIdx) != len(got.ids) || len(got.out.idsIdx) != 0 {
		s.t.Errorf("output logprobs of %v, tops at %d, for ids %v", got.out.idx, len(got.out.topIdx), got.ids)
	}
	for i, p := range got.out.val {
		if p.V != steps[i].Step.Token.Val {
			s.t.Errorf("output logprob %d is %v, want %v", i, p.V, steps[i].Step.Token.Val)
		}
		for k, want := range steps[i].Step.Top {
			if got.out.topIdx[i][k] != want.ID || got.out.topVals[i][k] != want.Val {
				s.t.Errorf("top %d at %d is %d, %v, want %+v", k, i, got.out.topIdx[i][k], got.out.topVals[i][k], want)
			}
		}
	}
	if want := in.InputIDs[in.LogprobStartLen:]; !slices.Equal(got.in.idx, want) || len(got.in.topIdx) != len(want) {
		s.t.Errorf("input logprobs of %v, want of %v", got.in.idx, want)
	}
	if got.in.nullTops != 1 || got.out.nullTops != 0 {
		s.t.Errorf("null for the top at %d input and %d output positions, want at the first input alone", got.in.nullTops, got.out.nullTops)
	}
	for i, p := range got.in.val {
		if p.OK != (i > 0) || i > 0 && (len(got.in.topIdx[i]) != 3 || p.V >= 0 || math.IsInf(p.V, 0)) {
			s.t.Errorf("input logprob %d is %+v, top %v", i, p, got.in.topIdx[i])
		}
	}
}

// Rows of requests that ask for nothing have no column of log-probabilities.
func TestNoLogprobColumns(t *testing.T) {
	s := start(t, nil)
	s.send(ask("a", "x", 1))
	if b := s.next(); b.OutputTokenLogprobsVal != nil || b.InputTokenLogprobsVal != nil || b.OutputTopLogprobsVal != nil || b.InputTokenIDsLogprobsIdx != nil {
		t.Errorf("columns %v", b)
	}
}

// No byte of a matched stop string is in the text, whatever the tokens, and the
// finished_reason names it: output path bugs sglang#11446, vllm#3574.
func TestStopString(t *testing.T) {
	s := start(t, nil)
	s.send(ask("whole", "Tell me", 120))
	s.wait("whole")
	whole := string(s.got["whole"].text)
	var stop string
	for i := len(whole) / 2; stop == "" && i+3 < len(whole); i++ {
		if text := whole[i : i+3]; strings.ToValidUTF8(text, "") == text && !strings.Contains(text, "�") {
			stop = text
		}
	}
	if stop == "" {
		t.Fatalf("no stop string in %q", whole)
	}
	for _, keep := range []bool{false, true} {
		in := ask("stopped", "Tell me", 120)
		in.SamplingParams.Stop, in.SamplingParams.NoStopTrim = []string{"never", stop}, keep
		delete(s.got, "stopped")
		s.send(in)
		s.wait("stopped")
		want := whole[:strings.Index(whole, stop)]
		if keep {
			want += stop
		}
		got := s.got["stopped"]
		if string(got.text) != want || get(got.finish, "type") != "stop" || get(got.finish, "matched") != stop {
			t.Errorf("stop %q, kept %t: text %q, finished_reason %v, want %q", stop, keep, got.text, got.finish, want)
		}
	}
	in := ask("token", "Tell me", 120)
	in.SamplingParams.StopTokenIDs = []int64{s.got["whole"].ids[7]}
	s.send(in)
	s.wait("token")
	if f := s.got["token"].finish; get(f, "type") != "stop" || get(f, "matched") != s.got["whole"].ids[7] {
		t.Errorf("finished_reason %v, want the token", f)
	}
}

func TestFlush(t *testing.T) {
	s := start(t, nil)
	flush := func(rid string, seconds float64) *request.FlushCacheReqInput {
		return &request.FlushCacheReqInput{RID: rid, HTTPWorkerIPC: "ipc:///w0", TimeoutS: seconds}
	}
	s.send(ask("a", "Hello world", 5))
	s.wait("a")
	s.send(flush("f1", 0))
	if got := answer[*request.FlushCacheReqOutput](s); got.RID != "f1" || got.HTTPWorkerIPC != "ipc:///w0" || !got.Success {
		t.Errorf("idle: %+v", got)
	}
	s.send(ask("b", "Hello world", 5))
	s.wait("b")
	if n := s.got["b"].cached; n != 0 {
		t.Errorf("%d cached tokens behind a flush", n)
	}
	s.send(ask("long", "x", 200), flush("f2", 0), flush("f3", 1e-9), flush("f4", 3600))
	for _, rid := range []string{"f2", "f3"} {
		if got := answer[*request.FlushCacheReqOutput](s); got.RID != rid || got.Success || !strings.Contains(got.Message, "requests run") {
			t.Errorf("%s while a request runs: %+v", rid, got)
		}
	}
	s.wait("long")
	if got := answer[*request.FlushCacheReqOutput](s); got.RID != "f4" || !got.Success {
		t.Errorf("once it is idle: %+v", got)
	}
}

func TestCounters(t *testing.T) {
	s := start(t, nil)
	s.send(ask("a", strings.Repeat("a", 40), 5))
	s.wait("a")
	s.send(ask("b", strings.Repeat("a", 40), 5), ask("refused", "x", -1))
	s.wait("b", "refused")
	v := s.counts()
	for name, want := range map[string]uint64{
		"scheduler_num_requests_total": 3, "scheduler_prompt_tokens_total": 80, "scheduler_cached_tokens_total": 39, "scheduler_generation_tokens_total": 10,
		"scheduler_num_aborted_requests_total": 1, "prefill_batches_total": 2, "decode_batches_total": 8, "rows_built": 11, "queue_time_seconds": 2,
		"malformed_messages": 0, "model_errors": 0,
	} {
		if got := v[name].Count; got != want {
			t.Errorf("%s %d, want %d", name, got, want)
		}
	}
	for name, want := range map[string]float64{"max_total_num_tokens": 20000, "num_queue_reqs": 0, "num_running_reqs": 0, "num_used_tokens": 0, "token_usage": 0, "cache_hit_rate": 39.0 / 80} {
		if got := v[name].Gauge; got != want {
			t.Errorf("%s %g, want %g", name, got, want)
		}
	}
}

func TestStateAndAdmissions(t *testing.T) {
	s := start(t, func(a *args.Args) { a.ChunkedPrefillSize = 16 })
	s.send(ask("a", strings.Repeat("a", 40), 2), ask("b", "b", 2))
	s.wait("a", "b")
	s.send(&request.GetAdmissionsReq{RID: "q", HTTPWorkerIPC: "ipc:///w3", RIDs: []string{"b", "unknown", "a"}})
	reply := answer[*request.GetAdmissionsReqOutput](s)
	var got struct {
		Records []scheduler.Record       `json:"records"`
		Batches []scheduler.PrefillBatch `json:"prefill_batches"`
	}
	if err := json.Unmarshal(reply.Admissions, &got); err != nil || reply.RID != "q" || reply.HTTPWorkerIPC != "ipc:///w3" {
		t.Fatalf("%v, reply %+v", err, reply)
	}
	if len(got.Records) != 2 || got.Records[0].RID != "b" || got.Records[1].RID != "a" || len(got.Records[1].Admissions) != 3 {
		t.Errorf("records %+v", got.Records)
	}
	if len(got.Batches) < 3 || !slices.Contains(got.Batches[0].RIDs, "a") || got.Batches[0].Close != scheduler.CloseChunkedPrefillSize {
		t.Errorf("batches %+v", got.Batches)
	}
	s.send(&request.GetInternalStateReq{RID: "q2", HTTPWorkerIPC: "ipc:///w0"})
	var state map[string]any
	if err := json.Unmarshal(answer[*request.GetInternalStateReqOutput](s).InternalState, &state); err != nil {
		t.Fatal(err)
	}
	limits, _ := state["limits"].(map[string]any)
	if state["max_total_num_tokens"] != 20000.0 || limits["vocab_size"] != 259.0 || limits["max_req_input_len"] != 8190.0 || len(state["last_prefill_batches"].([]any)) != len(got.Batches) {
		t.Errorf("state %v", state)
	}
	s.send(&request.GetAdmissionsReq{RID: "q3", HTTPWorkerIPC: "ipc:///w0", RIDs: nil})
	if data := string(answer[*request.GetAdmissionsReqOutput](s).Admissions); data != `{"prefill_batches":[],"records":[]}` {
		t.Errorf("of no rids: %s", data)
	}
}

// Every kind of finished_reason in SGLang's form, key by key.
func TestFinishedReasons(t *testing.T) {
	for _, c := range []struct {
		in   scheduler.FinishReason
		want wire.Map
	}{
		{scheduler.FinishReason{Type: "stop", Matched: 7}, wire.Map{{Key: "type", Value: "stop"}, {Key: "matched", Value: int64(7)}}},
		{scheduler.FinishReason{Type: "stop", MatchedText: "x"}, wire.Map{{Key: "type", Value: "stop"}, {Key: "matched", Value: "x"}}},
		{scheduler.FinishReason{Type: "length", Length: 3}, wire.Map{{Key: "type", Value: "length"}, {Key: "length", Value: int64(3)}}},
		{scheduler.FinishReason{Type: "abort", Message: "m"}, wire.Map{{Key: "type", Value: "abort"}, {Key: "message", Value: "m"}, {Key: "status_code", Value: nil}, {Key: "err_type", Value: nil}}},
		{scheduler.FinishReason{Type: "abort", Message: "m", StatusCode: 400, ErrType: "E"}, wire.Map{{Key: "type", Value: "abort"}, {Key: "message", Value: "m"}, {Key: "status_code", Value: int64(400)}, {Key: "err_type", Value: "E"}}},
	} {
		if got := reasonOut(&c.in); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.in, got, c.want)
		}
	}
	if got := reasonOut(nil); got != nil {
		t.Errorf("not finished: %v, want null", got)
	}
}

package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

func get(m wire.Map, key string) wire.Value {
	v, _ := m.Get(key)
	return v
}

// wantAbort looks that the request ended with this status, and a message.
func (s *server) wantAbort(rid string, status int64, message string) {
	s.t.Helper()
	s.wait(rid)
	f := s.got[rid].finish
	text, _ := get(f, "message").(string)
	if get(f, "type") != "abort" || get(f, "status_code") != status || !strings.Contains(text, message) {
		s.t.Errorf("rid %s: finished_reason %v, want an abort with %d and %q", rid, f, status, message)
	}
}

// A client leaves: its request ends with one more row before anything else is
// computed, running or waiting: output path bugs sglang#36333, sglang PR 6855,
// llama.cpp#24496.
func TestAbortEndsWithinAStep(t *testing.T) {
	s := start(t, func(a *args.Args) { a.MaxRunningRequests = 1 })
	s.send(ask("running", "one", 8000))
	s.until(func() bool { return s.got["running"] != nil })
	s.send(ask("waiting", "two", 8000), &request.AbortReq{RID: "waiting"}, &request.AbortReq{RID: "running"}, &request.GetInternalStateReq{RID: "q", HTTPWorkerIPC: "ipc:///w0"})
	var state struct {
		Running  int            `json:"num_running_reqs"`
		Queue    int            `json:"num_queue_reqs"`
		Used     int            `json:"num_used_tokens"`
		Finished map[string]int `json:"finished"`
	}
	if err := json.Unmarshal(answer[*request.GetInternalStateReqOutput](s).InternalState, &state); err != nil {
		t.Fatal(err)
	}
	if state.Running != 0 || state.Queue != 0 || state.Used != 0 || state.Finished["abort"] != 2 {
		t.Errorf("right behind the aborts the state is %+v, want nothing left", state)
	}
	s.wait("waiting", "running")
	for _, rid := range []string{"waiting", "running"} {
		if f := s.got[rid].finish; get(f, "type") != "abort" || get(f, "status_code") != nil {
			t.Errorf("rid %s: finished_reason %v", rid, f)
		}
	}
	if w := s.got["waiting"]; w.rows != 1 || len(w.ids) != 0 || get(w.times, "has_timing_data") != false {
		t.Errorf("the waiting request was computed: %d rows, %v, %v", w.rows, w.ids, w.times)
	}
	if n := s.counts()["scheduler_num_aborted_requests_total"].Count; n != 2 {
		t.Errorf("%d aborts counted, want 2", n)
	}
	s.send(ask("next", "three", 3))
	s.wait("next") // join says if there are more rows of the others
}

// An abort before its request is remembered: output path bug sglang#36876.
func TestEarlyAbort(t *testing.T) {
	s := start(t, nil)
	s.send(&request.AbortReq{RID: "a", AbortMessage: "left"}, ask("a", "x", 100))
	s.wait("a")
	if got := s.got["a"]; get(got.finish, "message") != "left" || len(got.ids) != 0 {
		t.Errorf("finished_reason %v with %d ids", got.finish, len(got.ids))
	}
}

// A prompt that is too long has its answer at once, though nothing is computed:
// output path bug sglang PR 3951.
func TestTooLongPrompt(t *testing.T) {
	s := start(t, nil)
	s.send(ask("long", strings.Repeat("x", 8191), 1))
	s.wantAbort("long", 400, "input_ids has 8191 ids, expected at most 8190")
	if n := s.counts()["prefill_batches_total"].Count; n != 0 {
		t.Errorf("%d prefill batches, want none", n)
	}
	s.send(ask("fits", "x", 1))
	s.wait("fits")
}

// Parameters that cannot be are refused with the reason, each alone.
func TestBadParameters(t *testing.T) {
	s := start(t, nil)
	for want, change := range map[string]func(*request.TokenizedGenerateReqInput){
		"temperature is NaN":                func(in *request.TokenizedGenerateReqInput) { in.SamplingParams.Temperature = math.NaN() },
		"temperature is -1":                 func(in *request.TokenizedGenerateReqInput) { in.SamplingParams.Temperature = -1 },
		"top_p is 0":                        func(in *request.TokenizedGenerateReqInput) { in.SamplingParams.TopP = 0 },
		"min_new_tokens is 9":               func(in *request.TokenizedGenerateReqInput) { in.SamplingParams.MinNewTokens = 9 },
		"stop_token_ids[0] is 999":          func(in *request.TokenizedGenerateReqInput) { in.SamplingParams.StopTokenIDs = []int64{999} },
		"an id of logit_bias is -4":         func(in *request.TokenizedGenerateReqInput) { in.SamplingParams.LogitBias = map[int64]float64{-4: 1} },
		"input_ids[1] is 259":               func(in *request.TokenizedGenerateReqInput) { in.InputIDs = []int64{1, 259} },
		"input_ids is empty":                func(in *request.TokenizedGenerateReqInput) { in.InputIDs = []int64{} },
		"token_ids_logprob[0] is -1":        func(in *request.TokenizedGenerateReqInput) { in.TokenIDsLogprob = []int64{-1} },
		"top_logprobs_num is 300":           func(in *request.TokenizedGenerateReqInput) { in.TopLogprobsNum = 300 },
		`stop[0] is "", expected`:           func(in *request.TokenizedGenerateReqInput) { in.SamplingParams.Stop = []string{""} },
		"max_new_tokens is -1, expected at": func(in *request.TokenizedGenerateReqInput) { in.SamplingParams.MaxNewTokens = -1 },
	} {
		in := ask("bad: "+want, "x", 3)
		change(in)
		frame, err := request.Encode(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := request.Decode(frame); err != nil {
			continue // the codec refuses it before: TestMalformedFrames
		}
		s.sendFrames(frame)
		s.wantAbort(in.RID, 400, want)
	}
	s.send(ask("good", "x", 3))
	s.wait("good")
}

// The queue is full: 503 to the request's own worker: output path bug sglang#33858.
func TestQueueFull(t *testing.T) {
	s := start(t, func(a *args.Args) { a.MaxQueuedRequests = 2 })
	all := many(5)
	all[4].HTTPWorkerIPC = "ipc:///w1"
	s.send(batchOf(all))
	b := s.next()
	if i := slices.Index(b.RIDs, "r4"); i < 0 || b.HTTPWorkerIPCs[i].V != "ipc:///w1" {
		t.Errorf("first rows of %v to %v, want one of r4 to its worker", b.RIDs, b.HTTPWorkerIPCs)
	}
	s.wantAbort("r4", 503, "max_queued_requests")
	s.wait("r0", "r1")
}

// A rid in flight a second time: the second has a reply, the first is unharmed:
// output path bugs sglang PR 19035, vllm#10583.
func TestDuplicateRID(t *testing.T) {
	s := start(t, nil)
	first, second := ask("a", "first", 20), ask("a", "second", 5)
	second.HTTPWorkerIPC = "ipc:///w1"
	s.send(first, second)
	reply := answer[*request.AbortReq](s)
	if reply.RID != "a" || reply.HTTPWorkerIPC != "ipc:///w1" || reply.FinishedReason == nil || reply.FinishedReason.StatusCode != 400 {
		t.Errorf("the second has the reply %+v, %+v", reply, reply.FinishedReason)
	}
	s.wait("a")
	if want, _ := alone(t, s.a, first); !slices.Equal(s.got["a"].ids, want) {
		t.Error("the first has other tokens than alone")
	}
}

// spoilt are frames that cannot be used, and the rids of the answers to each.
func spoilt(t testing.TB) map[string][]byte {
	encode := func(m request.Message) []byte {
		frame, err := request.Encode(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		return frame
	}
	one, all := encode(ask("told", "x", 3)), encode(batchOf(many(3)))
	short := batchOf(many(3))
	short.RIDs = short.RIDs[:2]
	return map[string][]byte{
		"":                    {},
		"garbage":             []byte("\x00garbage"),
		"another class":       {0x92, 0xa1, 'X', 0x01},
		"rows":                encode(&request.FlushCacheReqOutput{RID: "told", HTTPWorkerIPC: "ipc:///w0"}),
		"cut: told":           one[:len(one)-3],
		"more: told":          append(bytes.Clone(one), 0),
		"short: r0 r1 r2":     encode(short),
		"cut batch: r0 r1 r2": all[:len(all)-3],
		"no rid":              encode(ask("", "x", 3)),
		"an abort of none":    encode(&request.AbortReq{}),
	}
}

// Messages that cannot be used do not end the engine, are counted, and are
// answered where somebody can be told.
func TestMalformedFrames(t *testing.T) {
	s := start(t, nil)
	frames := spoilt(t)
	for name, frame := range frames {
		s.sendFrames(frame)
		_, told, _ := strings.Cut(name, ": ")
		for _, rid := range strings.Fields(told) {
			reply := answer[*request.AbortReq](s)
			if reply.RID != rid || reply.HTTPWorkerIPC != "ipc:///w0" || reply.FinishedReason == nil || reply.FinishedReason.StatusCode != 400 {
				t.Errorf("%s: the reply is %+v, want 400 of rid %q", name, reply, rid)
			}
		}
	}
	s.send(ask("good", "x", 3))
	s.wait("good")
	if len(s.answers) != 0 {
		t.Errorf("an answer too many: %+v", <-s.answers)
	}
	if n := s.counts()["malformed_messages"].Count; n != uint64(len(frames)) {
		t.Errorf("%d malformed messages counted, want %d", n, len(frames))
	}
}

// FuzzHandle: no frame ends the engine.
func FuzzHandle(f *testing.F) {
	for _, frame := range spoilt(f) {
		f.Add(frame)
	}
	for _, m := range []request.Message{ask("a", "x", 3), batchOf(many(2)), &request.AbortReq{RID: "a"}, &request.FlushCacheReqInput{TimeoutS: 1}, &request.GetInternalStateReq{}, &request.GetAdmissionsReq{RIDs: []string{"a"}}} {
		frame, err := request.Encode(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	built := engine{log: silent()}
	built.env.Args = settings()
	built.env.Args.MaxTotalTokens = 256
	var err error
	if built.metrics, err = newMetrics(f.TempDir() + "/c"); err != nil {
		f.Fatal(err)
	}
	if err := built.build(f.Context()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		g := built
		if err := g.newScheduler(256); err != nil {
			t.Fatal(err)
		}
		g.handle(frame)
		out := g.scheduler.Take()
		if out.Rows != nil {
			if _, err := encodeRows(nil, out.Rows); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range g.replies {
			if _, err := request.Encode(nil, r); err != nil {
				t.Fatalf("reply %+v: %v", r, err)
			}
		}
		if n := len(g.flushes); n > 0 && g.scheduler.Idle() {
			t.Fatalf("%d flushes wait for an idle scheduler", n)
		}
	})
}

// A model that fails ends its batch's requests with 500, and not the engine.
func TestModelFails(t *testing.T) {
	g := &engine{log: silent()}
	g.env.Args = settings()
	var err error
	if g.metrics, err = newMetrics(t.TempDir() + "/c"); err != nil {
		t.Fatal(err)
	}
	if err := g.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	working := g.model
	g.model = failing{working}
	for i, status := range []int{500, 0} {
		in := toScheduler(ask(fmt.Sprintf("r%d", i), "x", 1))
		if err := g.scheduler.Receive(0, &in); err != nil {
			t.Fatal(err)
		}
		if err := g.compute(t.Context(), g.scheduler.Schedule(1)); err != nil {
			t.Fatal(err)
		}
		if f := g.scheduler.Take().Rows.FinishedReasons[0]; f.StatusCode != status || (status == 500) != (f.Type == scheduler.FinishAbort) {
			t.Errorf("finished %+v, want status %d", f, status)
		}
		g.model = working
	}
	if n := g.metrics.modelErrors.Value(); n != 1 {
		t.Errorf("%d model errors counted, want 1", n)
	}
}

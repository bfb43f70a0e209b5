package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

func TestOneRequest(t *testing.T) {
	s := start(t, nil)
	in := ask("a", "Hello", 9)
	s.send(in)
	first := s.next()
	if ids := first.DecodeIDs[0].V.Values; len(ids) != 6 || string(rune(ids[0])) != "H" || first.ReadOffsets[0].V != 5 {
		t.Errorf("the first row decodes %v from %d on, want the prompt's five and one", ids, first.ReadOffsets[0].V)
	}
	if ipc := first.HTTPWorkerIPCs[0]; ipc.V != "ipc:///w0" {
		t.Errorf("the row goes to %+v", ipc)
	}
	s.wait("a")
	want, _ := alone(t, s.a, in)
	got := s.got["a"]
	if !slices.Equal(got.ids, want) || got.rows != 9 || got.prompt != 5 {
		t.Errorf("%d rows, %v behind %d tokens, want 9, %v behind 5", got.rows, got.ids, got.prompt, want)
	}
	if len(got.finish) != 2 || got.finish[0] != (wire.Pair{Key: "type", Value: "length"}) || got.finish[1] != (wire.Pair{Key: "length", Value: int64(9)}) {
		t.Errorf("finished_reason %v", got.finish)
	}
	var at []float64
	for i, key := range []string{"has_timing_data", "wait_queue_entry_time", "forward_entry_time", "prefill_finished_time", "queue_duration_s"} {
		if got.times[i].Key != key {
			t.Fatalf("time_stats %v, want %s at %d", got.times, key, i)
		}
		if v, ok := got.times[i].Value.(float64); ok {
			at = append(at, v)
		}
	}
	if !slices.IsSorted(at[:3]) || at[0] <= 0 || at[3] != at[1]-at[0] {
		t.Errorf("times %v", got.times)
	}
	for _, line := range []string{
		"Prefill batch. #new-seq: 1, #new-token: 5, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0, ",
		"Prefill batch 1 closed: queue-empty, policy: fcfs",
	} {
		if !strings.Contains(s.log.String(), line) {
			t.Errorf("no line %q in\n%s", line, s.log)
		}
	}
	if v := s.counts(); v["rows_built"].Count != 9 {
		t.Errorf("rows_built %d, want 9", v["rows_built"].Count)
	}
}

func TestDecodeLogLine(t *testing.T) {
	s := start(t, func(a *args.Args) { a.DecodeLogInterval = 3 })
	s.send(ask("a", "Hello", 9))
	s.wait("a")
	if !strings.Contains(s.log.String(), "Decode batch, #running-req: 1, #token: 7, token usage: 0.00, cuda graph: False, gen throughput (token/s): ") {
		t.Errorf("no line about decodes in\n%s", s.log)
	}
}

// Whatever the order of arrival, the limits and the cache: each request's greedy
// tokens are those it has alone, and its text is that of its tokens.
func TestSameTokensWhateverTheBatch(t *testing.T) {
	all := many(14)
	want := map[string][]int64{}
	for _, in := range all {
		want[in.RID], _ = alone(t, settings(), in)
	}
	for name, change := range map[string]func(*args.Args){
		"usual":          nil,
		"one at a time":  func(a *args.Args) { a.MaxRunningRequests = 1 },
		"chunks of 7":    func(a *args.Args) { a.ChunkedPrefillSize = 7 },
		"mixed chunks":   func(a *args.Args) { a.ChunkedPrefillSize, a.EnableMixedChunk = 16, true },
		"no cache":       func(a *args.Args) { a.DisableRadixCache = true },
		"pages, lpm":     func(a *args.Args) { a.PageSize, a.SchedulePolicy, a.ChunkedPrefillSize = 4, "lpm", -1 },
		"small prefills": func(a *args.Args) { a.MaxPrefillTokens = 16 },
		"little memory":  func(a *args.Args) { a.MaxTotalTokens = 120 },
		"zmq4":           func(a *args.Args) { a.ZMQ = "zmq4" },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, change)
			r := rand.New(rand.NewPCG(uint64(len(name)), 1))
			order := slices.Clone(all)
			r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for sent := 0; sent < len(order); {
				n := min(1+r.IntN(4), len(order)-sent)
				if n == 1 {
					s.send(order[sent])
				} else {
					s.send(batchOf(order[sent : sent+n]))
				}
				sent += n
				for range r.IntN(3) {
					s.next()
				}
			}
			s.wait(rids(all)...)
			for rid, tokens := range want {
				if got := s.got[rid]; !slices.Equal(got.ids, tokens) {
					t.Errorf("rid %s: tokens %v, want %v", rid, got.ids, tokens)
				}
				s.checkText(rid)
			}
		})
	}
}

// checkText looks that the joined text is that of the ids decoded at once.
func (s *server) checkText(rid string) {
	s.t.Helper()
	tokens, err := backend.NewTokenizer(s.a)
	if err != nil {
		s.t.Fatal(err)
	}
	got := s.got[rid]
	if want := tokens.AppendDecode(nil, got.ids, true, true); string(got.text) != string(want) {
		s.t.Errorf("rid %s: text %q, want %q", rid, got.text, want)
	}
}

// A cache that is too small for all that run: requests are put back and go on,
// no row comes twice and none is lost.
func TestRetractionKeepsText(t *testing.T) {
	// A prefill batch has one request, so each is admitted with a part of the
	// others' tokens to come reserved: five of 105 into 440.
	const line = 100 // decodes until the only line about them, behind the retraction
	s := start(t, func(a *args.Args) { a.MaxTotalTokens, a.MaxPrefillTokens, a.DecodeLogInterval = 440, 6, line })
	var all []*request.TokenizedGenerateReqInput
	for i := range 5 {
		all = append(all, ask(fmt.Sprintf("r%d", i), fmt.Sprintf("%dabcd", i), 100))
	}
	s.send(batchOf(all))
	s.wait(rids(all)...)
	retracted := int64(0)
	for _, in := range all {
		want, _ := alone(t, s.a, in)
		if got := s.got[in.RID]; !slices.Equal(got.ids, want) || got.rows != 100 {
			t.Errorf("rid %s: %d rows, tokens %v, want %v", in.RID, got.rows, got.ids, want)
		}
		s.checkText(in.RID)
		retracted += s.got[in.RID].retractions
	}
	if retracted == 0 || s.counts()["num_retracted_requests_total"].Count != uint64(retracted) {
		t.Errorf("%d retractions in rows, %d counted, want some and the same", retracted, s.counts()["num_retracted_requests_total"].Count)
	}
	if v := s.counts(); v["num_retracted_reqs"].Gauge != float64(retracted) {
		t.Errorf("%g retractions before the line, want %d; %d decodes", v["num_retracted_reqs"].Gauge, retracted, v["decode_batches_total"].Count)
	}
}

// The same seed gives the same text, alone or in any batch; another one another.
func TestSeedWhateverTheBatch(t *testing.T) {
	seeded := func(rid string, seed int64) *request.TokenizedGenerateReqInput {
		in := ask(rid, "Once upon a time", 30)
		in.SamplingParams.Temperature, in.SamplingParams.TopP, in.SamplingParams.SamplingSeed = 1.2, 0.9, &seed
		return in
	}
	s := start(t, nil)
	s.send(seeded("alone", 5))
	s.wait("alone")
	others := many(9)
	s.send(batchOf(append(others, seeded("same", 5), seeded("other", 6))))
	s.wait(append(rids(others), "same", "other")...)
	if a, b, c := s.got["alone"].ids, s.got["same"].ids, s.got["other"].ids; !slices.Equal(a, b) || slices.Equal(a, c) {
		t.Errorf("tokens alone %v, in a batch %v, of another seed %v", a, b, c)
	}
	want, _ := alone(t, s.a, seeded("twin", 5))
	if !slices.Equal(s.got["alone"].ids, want) {
		t.Errorf("tokens %v, want %v", s.got["alone"].ids, want)
	}
}

// One message is one prefill batch; single ones are in the batches in which they
// arrived: output path bug, sglang seed 001.
func TestBatchMessageIsOnePrefillBatch(t *testing.T) {
	s := start(t, nil)
	var all []*request.TokenizedGenerateReqInput
	for i := range 50 {
		all = append(all, ask(fmt.Sprintf("r%d", i), fmt.Sprintf("%02d and the rest", i), 1))
	}
	s.send(batchOf(all))
	s.wait(rids(all)...)
	if !strings.Contains(s.log.String(), "#new-seq: 50,") {
		t.Errorf("no batch of 50 in\n%s", s.log)
	}
	for i := range 3 {
		in := ask(fmt.Sprintf("single%d", i), fmt.Sprintf("%d", i), 1)
		s.send(in)
		s.wait(in.RID)
	}
	if n := strings.Count(s.log.String(), "#new-seq: 1,"); n != 3 {
		t.Errorf("%d batches of one, want 3 in\n%s", n, s.log)
	}
}

// What arrives while the engine waits for the detokenizer side is not lost, and
// whoever dials it meanwhile is let in. All that has arrived is taken in one pass.
func TestServesWhatCameWhileItDialled(t *testing.T) {
	s := prepare(t, func(a *args.Args) { a.DetokenizerWorkerNum = 2 })
	open := s.begin()
	s.dial()
	for i := range 20 {
		s.send(ask(fmt.Sprintf("a%d", i), "x", 2), &request.GetInternalStateReq{RID: fmt.Sprintf("q%d", i), HTTPWorkerIPC: "ipc:///w0"})
	}
	open()
	for i := range 20 {
		s.wait(fmt.Sprintf("a%d", i))
		if got := answer[*request.GetInternalStateReqOutput](s); got.RID != fmt.Sprintf("q%d", i) {
			t.Errorf("answer %d is to %s", i, got.RID)
		}
	}
	if !strings.Contains(s.log.String(), "#new-seq: 20,") {
		t.Errorf("no batch of all 20 in\n%s", s.log)
	}
	select {
	case <-s.ready:
	default:
		t.Error("rows came before Ready was called")
	}
}

// Run ends with nil, also in the middle of a step, and takes its socket along.
func TestEndsWithItsContext(t *testing.T) {
	s := start(t, func(a *args.Args) { a.Device, a.SimStepBase = backend.Sim, 3600 })
	s.send(ask("a", "x", 2))
	s.untilTrue(func() bool { return strings.Contains(s.log.String(), "Prefill batch") })
	s.stop()
	if _, err := os.Stat(strings.TrimPrefix(part.Endpoint(s.folder, part.Scheduler), "ipc://")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket's file: %v, want none", err)
	}
}

// All that has arrived is taken in one pass.
func TestReceivesAllThatHasArrived(t *testing.T) {
	s := prepare(t, nil)
	g := &engine{log: silent()}
	g.env.Args = s.a
	var err error
	if g.metrics, err = newMetrics(s.folder+"/c", 64); err != nil {
		t.Fatal(err)
	}
	if err := g.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g.requests, err = transport.Bind(s.a.ZMQ, part.Endpoint(s.folder, part.Scheduler), transport.Options{}); err != nil {
		t.Fatal(err)
	}
	dialled := make(chan bool)
	go func() {
		s.dial()
		for _, in := range many(30) {
			s.send(in)
		}
		close(dialled)
	}()
	for open := true; open; { // the socket is driven until it is dialled, and not received from after
		if err := g.receive(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		open = g.scheduler.Stats().Waiting == 0
	}
	<-dialled
	if err := g.receive(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if n := g.scheduler.Stats().Waiting; n != 30 {
		t.Errorf("%d requests wait, want all 30", n)
	}
	if err := errors.Join(s.push.Close(), g.close()); err != nil {
		t.Error(err)
	}
}

// A refusal does not wait for the step that it came with.
func TestRefusalGoesOutBeforeTheStep(t *testing.T) {
	s := start(t, func(a *args.Args) { a.Device, a.SimStepBase = backend.Sim, 3600 })
	bad := ask("bad", "x", -1)
	s.send(batchOf([]*request.TokenizedGenerateReqInput{ask("good", "x", 1), bad}))
	s.wantAbort("bad", 400, "max_new_tokens is -1")
}

// untilTrue waits for a condition that no row tells of.
func (s *server) untilTrue(done func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal("it did not come to be")
		}
	}
}

// What keeps it from serving is an error of Run.
func TestErrorsAtTheStart(t *testing.T) {
	s := prepare(t, nil)
	taken, err := transport.Bind(s.a.ZMQ, part.Endpoint(s.folder, part.Scheduler), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }() // its end is not this test's matter
	run := func(change func(*args.Args)) error {
		e := part.Env{ID: part.ID{Kind: part.Scheduler}, Args: s.a, Folder: s.folder, Log: silent(), Ready: func() { t.Error("ready") }}
		change(&e.Args)
		return Run(t.Context(), e)
	}
	if err := run(func(*args.Args) {}); !errors.Is(err, transport.ErrLive) {
		t.Errorf("a second engine: %v, want ErrLive", err)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*args.Args){
		"max_running_requests is 0": func(a *args.Args) { a.MaxRunningRequests = 0 },
		`device is "auto"`:          func(a *args.Args) { a.Device = backend.Auto },
		"nobody accepted within":    func(a *args.Args) { a.StartTimeout = 0.05 },
	} {
		if err := os.RemoveAll(part.CountersPath(s.folder, part.ID{Kind: part.Scheduler})); err != nil {
			t.Fatal(err)
		}
		if err := run(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestSimulatedDevice(t *testing.T) {
	s := start(t, func(a *args.Args) {
		a.Device, a.MaxTotalTokens, a.SimStepBase, a.SimMultiByte, a.SimEmpty, a.SimSpecial = backend.Sim, 0, 0.0001, 0.3, 0.1, 0.1
	})
	all := many(20)
	s.send(batchOf(all))
	s.wait(rids(all)...)
	for _, in := range all {
		if n := len(s.got[in.RID].ids); n != in.SamplingParams.MaxNewTokens {
			t.Errorf("rid %s: %d tokens, want %d", in.RID, n, in.SamplingParams.MaxNewTokens)
		}
		s.checkText(in.RID)
	}
	s.stop()
	v := s.counts()
	if v["sim_steps_total"].Count == 0 || v["sim_seconds"].Gauge <= 0 || v["max_total_num_tokens"].Gauge != 1<<20 {
		t.Errorf("sim counters %+v, %+v, %+v", v["sim_steps_total"], v["sim_seconds"], v["max_total_num_tokens"])
	}
}

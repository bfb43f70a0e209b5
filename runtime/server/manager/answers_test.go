package manager

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// scheduler answers questions.
func (k *kit) scheduler() {
	k.router.reply = func(m request.Message) {
		switch m := m.(type) {
		case *request.FlushCacheReqInput:
			go k.answers(&request.FlushCacheReqOutput{RID: m.RID, HTTPWorkerIPC: m.HTTPWorkerIPC, Success: m.TimeoutS > 0, Message: "because"})
		case *request.GetInternalStateReq:
			go k.answers(&request.GetInternalStateReqOutput{RID: m.RID, HTTPWorkerIPC: m.HTTPWorkerIPC, InternalState: []byte(`{"a":1}`)})
		case *request.GetAdmissionsReq:
			go k.answers(&request.GetAdmissionsReqOutput{RID: m.RID, HTTPWorkerIPC: m.HTTPWorkerIPC, Admissions: []byte(`["` + strings.Join(m.RIDs, " ") + `"]`)})
		case *request.TokenizerWorkerRegistrationReq:
			go k.answers(m)
		}
	}
}

func TestQuestionsAreAnswered(t *testing.T) {
	k := start(t, nil)
	k.scheduler()
	ctx := context.Background()
	if ok, message, err := k.FlushCache(ctx, time.Second); !ok || message != "because" || err != nil {
		t.Errorf("FlushCache: %v, %q, %v", ok, message, err)
	}
	if ok, message, err := k.FlushCache(ctx, 0); ok || message != "because" || err != nil {
		t.Errorf("FlushCache: %v, %q, %v", ok, message, err)
	}
	if _, _, err := k.FlushCache(ctx, -1); status(err) != 400 {
		t.Errorf("FlushCache: %v", err)
	}
	if state, err := k.InternalState(ctx); string(state) != `{"a":1}` || err != nil {
		t.Errorf("InternalState: %s, %v", state, err)
	}
	if records, err := k.Admissions(ctx, []string{"r", "s"}); string(records) != `["r s"]` || err != nil {
		t.Errorf("Admissions: %s, %v", records, err)
	}
	if err := k.Register(ctx); err != nil {
		t.Errorf("Register: %v", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.Manager.answers) != 0 {
		t.Errorf("%d questions are left", len(k.Manager.answers))
	}
}

func TestALateAnswerIsIgnored(t *testing.T) {
	k := start(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	k.router.reply = func(request.Message) { cancel() }
	if _, err := k.InternalState(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	q := k.router.sent()[0].(*request.GetInternalStateReq)
	k.answers(&request.GetInternalStateReqOutput{RID: q.RID, InternalState: []byte("{}")})
	k.answers(&request.GetInternalStateReqOutput{RID: q.RID, InternalState: []byte("{}")})
}

func TestAQuestionHasABound(t *testing.T) {
	k := start(t, func(c *Config) { c.AnswerTimeout = time.Nanosecond })
	if _, err := k.InternalState(context.Background()); status(err) != 503 || !strings.Contains(err.Error(), "did not answer a GetInternalStateReq") {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerOfAnotherClassIsAnError(t *testing.T) {
	k := start(t, nil)
	k.router.reply = func(m request.Message) {
		go k.answers(&request.FlushCacheReqOutput{RID: m.(*request.GetInternalStateReq).RID})
	}
	if _, err := k.InternalState(context.Background()); err == nil || !strings.Contains(err.Error(), "answered with a FlushCacheReqOutput") {
		t.Errorf("got %v", err)
	}
}

func TestAbortGoesToTheScheduler(t *testing.T) {
	k := start(t, nil)
	if err := k.Abort(context.Background(), "", false, ""); status(err) != 400 {
		t.Errorf("an empty rid: %v", err)
	}
	if err := k.Abort(context.Background(), "another worker's", false, "why"); err != nil {
		t.Error(err)
	}
	if err := k.Abort(context.Background(), "", true, "all"); err != nil {
		t.Error(err)
	}
	want := []request.AbortReq{{RID: "another worker's", HTTPWorkerIPC: ipc, AbortMessage: "why"}, {HTTPWorkerIPC: ipc, AbortAll: true, AbortMessage: "all"}}
	for i, m := range k.router.sent() {
		if *m.(*request.AbortReq) != want[i] {
			t.Errorf("got %+v, want %+v", m, want[i])
		}
	}
	if len(k.router.sent()) != 2 {
		t.Errorf("sent %d messages, want 2", len(k.router.sent()))
	}
}

func TestAnotherWorkersAcknowledgementIsAnError(t *testing.T) {
	k := start(t, nil)
	frame, err := request.Encode(nil, &request.TokenizerWorkerRegistrationReq{WorkerIPCName: "ipc:///other"})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Receive(frame); err == nil || !strings.Contains(err.Error(), "ipc:///other") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := k.Register(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Register: %v", err)
	}
}

// pull gives frames, then an error.
type pull struct {
	frames [][]byte
	err    error
	asked  func() // called by Recv, if any
}

func (p *pull) Recv(ctx context.Context) ([]byte, error) {
	if p.asked != nil {
		p.asked()
	}
	if len(p.frames) == 0 {
		if p.err != nil {
			return nil, p.err
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	f := p.frames[0]
	p.frames = p.frames[1:]
	return f, nil
}

func TestRunEndsTheServiceHoweverItEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		more [][]byte
		err  error
		want string
	}{
		{"a broken socket", nil, io.ErrUnexpectedEOF, io.ErrUnexpectedEOF.Error()},
		{"a malformed frame", [][]byte{{0xc1}}, nil, "wire:"},
		{"a request", [][]byte{mustEncode(t, &request.GetInternalStateReq{RID: "r"})}, nil, "got a GetInternalStateReq, expected rows or an answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := start(t, nil)
			call := k.submit(1, item("r", "x"))
			p := &pull{frames: append([][]byte{encode(t, batch(t, at0("r", "hi")))}, c.more...), err: c.err}
			if err := k.Run(context.Background(), p); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if u := next(t, call); u.Text != "hi" || u.Finish == nil || u.Finish.StatusCode != 503 {
				t.Errorf("got %+v", u)
			}
			if k.Err() == nil {
				t.Error("the service goes on")
			}
		})
	}
}

func TestBeats(t *testing.T) {
	var k *kit
	state := func(name string) counters.State {
		all, err := counters.Read(k.path)
		if err != nil {
			t.Fatal(err)
		}
		return all[name].State
	}
	looked := 0
	k = start(t, nil)
	k.router.reply = func(request.Message) {
		if looked++; state("sending") != counters.Busy {
			t.Errorf("a send is %s", state("sending"))
		}
	}
	k.submit(1, item("r", "x"))
	if state("sending") != counters.Idle {
		t.Errorf("after the send it is %s", state("sending"))
	}
	k.config.Now = func() time.Time {
		if looked++; k.Err() == nil && state("receiving") != counters.Busy {
			t.Errorf("with a frame the loop is %s", state("receiving"))
		}
		return time.Unix(0, 0)
	}
	p := &pull{frames: [][]byte{encode(t, batch(t, at0("r", "hi")))}, err: io.EOF, asked: func() {
		if looked++; state("receiving") != counters.Idle {
			t.Errorf("without a frame the loop is %s", state("receiving"))
		}
	}}
	if err := k.Run(context.Background(), p); !errors.Is(err, io.EOF) || looked < 4 {
		t.Errorf("%v, looked %d times", err, looked)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	k := start(t, nil)
	call := k.submit(1, item("r", "x"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := k.Run(ctx, &pull{}); err != nil {
		t.Errorf("got %v", err)
	}
	if u := next(t, call); u.Finish == nil || u.Finish.StatusCode != 503 {
		t.Errorf("got %+v", u)
	}
}

func mustEncode(t testing.TB, m request.Message) []byte {
	t.Helper()
	frame, err := request.Encode(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

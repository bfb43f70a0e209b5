package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/detok"
	"github.com/fanoutbench/fanoutbench/runtime/server/engine"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/server/parttest"
	"github.com/fanoutbench/fanoutbench/runtime/server/relay"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// bench is a worker under test, with the means of a supervisor.
type bench struct {
	t       *testing.T
	url     string
	listens net.Listener
	end     context.CancelCauseFunc
	ending  func()
	ready   chan struct{}
	drained chan struct{}
	ended   chan error
}

func settings(t *testing.T) part.Env {
	t.Helper()
	a := args.Default()
	a.Device, a.SimStepBase, a.SimStepPerToken, a.SimStepPerContext = "sim", 0.001, 0, 0
	return part.Env{ID: part.ID{Kind: part.Worker}, Args: a.Complete(), Folder: parttest.Folder(t)}
}

// start runs a worker in the server of e, which serves when the worker is ready.
func start(t *testing.T, e part.Env) *bench {
	t.Helper()
	return startIn(t, e, func() {
		if err := part.Reach(e.Folder, part.Serving); err != nil {
			t.Error(err)
		}
	})
}

// startIn runs a worker in the server of e, and calls ready when it is.
func startIn(t *testing.T, e part.Env, ready func()) *bench {
	t.Helper()
	small := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return smallBuffers(c) }}
	l, err := small.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{
		t: t, url: "http://" + l.Addr().String(), listens: l,
		ready: make(chan struct{}), drained: make(chan struct{}), ended: make(chan error, 1),
	}
	ending := make(chan struct{})
	b.ending = sync.OnceFunc(func() { close(ending) })
	e.Listener, e.Ending = l, ending
	e.Log = slog.New(slog.NewTextHandler(&parttest.Journal{}, nil))
	e.Ready, e.Drained = func() { ready(); close(b.ready) }, func() { close(b.drained) }
	ctx, cancel := context.WithCancelCause(context.Background())
	b.end = cancel
	go func() { b.ended <- Run(ctx, e) }()
	t.Cleanup(func() { cancel(errors.New("the test is over")) })
	return b
}

// others starts the parts that a worker needs.
func others(t *testing.T, e part.Env) {
	t.Helper()
	for _, k := range []struct {
		kind string
		run  part.Run
	}{{part.Detokenizer, detok.Run}, {part.Scheduler, engine.Run}, {part.Router, relay.Run}} {
		parttest.Start(t, k.run, part.Env{ID: part.ID{Kind: k.kind}, Args: e.Args, Folder: e.Folder})
	}
}

func (b *bench) await(what string, c <-chan struct{}) {
	b.t.Helper()
	select {
	case <-c:
	case err := <-b.ended:
		b.t.Fatalf("the worker ended before %s: %v", what, err)
	case <-time.After(parttest.Patience):
		b.t.Fatalf("waited too long for %s", what)
	}
}

func (b *bench) awaitEnd() error {
	b.t.Helper()
	select {
	case err := <-b.ended:
		return err
	case <-time.After(parttest.Patience):
		b.t.Fatal("the worker did not end")
		return nil
	}
}

// status asks and gives the answer's status and text.
func (b *bench) status(path string) (int, string) {
	b.t.Helper()
	answer, err := http.Get(b.url + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// stream is a streamed request whose first event has come.
func (b *bench) stream(tokens int) *bufio.Reader {
	b.t.Helper()
	body := fmt.Sprintf(`{"text":"x","stream":true,"sampling_params":{"max_new_tokens":%d,"ignore_eos":true}}`, tokens)
	answer, err := http.Post(b.url+"/generate", "", strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = answer.Body.Close() })
	r := bufio.NewReader(answer.Body)
	if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: {") {
		b.t.Fatalf("the first event is %q, %v", line, err)
	}
	return r
}

// sglang#10121: a worker is not ready before the way to the router and back is
// whole, and says so; nor does it say that the server serves before all of it does.
func TestReadyWhenRegistered(t *testing.T) {
	t.Parallel()
	e := settings(t)
	input, err := transport.Bind(e.Args.ZMQ, e.Endpoint(part.RouterInput), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	b := startIn(t, e, func() {})
	frame, err := input.Recv(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := request.Decode(frame)
	if err != nil {
		t.Fatal(err)
	}
	want := e.Endpoint("worker-0")
	if r, ok := m.(*request.TokenizerWorkerRegistrationReq); !ok || r.WorkerIPCName != want || r.HTTPWorkerIPC != want {
		t.Fatalf("the first message is %+v, want the registration of %s", m, want)
	}
	if code, text := b.status("/health"); code != http.StatusServiceUnavailable {
		t.Errorf("unregistered: /health is %d %s, want 503", code, text)
	}
	select {
	case <-b.ready:
		t.Error("ready before the router has answered")
	default:
	}
	push, err := transport.Connect(t.Context(), e.Args.ZMQ, want, transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer push.Close()
	if err := errors.Join(push.Send(frame), push.Flush()); err != nil {
		t.Fatal(err)
	}
	b.await("it was ready", b.ready)
	if code, text := b.status("/health"); code != http.StatusServiceUnavailable {
		t.Errorf("registered, while other parts start: /health is %d %s, want 503", code, text)
	}
	for _, c := range []struct {
		stage part.Stage
		want  int
	}{{part.Warming, http.StatusServiceUnavailable}, {part.Serving, http.StatusOK}} {
		if err := part.Reach(e.Folder, c.stage); err != nil {
			t.Fatal(err)
		}
		if code, text := b.status("/health"); code != c.want {
			t.Errorf("stage %d: /health is %d %s, want %d", c.stage, code, text, c.want)
		}
	}
}

func TestRouterThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	e := settings(t)
	e.Args.StartTimeout = 0.05
	input, err := transport.Bind(e.Args.ZMQ, e.Endpoint(part.RouterInput), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	b := start(t, e)
	if _, err := input.Recv(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.awaitEnd(); err == nil || !strings.Contains(err.Error(), "did not acknowledge "+e.Endpoint("worker-0")) {
		t.Errorf("got %v", err)
	}
}

// What runs is finished, nothing new is taken, and the worker stays until it is
// told to end.
func TestDrain(t *testing.T) {
	t.Parallel()
	e := settings(t)
	others(t, e)
	b := start(t, e)
	b.await("it was ready", b.ready)
	r := b.stream(500)
	b.ending()
	text, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(text), `"finish_reason":{"type":"length","length":500}`) || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
		t.Errorf("the stream ended with %v: %.300s", err, text[max(0, len(text)-300):])
	}
	b.await("it was drained", b.drained)
	if c, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://")); err == nil {
		t.Error("a connection is taken after the end has begun")
		_ = c.Close()
	}
	select {
	case err := <-b.ended:
		t.Errorf("it ended before it was told to: %v", err)
	default:
	}
	b.end(part.ErrEnd)
	if err := b.awaitEnd(); err != nil {
		t.Error(err)
	}
}

// vllm#39863: clients that wait are told of the server's failure, also those that
// began to wait before the server was to end.
func TestFailureIsTold(t *testing.T) {
	for name, draining := range map[string]bool{"serving": false, "draining": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := settings(t)
			others(t, e)
			b := start(t, e)
			b.await("it was ready", b.ready)
			streams := []*bufio.Reader{b.stream(100_000), b.stream(100_000)}
			if draining {
				b.ending()
			}
			b.end(&part.Failure{Reason: "scheduler failed: out of luck"})
			for _, r := range streams {
				text, err := io.ReadAll(r)
				if err != nil || !strings.Contains(string(text), `"message":"the server ends: scheduler failed: out of luck"`) {
					t.Errorf("a client got %v, %.300s", err, text[max(0, len(text)-300):])
				}
			}
			if err := b.awaitEnd(); err != nil {
				t.Error(err)
			}
			select {
			case <-b.drained:
				t.Error("it says that it has finished all requests")
			default:
			}
		})
	}
}

// smallBuffers lets a connection fill up after a few events.
func smallBuffers(c syscall.RawConn) error {
	var set error
	err := c.Control(func(fd uintptr) {
		set = errors.Join(
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096),
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, 4096))
	})
	return errors.Join(err, set)
}

// lazy is a client that has asked for a stream and read one byte of it.
func (b *bench) lazy(tokens int) net.Conn {
	b.t.Helper()
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error { return smallBuffers(c) }}
	c, err := d.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.Close() })
	body := fmt.Sprintf(`{"text":"x","stream":true,"sampling_params":{"max_new_tokens":%d,"ignore_eos":true}}`, tokens)
	if _, err := fmt.Fprintf(c, "POST /generate HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		b.t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		b.t.Fatal(err)
	}
	return c
}

// waitCount waits until the worker has counted so many.
func (b *bench) waitCount(e part.Env, name string, least uint64) {
	b.t.Helper()
	for end := time.Now().Add(parttest.Patience); ; time.Sleep(time.Millisecond) {
		values, err := counters.Read(part.CountersPath(e.Folder, e.ID))
		if err != nil {
			b.t.Fatal(err)
		}
		if values[name].Count >= least {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("%s is %d, want %d", name, values[name].Count, least)
		}
	}
}

// A client that does not read does not keep a failed server.
func TestFailureDoesNotWaitForReaders(t *testing.T) {
	t.Parallel()
	e := settings(t)
	e.Args.SimStepBase = 0
	others(t, e)
	b := start(t, e)
	b.await("it was ready", b.ready)
	for range 8 {
		b.lazy(100_000)
	}
	b.waitCount(e, "rows_delivered", 20_000) // by then their connections are full
	b.end(&part.Failure{Reason: "over"})
	if err := b.awaitEnd(); err != nil {
		t.Error(err)
	}
}

// A request is finished when its client has the answer, not when the scheduler is
// done with it.
func TestDrainWaitsForReaders(t *testing.T) {
	t.Parallel()
	e := settings(t)
	e.Args.SimStepBase = 0
	others(t, e)
	b := start(t, e)
	b.await("it was ready", b.ready)
	c := b.lazy(2000)
	b.ending()
	b.waitCount(e, "num_requests_total", 1)
	time.Sleep(10 * drainPoll) // in which it would say so
	select {
	case <-b.drained:
		t.Error("it says that it is done while a client has not got its answer")
	default:
	}
	text, err := io.ReadAll(c)
	if err != nil || !strings.Contains(string(text), "data: [DONE]") {
		t.Errorf("the client got %v, %.300s", err, text[max(0, len(text)-300):])
	}
	b.await("it was drained", b.drained)
	b.end(part.ErrEnd)
	if err := b.awaitEnd(); err != nil {
		t.Error(err)
	}
}

// A worker tells the figures of the whole server, if it was asked to.
func TestMetrics(t *testing.T) {
	for _, on := range []bool{false, true} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			t.Parallel()
			e := settings(t)
			e.Args.EnableMetrics = on
			others(t, e)
			b := start(t, e)
			b.await("it was ready", b.ready)
			if _, err := io.ReadAll(b.stream(5)); err != nil {
				t.Fatal(err)
			}
			code, text := b.status("/metrics")
			if !on && code != http.StatusNotFound {
				t.Errorf("metrics are off: %d %.200s, want 404", code, text)
			}
			if on && (code != http.StatusOK || !strings.Contains(text, "rows_built") || !strings.Contains(text, `model_name="sim"`)) {
				t.Errorf("%d %s", code, text)
			}
		})
	}
}

// sglang#37833: a request whose client has left is finished when the scheduler has
// ended it: a worker that is drained has no rows to come.
func TestDrainWaitsForTheScheduler(t *testing.T) {
	t.Parallel()
	e := settings(t)
	e.Args.SimStepBase = 0.1
	others(t, e)
	b := start(t, e)
	b.await("it was ready", b.ready)
	_ = b.lazy(1000).Close()
	b.ending()
	b.await("it was drained", b.drained)
	first, err := counters.ReadLedger(e.Folder)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond) // some steps
	then, err := counters.ReadLedger(e.Folder)
	if err != nil {
		t.Fatal(err)
	}
	if then.Built != first.Built || then.InFlight() != 0 {
		t.Errorf("%d rows built when it was drained, %d later, %d in flight; want no more, and none", first.Built, then.Built, then.InFlight())
	}
}

// A listener that breaks is the part's failure.
func TestListenerThatBreaks(t *testing.T) {
	t.Parallel()
	e := settings(t)
	others(t, e)
	b := start(t, e)
	b.await("it was ready", b.ready)
	if err := b.listens.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.awaitEnd(); err == nil || !strings.Contains(err.Error(), "serve HTTP on 127.0.0.1:") {
		t.Errorf("got %v", err)
	}
}

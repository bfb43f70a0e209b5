package relay

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// patience is a guard against what never comes; nothing is timed.
const patience = time.Minute

// running is a router that runs beside the test.
type running struct {
	t      *testing.T
	env    part.Env
	end    context.CancelFunc
	ready  chan struct{}
	served chan error
	log    *journal
}

// journal is a log that a test may read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// start runs a router in a new folder. The folder's path is short: a socket's is bounded.
func start(t *testing.T, engine string) *running {
	t.Helper()
	folder, err := os.MkdirTemp("", "relay")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return startIn(t, part.Env{
		ID:     part.ID{Kind: part.Router},
		Args:   args.Args{ZMQ: engine, StartTimeout: patience.Seconds()},
		Folder: folder,
	})
}

func startIn(t *testing.T, e part.Env) *running {
	t.Helper()
	r := &running{t: t, env: e, ready: make(chan struct{}), served: make(chan error, 1), log: &journal{}}
	r.env.Log = slog.New(slog.NewTextHandler(r.log, nil))
	r.env.Ready = func() { close(r.ready) } // a second call panics
	var ctx context.Context
	ctx, r.end = context.WithCancel(t.Context())
	go func() { r.served <- Run(ctx, r.env) }()
	t.Cleanup(r.end)
	return r
}

func (r *running) awaitReady() {
	r.t.Helper()
	select {
	case <-r.ready:
	case err := <-r.served:
		r.t.Fatalf("the router ended before it was ready: %v", err)
	case <-time.After(patience):
		r.t.Fatal("the router was not ready in time")
	}
}

// result waits for Run to return.
func (r *running) result() error {
	r.t.Helper()
	select {
	case err := <-r.served:
		return err
	case <-time.After(patience):
		r.t.Fatal("the router did not end in time")
		return nil
	}
}

// stop ends the router, which must leave no socket file.
func (r *running) stop() {
	r.t.Helper()
	r.end()
	if err := r.result(); err != nil {
		r.t.Errorf("after the end of its context the router returned %v, want nil", err)
	}
	for _, name := range []string{part.RouterInput, part.RouterAnswers} {
		if _, err := os.Lstat(filepath.Join(r.env.Folder, name)); !os.IsNotExist(err) {
			r.t.Errorf("the socket file %s is left: %v", name, err)
		}
	}
}

// beat is the state of one of the router's loops.
func (r *running) beat(name string) counters.State {
	r.t.Helper()
	values, err := counters.Read(part.CountersPath(r.env.Folder, r.env.ID))
	if err != nil {
		r.t.Fatal(err)
	}
	return values[name].State
}

// counted waits until a counter has that value.
func (r *running) counted(name string, want uint64) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		values, err := counters.Read(part.CountersPath(r.env.Folder, r.env.ID))
		if err != nil {
			r.t.Fatal(err)
		}
		got := values[name].Count
		if got == want {
			return
		}
		if got > want || time.Now().After(deadline) {
			r.t.Fatalf("%s is %d, want %d; the log:\n%s", name, got, want, r.log)
		}
	}
}

// inbox is the PULL of a scheduler or of a worker, which receives while the test goes on.
type inbox struct {
	t      *testing.T
	pull   transport.Pull
	frames chan []byte
	cancel context.CancelFunc
	idle   chan struct{} // closed when nothing receives any more
}

func (r *running) bind(name string) *inbox {
	r.t.Helper()
	pull, err := transport.Bind(r.env.Args.ZMQ, r.env.Endpoint(name), transport.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	b := &inbox{t: r.t, pull: pull, frames: make(chan []byte, 1<<16)}
	b.receive()
	r.t.Cleanup(b.close)
	return b
}

func (b *inbox) receive() {
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel, b.idle = cancel, make(chan struct{})
	go func(idle chan struct{}) {
		defer close(idle)
		for {
			frame, err := b.pull.Recv(ctx)
			if err != nil {
				return
			}
			b.frames <- bytes.Clone(frame)
		}
	}(b.idle)
}

// pause stops receiving and leaves the socket open.
func (b *inbox) pause() {
	b.cancel()
	<-b.idle
}

func (b *inbox) close() {
	b.pause()
	if err := b.pull.Close(); err != nil {
		b.t.Error(err)
	}
}

func (b *inbox) next() []byte {
	b.t.Helper()
	select {
	case frame := <-b.frames:
		return frame
	case <-time.After(patience):
		b.t.Fatalf("%s: no frame in time", b.pull.Endpoint())
		return nil
	}
}

// nothing says that no frame is there. Use it when a later one has arrived.
func (b *inbox) nothing() {
	b.t.Helper()
	select {
	case frame := <-b.frames:
		b.t.Errorf("%s: got %q, want nothing", b.pull.Endpoint(), frame)
	default:
	}
}

// connect opens a PUSH to one of the router's sockets.
func (r *running) connect(name string) transport.Push {
	r.t.Helper()
	push, err := transport.Connect(r.t.Context(), r.env.Args.ZMQ, r.env.Endpoint(name), transport.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { push.Close() })
	return push
}

func post(t testing.TB, push transport.Push, frames ...[]byte) {
	t.Helper()
	for _, frame := range frames {
		if err := push.Send(frame); err != nil {
			t.Fatal(err)
		}
	}
	if err := push.Flush(); err != nil {
		t.Fatal(err)
	}
}

func encode(t testing.TB, m request.Message) []byte {
	t.Helper()
	frame, err := request.Encode(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// client is an HTTP worker: its own socket, and its PUSH to the router.
type client struct {
	*inbox
	push transport.Push
	ipc  string
}

func (r *running) client(i int) *client {
	r.t.Helper()
	name := part.ID{Kind: part.Worker, Index: i}.String()
	return &client{inbox: r.bind(name), push: r.connect(part.RouterInput), ipc: r.env.Endpoint(name)}
}

// registered is a client that has had its registration back.
func (r *running) registered(i int) *client {
	r.t.Helper()
	c := r.client(i)
	c.register()
	return c
}

func (c *client) register() {
	c.t.Helper()
	frame := encode(c.t, &request.TokenizerWorkerRegistrationReq{RID: "r", HTTPWorkerIPC: c.ipc, WorkerIPCName: c.ipc})
	post(c.t, c.push, frame)
	if got := c.next(); !bytes.Equal(got, frame) {
		c.t.Fatalf("%s: got %q, want its registration back", c.ipc, got)
	}
}

// flush is the answer number i to a flush that the client asked for.
func (c *client) flush(i int) *request.FlushCacheReqOutput {
	return &request.FlushCacheReqOutput{RID: fmt.Sprint("flush-", i), HTTPWorkerIPC: c.ipc, Success: true}
}

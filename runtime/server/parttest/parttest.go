// Package parttest runs parts of a server beside a test, over real sockets in a
// folder of their own: a [Part] under test, an [Inbox] for each other part's
// PULL, and PUSHes. Whatever is waited for has [Patience], a guard against what
// never comes; nothing is timed.
package parttest

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// Patience is how long anything may take.
const Patience = time.Minute

// Folder makes a server's folder. Its path is short: a socket's is bounded.
func Folder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "part")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// Part is a part that runs beside the test.
type Part struct {
	Env part.Env
	End context.CancelFunc
	Log *Journal

	t      testing.TB
	ready  chan struct{}
	served chan error
}

// Start runs a part. Log and Ready are set here; a second call of Ready panics.
func Start(t testing.TB, run part.Run, e part.Env) *Part {
	t.Helper()
	p := &Part{t: t, Env: e, ready: make(chan struct{}), served: make(chan error, 1), Log: &Journal{}}
	p.Env.Log = slog.New(slog.NewTextHandler(p.Log, nil))
	p.Env.Ready = func() { close(p.ready) }
	ctx, cancel := context.WithCancel(context.Background())
	p.End = cancel
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		p.served <- run(ctx, p.Env)
	}()
	t.Cleanup(func() {
		cancel()
		<-gone // or it would write into a folder that goes away
	})
	return p
}

// AwaitReady waits for Ready.
func (p *Part) AwaitReady() {
	p.t.Helper()
	select {
	case <-p.ready:
	case err := <-p.served:
		p.t.Fatalf("%s ended before it was ready: %v", p.Env.ID, err)
	case <-time.After(Patience):
		p.t.Fatalf("%s was not ready in time", p.Env.ID)
	}
}

// IsReady says whether Ready was called.
func (p *Part) IsReady() bool {
	select {
	case <-p.ready:
		return true
	default:
		return false
	}
}

// Result waits for the part's end.
func (p *Part) Result() error {
	p.t.Helper()
	select {
	case err := <-p.served:
		return err
	case <-time.After(Patience):
		p.t.Fatalf("%s did not end in time", p.Env.ID)
		return nil
	}
}

// Stop ends the part, which must return nil and leave none of its sockets' files.
func (p *Part) Stop(sockets ...string) {
	p.t.Helper()
	p.End()
	if err := p.Result(); err != nil {
		p.t.Errorf("%s returned %v after the end of its context, want nil", p.Env.ID, err)
	}
	for _, name := range sockets {
		if _, err := os.Lstat(filepath.Join(p.Env.Folder, name)); !os.IsNotExist(err) {
			p.t.Errorf("the socket file %s is left: %v", name, err)
		}
	}
}

// Read reads a metric.
func (p *Part) Read(name string) counters.Value {
	p.t.Helper()
	values, err := counters.Read(part.CountersPath(p.Env.Folder, p.Env.ID))
	if err != nil {
		p.t.Fatal(err)
	}
	v, ok := values[name]
	if !ok {
		p.t.Fatalf("%s has no metric %s", p.Env.ID, name)
	}
	return v
}

// AwaitCount waits until a counter has that value.
func (p *Part) AwaitCount(name string, want uint64) {
	p.t.Helper()
	for deadline := time.Now().Add(Patience); ; time.Sleep(time.Millisecond) {
		got := p.Read(name).Count
		if got == want {
			return
		}
		if got > want || time.Now().After(deadline) {
			p.t.Fatalf("%s of %s is %d, want %d; the log:\n%s", name, p.Env.ID, got, want, p.Log)
		}
	}
}

// Connect opens a PUSH to a socket of the server.
func (p *Part) Connect(name string) transport.Push {
	p.t.Helper()
	push, err := transport.Connect(context.Background(), p.Env.Args.ZMQ, p.Env.Endpoint(name), transport.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = push.Close() // the part may have ended first
	})
	return push
}

// Post sends frames and flushes once.
func Post(t testing.TB, push transport.Push, frames ...[]byte) {
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

// Journal is a log that a test may read while it is written.
type Journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *Journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

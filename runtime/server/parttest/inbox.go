package parttest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// Inbox is the PULL of another part, which receives while the test goes on.
type Inbox struct {
	Frames chan []byte

	t      testing.TB
	pull   transport.Pull
	cancel context.CancelFunc
	idle   chan struct{} // closed when nothing receives any more
}

// Bind makes the socket of that name in a server's folder, and receives.
func Bind(t testing.TB, e part.Env, name string) *Inbox {
	t.Helper()
	pull, err := transport.Bind(e.Args.ZMQ, e.Endpoint(name), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := &Inbox{t: t, pull: pull, Frames: make(chan []byte, 1<<16)}
	b.Receive()
	t.Cleanup(b.Close)
	return b
}

// Endpoint is the socket's address.
func (b *Inbox) Endpoint() string { return b.pull.Endpoint() }

// Receive goes on after Pause.
func (b *Inbox) Receive() {
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel, b.idle = cancel, make(chan struct{})
	go func(idle chan struct{}) {
		defer close(idle)
		for {
			frame, err := b.pull.Recv(ctx)
			if err != nil {
				if ctx.Err() == nil {
					b.t.Errorf("%s: %v", b.pull.Endpoint(), err)
				}
				return
			}
			b.Frames <- bytes.Clone(frame)
		}
	}(b.idle)
}

// Pause stops receiving and leaves the socket open.
func (b *Inbox) Pause() {
	b.cancel()
	<-b.idle
}

// Close closes the socket, as the end of its part does. What was received stays.
func (b *Inbox) Close() {
	b.Pause()
	if err := b.pull.Close(); err != nil {
		b.t.Error(err)
	}
}

// Next waits for a frame.
func (b *Inbox) Next() []byte {
	b.t.Helper()
	select {
	case frame := <-b.Frames:
		return frame
	case <-time.After(Patience):
		b.t.Fatalf("%s: no frame in time", b.pull.Endpoint())
		return nil
	}
}

// Nothing says that no frame is there; ask when a later one has arrived.
func (b *Inbox) Nothing() {
	b.t.Helper()
	select {
	case frame := <-b.Frames:
		b.t.Errorf("%s: got %q, want nothing", b.pull.Endpoint(), frame)
	default:
	}
}

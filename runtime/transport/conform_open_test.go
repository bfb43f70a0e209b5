package transport_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/transport/zmtp"
)

func pollSeveral(t *testing.T, engine string) {
	const n, several = 3000, 4
	p := pair{engine, engine, false}
	pulls, expect := make([]transport.Pull, several), make([]*script, several)
	sent := make(chan error, several)
	for i := range several {
		pulls[i], expect[i] = bindWith(t, engine, transport.Options{}), newScript(i)
		push := p.join(t, pulls[i], transport.Options{})
		t.Cleanup(func() { _ = push.Close() })
		go func() { sent <- newScript(i).send(push, n) }()
	}
	poller := newPoller(t, pulls...)
	ctx, cancel := context.WithTimeout(background, hang)
	defer cancel()
	for left := several * n; left > 0; {
		ready, err := poller.Wait(ctx, -1)
		must(t, err)
		for _, i := range ready {
			left -= drainScript(t, pulls[i], expect[i])
		}
	}
	for range several {
		must(t, <-sent)
	}
	wantReady(t, poller)
	if ready, err := poller.Wait(ctx, 3*time.Millisecond); err != nil || len(ready) != 0 {
		t.Fatalf("at the time-out: %v, %v", ready, err)
	}
	go cancel()
	if ready, err := poller.Wait(ctx, -1); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v, %v", ready, err)
	}
	must(t, poller.Close())
	if _, err := poller.Wait(background, 0); !errors.Is(err, transport.ErrClosed) {
		t.Fatalf("closed: %v", err)
	}
}

// drainScript receives until ErrEmpty and says how many messages there were.
func drainScript(t *testing.T, pull transport.Pull, expect *script) (n int) {
	t.Helper()
	for ; ; n++ {
		msg, err := pull.TryRecv()
		if errors.Is(err, transport.ErrEmpty) {
			return n
		}
		must(t, err)
		if string(msg) != string(expect.next()) {
			t.Fatalf("pull %d: message %d is another", expect.id, expect.n-1)
		}
	}
}

func cancelledRecv(t *testing.T, engine string) {
	push, pull := pair{engine, engine, true}.open(t, transport.Options{})
	for i := range 200 {
		ctx, cancel := context.WithCancel(background)
		go cancel()
		must(t, push.Send([]byte(name(i))))
		must(t, push.Flush())
		msg, err := pull.Recv(ctx)
		if errors.Is(err, context.Canceled) {
			want(t, pull, name(i))
		} else if err != nil || string(msg) != name(i) {
			t.Fatalf("got %q, %v; want %q", msg, err, name(i))
		}
	}
}

// openings is every way to open that waits for somebody.
func openings(engine string) map[string]func(ctx context.Context, e string, opt transport.Options) error {
	return map[string]func(ctx context.Context, e string, opt transport.Options) error{
		"Connect": func(ctx context.Context, e string, opt transport.Options) error {
			_, err := transport.Connect(ctx, engine, e, opt)
			return err
		},
		"ConnectPull": func(ctx context.Context, e string, opt transport.Options) error {
			_, err := transport.ConnectPull(ctx, engine, e, opt)
			return err
		},
		"BindPush": func(ctx context.Context, e string, opt transport.Options) error {
			_, err := transport.BindPush(ctx, engine, e, opt)
			return err
		},
	}
}

// mute is an endpoint that accepts, by the kernel's queue, and says nothing.
func mute(t *testing.T) string {
	t.Helper()
	e := endpoint(t)
	l, err := net.Listen("unix", path(e))
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return e
}

func cancelledOpening(t *testing.T, engine string) {
	for name, open := range openings(engine) {
		places := map[string]string{"nobody there": endpoint(t)}
		if name != "BindPush" {
			places["a mute one there"] = mute(t)
		}
		for place, e := range places {
			ctx, cancel := context.WithCancel(background)
			go cancel()
			if err := open(ctx, e, transport.Options{DialTimeout: time.Hour}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), e) {
				t.Errorf("%s, %s: %v", name, place, err)
			}
			if place == "nobody there" && exists(t, e) {
				t.Errorf("%s leaves a socket file", name)
			}
		}
	}
}

func lateOpening(t *testing.T, engine string) {
	for name, open := range openings(engine) {
		places := []string{endpoint(t)}
		if name != "BindPush" {
			places = append(places, mute(t))
		}
		for _, e := range places {
			if err := open(background, e, transport.Options{DialTimeout: 20 * time.Millisecond}); !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), e) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// earlyMessage: a connected Pull gives what its Push said in one breath with the handshake.
func earlyMessage(t *testing.T, engine string) {
	e := endpoint(t)
	l, err := net.Listen("unix", path(e))
	must(t, err)
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = c.Write(slices.Concat(zmtp.AppendHello(nil, "PUSH"), frame(0, "early")))
		_, _ = io.Copy(io.Discard, c)
	}()
	pull, err := transport.ConnectPull(background, engine, e, transport.Options{})
	must(t, err)
	wantReadyNow(t, pull)
	want(t, pull, "early")
	must(t, pull.Close())
}

func wantReadyNow(t *testing.T, pull transport.Pull) {
	t.Helper()
	if ready, err := newPoller(t, pull).Wait(background, hang); err != nil || len(ready) != 1 {
		t.Fatalf("ready %v, %v", ready, err)
	}
}

package transport_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// A burst costs no allocation on either side, whatever the way it is received.
func TestNoAllocationPerMessage(t *testing.T) {
	pulls := []transport.Pull{bind(t, transport.Options{})}
	push := connect(t, pulls[0], transport.Options{})
	poller := newPoller(t, pulls...)
	cancellable, cancel := context.WithCancel(background)
	defer cancel()
	small, large := make([]byte, 500), make([]byte, 70<<10)
	receive := map[string]func() error{
		"Recv":             func() error { _, err := pulls[0].Recv(background); return err },
		"Recv cancellable": func() error { _, err := pulls[0].Recv(cancellable); return err },
		"TryRecv":          func() error { _, err := pulls[0].TryRecv(); return err },
		"Wait": func() error {
			if _, err := poller.Wait(cancellable, -1); err != nil {
				return err
			}
			_, err := pulls[0].TryRecv()
			return err
		},
	}
	for name, receive := range receive {
		allocs := testing.AllocsPerRun(50, func() {
			const n = 100
			for range n {
				must(t, push.Send(small))
			}
			must(t, push.Send(large)) // in one writev
			must(t, push.Flush())
			for range n + 1 {
				must(t, receive())
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations in a burst", name, allocs)
		}
	}
}

// Bigger than the kernel's buffer: the sender blocks and wakes many times.
func TestNoAllocationWhileBlocked(t *testing.T) {
	pull := bind(t, transport.Options{})
	push := connect(t, pull, transport.Options{})
	const n, size = 2000, 5000
	round := func() {
		sent := make(chan error, 1)
		go func() {
			msg := make([]byte, size)
			for range n {
				if err := push.Send(msg); err != nil {
					sent <- err
					return
				}
			}
			sent <- push.Flush()
		}()
		for range n {
			_, err := recvBare(pull)
			must(t, err)
		}
		must(t, <-sent)
	}
	round()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	round()
	runtime.ReadMemStats(&after)
	if allocs := after.Mallocs - before.Mallocs; allocs > n/20 {
		t.Errorf("%d allocations for %d messages", allocs, n)
	}
}

func recvBare(pull transport.Pull) ([]byte, error) { return pull.Recv(background) }

func descriptors(t *testing.T) int {
	t.Helper()
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		if entries, err := os.ReadDir(dir); err == nil {
			return len(entries)
		}
	}
	t.Fatal("no folder lists the open descriptors")
	return 0
}

// settle waits until the goroutines of finished contexts are gone.
func settle(t *testing.T, most int) {
	t.Helper()
	for end := time.Now().Add(hang); runtime.NumGoroutine() > most; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines; want %d", runtime.NumGoroutine(), most)
		}
	}
}

func TestNothingLeaks(t *testing.T) {
	e := endpoint(t)
	cycle(t, e) // opens what the runtime opens once
	fds, goroutines := descriptors(t), runtime.NumGoroutine()
	for range 200 {
		cycle(t, e)
	}
	settle(t, goroutines)
	if n := descriptors(t); n != fds {
		t.Fatalf("%d descriptors after 200 cycles; %d before", n, fds)
	}
	if exists(t, e) {
		t.Fatal("a socket file is left")
	}
}

// cycle opens, uses, breaks and closes everything once.
func cycle(t *testing.T, e string) {
	pull, err := transport.Bind("zmtp", e, transport.Options{})
	must(t, err)
	poller, err := transport.NewPoller(pull)
	must(t, err)
	_, err = transport.Bind("zmtp", e, transport.Options{})
	if !errors.Is(err, transport.ErrLive) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(background)
	done := make(chan transport.Push, 1)
	go func() {
		push, err := transport.Connect(ctx, "zmtp", e, transport.Options{})
		if err == nil {
			err = push.Send([]byte("x"))
		}
		if err == nil {
			err = push.Flush()
		}
		if err != nil {
			t.Error(err)
		}
		done <- push
	}()
	for msg := []byte(nil); msg == nil; {
		_, err = poller.Wait(ctx, -1)
		must(t, err)
		if msg, err = pull.TryRecv(); err != nil && !errors.Is(err, transport.ErrEmpty) {
			t.Fatal(err)
		}
	}
	push := <-done
	cancel()
	if _, err := pull.Recv(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := transport.Connect(ctx, "zmtp", e, transport.Options{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := transport.Connect(background, "zmtp", e+".none", transport.Options{DialTimeout: 1}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	must(t, poller.Close())
	must(t, pull.Close())
	must(t, push.Send([]byte("y")))
	if err := push.Close(); !errors.Is(err, transport.ErrBroken) {
		t.Fatal(err)
	}
}

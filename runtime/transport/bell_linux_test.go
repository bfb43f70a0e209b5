package transport

import (
	"os"
	"runtime/pprof"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func pipe(t *testing.T) (r, w int) {
	t.Helper()
	var p [2]int
	if err := newPipe(&p); err != nil {
		t.Fatal(err)
	}
	return p[0], p[1]
}

// rings wants the descriptor's readiness to reach Go's poller: what epoll says of it, without a wait.
func rings(t *testing.T, b *bell, fds []unix.PollFd, wanted int) {
	t.Helper()
	if err := b.tell(fds); err != nil {
		t.Fatal(err)
	}
	var events [4]unix.EpollEvent
	n, err := unix.EpollWait(b.epoll, events[:], 0)
	if err != nil || n != wanted {
		t.Fatalf("epoll names %d descriptors, %v; want %d", n, err, wanted)
	}
}

// What a descriptor is asked for changes, and its number comes back for another one.
func TestBellFollowsDescriptors(t *testing.T) {
	var b bell
	defer b.close()
	if n, err := b.wait(nil, 0); n != 0 || err != nil {
		t.Fatalf("without descriptors: %d, %v", n, err)
	}
	for range 3 {
		r, w := pipe(t)
		fds := []unix.PollFd{{Fd: -1, Events: readable}, {Fd: int32(r), Events: readable}, {Fd: int32(w)}}
		rings(t, &b, fds, 0)
		fds[2].Events = writable
		rings(t, &b, fds, 1)
		fds[2].Events = 0
		rings(t, &b, fds, 0)
		if _, err := unix.Write(w, []byte("x")); err != nil {
			t.Fatal(err)
		}
		rings(t, &b, fds, 1)
		for _, fd := range []int{r, w} { // the next pipe gets their numbers
			b.forget(fd)
			_ = unix.Close(fd)
		}
	}
}

// A wait that ran out must not cut the next one short.
func TestBellWaits(t *testing.T) {
	var b bell
	defer b.close()
	r, w := pipe(t)
	defer func() { _, _ = unix.Close(r), unix.Close(w) }()
	fds := []unix.PollFd{{Fd: int32(r), Events: readable}}
	for range 3 {
		for _, timeout := range []time.Duration{0, time.Millisecond} {
			if n, err := b.wait(fds, timeout); n != 0 || err != nil {
				t.Fatalf("nothing to read: %d, %v", n, err)
			}
		}
		go func() {
			time.Sleep(5 * time.Millisecond) // so that it waits, most of the time
			_, _ = unix.Write(w, []byte("x"))
		}()
		if n, err := b.wait(fds, -1); n != 1 || err != nil || fds[0].Revents != readable {
			t.Fatalf("%d, %v, found %x; want 1 and %x", n, err, fds[0].Revents, readable)
		}
		if _, err := unix.Read(r, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
}

// A descriptor that cannot be waited for is an error that names the call.
func TestBellRefusesFiles(t *testing.T) {
	var b bell
	defer b.close()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := b.wait([]unix.PollFd{{Fd: int32(f.Fd()), Events: readable}}, -1); err == nil || err.Error() != "epoll_ctl: operation not permitted" {
		t.Fatalf("got %v", err)
	}
}

// Many that wait hold no thread each, as they would in poll(2).
func TestBellHoldsNoThread(t *testing.T) {
	threads := pprof.Lookup("threadcreate")
	before, done := threads.Count(), make(chan error)
	const waiters = 100
	var ends []int
	for range waiters {
		r, w := pipe(t)
		ends = append(ends, w)
		go func() {
			var b bell
			defer b.close()
			defer func() { _ = unix.Close(r) }()
			_, err := b.wait([]unix.PollFd{{Fd: int32(r), Events: readable}}, -1)
			done <- err
		}()
	}
	time.Sleep(50 * time.Millisecond) // so that they wait; a short sleep makes the test weaker, not wrong
	for _, w := range ends {
		_ = unix.Close(w)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if more := threads.Count() - before; more > waiters/2 {
		t.Errorf("%d threads were made for %d that wait", more, waiters)
	}
}

package transport

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func awake(t *testing.T, fd int32, timeout time.Duration) bool {
	t.Helper()
	n, err := poll([]unix.PollFd{{Fd: fd, Events: readable}}, timeout)
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// The end of one context must not wake the wait with the next.
func TestWakerForgets(t *testing.T) {
	var k waker
	defer k.close()
	if fd, err := k.watch(context.Background()); fd != -1 || err != nil || k.made {
		t.Fatalf("a context that cannot end: %d, %v", fd, err)
	}
	for range 50 {
		ctx, cancel := context.WithCancel(context.Background())
		fd, err := k.watch(ctx)
		if err != nil || awake(t, fd, 0) {
			t.Fatalf("awake before the end, %v", err)
		}
		cancel()
		if !awake(t, fd, 20*time.Second) {
			t.Fatal("not woken by the end")
		}
	}
}

func TestWakerKeepsTheRegistration(t *testing.T) {
	var k waker
	defer k.close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := k.watch(ctx); err != nil {
		t.Fatal(err)
	}
	type key struct{}
	same := context.WithValue(ctx, key{}, 1) // ends with it
	if n := testing.AllocsPerRun(100, func() { _, _ = k.watch(same) }); n != 0 {
		t.Fatalf("%v allocations to watch the same context again", n)
	}
}

func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]int{
		-1: -1, 0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2,
		1<<63 - 1: 1<<31 - 1, 1 << 62: 1<<31 - 1,
	} {
		if got := milliseconds(d); got != want {
			t.Errorf("%v is %d ms; want %d", int64(d), got, want)
		}
	}
}

func TestSooner(t *testing.T) {
	for _, c := range [][3]time.Duration{{-1, -1, -1}, {-1, 5, 5}, {5, -1, 5}, {3, 5, 3}, {5, 3, 3}, {0, 5, 0}, {5, 0, 0}} {
		if got := sooner(c[0], c[1]); got != c[2] {
			t.Errorf("sooner(%d, %d) is %d; want %d", c[0], c[1], got, c[2])
		}
	}
}

package transport

import (
	"context"
	"math"
	"time"

	"golang.org/x/sys/unix"
)

const (
	readable = unix.POLLIN
	writable = unix.POLLOUT
)

// poll waits for a descriptor of fds; a negative timeout is for ever. It says how many are ready.
func poll(fds []unix.PollFd, timeout time.Duration) (int, error) {
	var end time.Time
	if timeout > 0 {
		end = time.Now().Add(timeout)
	}
	for {
		n, err := pollOnce(fds, timeout)
		if err != unix.EINTR { // the Go scheduler's own signals interrupt it
			return n, err
		}
		if timeout > 0 {
			timeout = max(time.Until(end), 0)
		}
	}
}

func pollOnce(fds []unix.PollFd, timeout time.Duration) (int, error) {
	if timeout == 0 {
		return look(fds)
	}
	return unix.Poll(fds, milliseconds(timeout))
}

// milliseconds rounds up, so that a wait never ends early.
func milliseconds(d time.Duration) int {
	if d < 0 {
		return -1
	}
	ms := d / time.Millisecond
	if d%time.Millisecond > 0 {
		ms++
	}
	return int(min(ms, math.MaxInt32))
}

// sooner is the shorter of two time-outs of which a negative one is for ever.
func sooner(a, b time.Duration) time.Duration {
	if a < 0 || (b >= 0 && b < a) {
		return b
	}
	return a
}

// waker makes the end of a context a readable descriptor. The registration is kept from call to call
// for as long as the same context comes, so that only the first of them allocates.
type waker struct {
	pipe  [2]int
	made  bool
	done  <-chan struct{}
	stop  func() bool
	fired chan struct{}
}

// watch gives the descriptor to poll, -1 for a context that cannot end.
func (k *waker) watch(ctx context.Context) (int32, error) {
	done := ctx.Done()
	if done == nil {
		return -1, nil
	}
	if !k.made {
		if err := newPipe(&k.pipe); err != nil {
			return -1, err
		}
		k.made = true
	}
	if done != k.done {
		k.forget()
		fired, w := make(chan struct{}), k.pipe[1]
		k.done, k.fired = done, fired
		k.stop = context.AfterFunc(ctx, func() {
			defer close(fired)
			_, _ = unix.Write(w, []byte{1}) // one byte into an empty pipe: it cannot fail
		})
	}
	return int32(k.pipe[0]), nil
}

// forget ends the registration. The byte must not be written later, perhaps into a descriptor of the same number.
func (k *waker) forget() {
	if k.done == nil {
		return
	}
	if !k.stop() {
		<-k.fired
		var b [1]byte
		_, _ = unix.Read(k.pipe[0], b[:])
	}
	k.done, k.stop, k.fired = nil, nil, nil
}

func (k *waker) close() {
	k.forget()
	if k.made {
		_ = unix.Close(k.pipe[0])
		_ = unix.Close(k.pipe[1])
		k.made = false
	}
}

package transport

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// poller is the zmtp engine's Poller: one poll(2) over every descriptor of its pulls.
type poller struct {
	pulls  []*pull
	fds    []unix.PollFd // the wake pipe, then each pull's, its own wake pipe left out
	ready  []int
	wake   waker
	closed bool
}

func pollZMTP(pulls []Pull) (Poller, error) {
	q := &poller{ready: make([]int, 0, len(pulls))}
	for i, p := range pulls {
		z, ok := p.(*pull)
		if !ok {
			return nil, fmt.Errorf("transport: pull %d is %T, which calls itself zmtp and is not", i, p)
		}
		q.pulls = append(q.pulls, z)
	}
	return q, nil
}

func (q *poller) Wait(ctx context.Context, timeout time.Duration) ([]int, error) {
	end := time.Now().Add(timeout)
	for left := timeout; ; left = max(time.Until(end), 0) {
		if err := q.usable(ctx); err != nil {
			return nil, err
		}
		if timeout < 0 {
			left = -1
		}
		if err := q.poll(ctx, left); err != nil {
			return nil, fmt.Errorf("transport: poller: %w", err)
		}
		if q.collect(); len(q.ready) > 0 || left == 0 {
			return q.ready, nil
		}
	}
}

func (q *poller) usable(ctx context.Context) error {
	if q.closed {
		return fmt.Errorf("transport: poller: %w", ErrClosed)
	}
	for i, p := range q.pulls {
		if p.closed {
			return fmt.Errorf("transport: poller: pull %d (%s): %w", i, p.endpoint, ErrClosed)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("transport: poller: %w", err)
	}
	return nil
}

// poll asks the kernel about every descriptor, without waiting when a pull has something already.
func (q *poller) poll(ctx context.Context, left time.Duration) error {
	fd, err := q.wake.watch(ctx)
	if err != nil {
		return err
	}
	q.fds = append(q.fds[:0], unix.PollFd{Fd: fd, Events: readable})
	for _, p := range q.pulls {
		p.fds[wakeAt].Fd = -1
		q.fds = append(q.fds, p.fds...)
		if left = sooner(left, p.patience()); p.pending() {
			left = 0
		}
	}
	if _, err := poll(q.fds, left); err != nil {
		return err
	}
	q.mark()
	return nil
}

// mark hands the kernel's answers to the pulls. Work that they had not got round to is found again.
func (q *poller) mark() {
	rest := q.fds[1:]
	for _, p := range q.pulls {
		for i := range p.fds {
			p.fds[i].Revents = rest[i].Revents
		}
		rest = rest[len(p.fds):]
	}
}

func (q *poller) collect() {
	q.ready = q.ready[:0]
	for i, p := range q.pulls {
		if p.pending() {
			q.ready = append(q.ready, i)
		}
	}
}

func (q *poller) Close() error {
	q.closed = true
	q.wake.close()
	return nil
}

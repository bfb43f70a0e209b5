package transport

import (
	"context"
	"fmt"
	"time"
)

// zmq4Poller is the zmq4 engine's Poller: the pulls' goroutines ring one bell, and Wait looks who it was.
type zmq4Poller struct {
	pulls  []*zmq4Pull
	bell   chan struct{}
	ready  []int
	closed bool
}

func pollZMQ4(pulls []Pull) (Poller, error) {
	q := &zmq4Poller{bell: make(chan struct{}, 1), ready: make([]int, 0, len(pulls))}
	for i, p := range pulls {
		z, ok := p.(*zmq4Pull)
		if !ok {
			return nil, fmt.Errorf("transport: pull %d is %T, which calls itself zmq4 and is not", i, p)
		}
		q.pulls = append(q.pulls, z)
	}
	for _, p := range q.pulls {
		p.bells.hang(q.bell)
	}
	return q, nil
}

func (q *zmq4Poller) Wait(ctx context.Context, timeout time.Duration) ([]int, error) {
	var end <-chan time.Time
	for {
		if err := q.usable(ctx); err != nil {
			return nil, err
		}
		if q.collect(); len(q.ready) > 0 || timeout == 0 {
			return q.ready, nil
		}
		if end == nil && timeout > 0 {
			timer := time.NewTimer(timeout)
			defer timer.Stop()
			end = timer.C
		}
		select {
		case <-q.bell:
		case <-end:
			q.collect()
			return q.ready, nil
		case <-ctx.Done():
		}
	}
}

func (q *zmq4Poller) usable(ctx context.Context) error {
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

func (q *zmq4Poller) collect() {
	q.ready = q.ready[:0]
	for i, p := range q.pulls {
		if p.pending() {
			q.ready = append(q.ready, i)
		}
	}
}

func (q *zmq4Poller) Close() error {
	if q.closed {
		return nil
	}
	q.closed = true
	for _, p := range q.pulls {
		p.bells.take(q.bell)
	}
	return nil
}

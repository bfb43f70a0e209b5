package detok

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/fanout"
	"github.com/fanoutbench/fanoutbench/runtime/router"
	"github.com/fanoutbench/fanoutbench/runtime/server/intake"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// routing is how rows are shared out: see package router.
const routing = "grouped-splice"

// share is the handler of the router before the detokenizers.
type share struct {
	*loop
	connected chan struct{} // closed when targets and the strategy are there
	targets   []transport.Push
}

// serveRouter receives from the start, as the scheduler connects meanwhile, and
// is ready when it has a connection to every detokenizer.
func serveRouter(parent context.Context, pull transport.Pull, l *loop) error {
	ctx, fail := context.WithCancelCause(parent)
	defer fail(nil)
	s := &share{loop: l, connected: make(chan struct{})}
	var connecting sync.WaitGroup
	connecting.Go(func() {
		if err := s.connect(ctx); err != nil {
			fail(err)
		}
	})
	err := l.serve(ctx, pull, s)
	fail(err)
	connecting.Wait()
	s.close()
	if err := context.Cause(ctx); err != context.Cause(parent) { // something failed first
		return err
	}
	return nil
}

func (s *share) connect(ctx context.Context) error {
	for i := range s.env.Args.DetokenizerWorkerNum {
		id := part.ID{Kind: part.Detokenizer, Index: i}
		push, err := transport.Connect(ctx, s.env.Args.ZMQ, s.env.Endpoint(id.String()), transport.Options{
			DialTimeout: time.Duration(s.env.Args.StartTimeout * float64(time.Second)),
			SendTimeout: sendTimeout,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		s.targets = append(s.targets, push)
	}
	if err := s.choose(); err != nil {
		return err
	}
	close(s.connected)
	s.env.Ready()
	return nil
}

func (s *share) choose() error {
	senders := make([]router.Sender, len(s.targets))
	for i, push := range s.targets {
		senders[i] = push
	}
	var counted router.Counters
	strategy, err := router.New(routing, router.Config{Rule: router.ByRID, Targets: senders, Counters: &counted})
	if err != nil {
		return err
	}
	s.batch, s.counted = strategy.Batch, func() fanout.Counters { return fanout.Counters(counted) }
	return nil
}

// Frame handles one message of the scheduler.
func (s *share) Frame(ctx context.Context, frame []byte) error {
	select {
	case <-s.connected:
	case <-ctx.Done():
		return ctx.Err()
	}
	if intake.Is(frame, freezeGC) {
		s.counts.Counter("freeze_gc_requests").Add(1)
		s.broadcast(frame)
		return nil
	}
	return s.take(frame)
}

// broadcast sends a frame that is no batch to every detokenizer.
func (s *share) broadcast(frame []byte) {
	for i, push := range s.targets {
		err := push.Send(frame)
		if err == nil {
			err = push.Flush()
		}
		if err != nil {
			s.faults.Log("a detokenizer cannot be reached", "detokenizer", i, "error", err)
			s.giveUp(fmt.Errorf("detokenizer-%d: %w", i, err))
		}
	}
}

// close closes the connections. A detokenizer may have ended first; what could not
// be sent for another reason was in a batch's error already.
func (s *share) close() {
	for i, push := range s.targets {
		if err := push.Close(); err != nil {
			s.env.Log.Debug("a connection to a detokenizer did not close cleanly", "detokenizer", i, "error", err)
		}
	}
}

package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/intake"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

const (
	// schedulerTimeout is long: a scheduler in a long step takes nothing. One that
	// has died is known at once.
	schedulerTimeout = 10 * time.Minute
	// workerTimeout is how long the answers wait for a worker that does not receive.
	workerTimeout = 10 * time.Second
)

// router is what both pumps share.
type router struct {
	env    part.Env
	wait   time.Duration // workerTimeout, but in tests
	counts *counters.Set
	faults *intake.Faults

	connected chan struct{}  // closed when scheduler is set
	scheduler transport.Push // the requests pump's, once connected

	mu      sync.Mutex
	workers map[string]*worker
	dials   sync.WaitGroup // registrations under way
}

// Run is the router's life.
func Run(ctx context.Context, e part.Env) error { return run(ctx, e, workerTimeout) }

func run(ctx context.Context, e part.Env, wait time.Duration) (err error) {
	set, err := counters.Create(part.CountersPath(e.Folder, e.ID), specs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	input, err := transport.Bind(e.Args.ZMQ, e.Endpoint(part.RouterInput), transport.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, input.Close()) }()
	answers, err := transport.Bind(e.Args.ZMQ, e.Endpoint(part.RouterAnswers), transport.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answers.Close()) }()
	r := newRouter(e, wait, set)
	defer r.faults.Close()
	return r.serve(ctx, input, answers)
}

func newRouter(e part.Env, wait time.Duration, set *counters.Set) *router {
	return &router{
		env: e, wait: wait, counts: set, faults: intake.NewFaults(e.Log),
		connected: make(chan struct{}), workers: map[string]*worker{},
	}
}

// serve runs the pumps until ctx ends or one of them fails.
func (r *router) serve(parent context.Context, input, answers transport.Pull) error {
	ctx, fail := context.WithCancelCause(parent)
	defer fail(nil)
	var all sync.WaitGroup
	start := func(what string, run func(context.Context) error) {
		all.Go(func() {
			if err := run(ctx); err != nil {
				fail(fmt.Errorf("router: %s: %w", what, err))
			}
		})
	}
	start("requests", func(ctx context.Context) error {
		return intake.Serve(ctx, input, r.counts.Beat("requests"), newRequests(r))
	})
	start("answers", func(ctx context.Context) error {
		return intake.Serve(ctx, answers, r.counts.Beat("answers"), newReplies(r))
	})
	start("scheduler", r.connect)
	all.Wait()
	r.dials.Wait()
	r.close()
	if err := context.Cause(ctx); err != context.Cause(parent) { // a pump was first
		return err
	}
	return nil
}

// connect makes the connection to the scheduler, which makes the router ready.
func (r *router) connect(ctx context.Context) error {
	push, err := transport.Connect(ctx, r.env.Args.ZMQ, r.env.Endpoint(part.Scheduler), transport.Options{
		DialTimeout: time.Duration(r.env.Args.StartTimeout * float64(time.Second)),
		SendTimeout: schedulerTimeout,
	})
	if err != nil {
		return err
	}
	r.scheduler = push
	close(r.connected)
	r.env.Ready()
	return nil
}

// close closes the connections. By now the other sides may have left, and what is
// queued for them is nobody's: such an error is told in the log only.
func (r *router) close() {
	if r.scheduler != nil {
		if err := r.scheduler.Close(); err != nil {
			r.env.Log.Debug("the connection to the scheduler did not close cleanly", "error", err)
		}
	}
	for _, w := range r.workers {
		if err := w.close(); err != nil {
			r.env.Log.Debug("a connection to a worker did not close cleanly", "error", err)
		}
	}
}

// drop counts and logs a frame that goes nowhere.
func (r *router) drop(counter, message string, attrs ...any) {
	r.counts.Counter(counter).Add(1)
	r.faults.Log(message, attrs...)
}

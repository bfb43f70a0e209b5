package detok

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/intake"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

const (
	// workerTimeout is how long a row waits for a worker that was never connected to.
	workerTimeout = 5 * time.Second
	// sendTimeout is how long a batch waits for a worker or detokenizer that
	// receives nothing, before it counts as gone.
	sendTimeout = 30 * time.Second
	// goneGrace is how long a part goes on when one that it sends to is gone.
	goneGrace = 5 * time.Second
)

// options are what tests change.
type options struct {
	tokenizer     func(args.Args) (detokenizer.Decoder, error)
	capacity      int           // of states; 0: the detokenizer's own
	workerTimeout time.Duration // see the constant
	grace         time.Duration // goneGrace
}

var defaults = options{
	tokenizer:     func(a args.Args) (detokenizer.Decoder, error) { return backend.NewTokenizer(a) },
	workerTimeout: workerTimeout,
	grace:         goneGrace,
}

// Run is the life of a detokenizer or of the router before several of them.
func Run(ctx context.Context, e part.Env) error { return run(ctx, e, defaults) }

func run(ctx context.Context, e part.Env, o options) (err error) {
	serve, specs := serveDetokenizer, detokenizerSpecs
	if e.ID.Kind == part.DetokenizerRouter {
		serve, specs = serveRouter, routerSpecs
	}
	set, err := counters.Create(part.CountersPath(e.Folder, e.ID), specs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	pull, err := transport.Bind(e.Args.ZMQ, e.Endpoint(e.ID.String()), transport.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pull.Close()) }()
	faults := intake.NewFaults(e.Log)
	defer faults.Close()
	if err := serve(ctx, pull, newLoop(e, o, set, faults)); err != nil {
		return fmt.Errorf("%s: %w", e.ID, err)
	}
	return nil
}

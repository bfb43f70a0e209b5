package detok

import (
	"context"
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/fanout"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// workers are a detokenizer's connections to HTTP workers.
type workers struct {
	loop  *loop
	known map[string]transport.Push
	gone  map[string]error // could not be connected to
}

func newWorkers(l *loop) workers {
	return workers{loop: l, known: map[string]transport.Push{}, gone: map[string]error{}}
}

// dial connects to a worker. The strategy keeps the connection, and asks again in
// a later batch where there is none.
func (w *workers) dial(ctx context.Context, ipc string) (fanout.Sender, error) {
	if err := w.gone[ipc]; err != nil {
		return nil, fmt.Errorf("not tried again: %w", err)
	}
	push, err := transport.Connect(ctx, w.loop.env.Args.ZMQ, ipc, transport.Options{
		DialTimeout: w.loop.options.workerTimeout,
		SendTimeout: sendTimeout,
	})
	if err != nil {
		w.gone[ipc] = err
		return nil, err
	}
	w.known[ipc] = push
	return push, nil
}

// close closes the connections. What they say was in a batch's error already, or
// it is that the worker has ended first.
func (w *workers) close() {
	for ipc, push := range w.known {
		if err := push.Close(); err != nil {
			w.loop.env.Log.Debug("a connection to a worker did not close cleanly", "http_worker_ipc", ipc, "error", err)
		}
	}
}

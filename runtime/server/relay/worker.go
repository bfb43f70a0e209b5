package relay

import (
	"context"
	"sync"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// worker is the connection to one HTTP worker. The registration's goroutine and
// the pump of answers use it.
type worker struct {
	ipc string

	mu     sync.Mutex
	push   transport.Push
	queued uint64 // answers since the last flush
}

// send queues one answer. On an error lost says how many answers are lost with
// it, that one included.
func (w *worker) send(frame []byte) (lost uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queued++
	if err := w.push.Send(frame); err != nil {
		lost, w.queued = w.queued, 0
		return lost, err
	}
	return 0, nil
}

// flush writes what is queued, and says how many answers that were.
func (w *worker) flush() (sent, lost uint64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.queued
	w.queued = 0
	if n == 0 {
		return 0, 0, nil
	}
	if err := w.push.Flush(); err != nil {
		return 0, n, err
	}
	return n, 0, nil
}

func (w *worker) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.push.Close()
}

// find gives the worker that has registered under that name, or nil.
func (r *router) find(ipc string) *worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.workers[ipc]
}

func (r *router) all() []*worker {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*worker, 0, len(r.workers))
	for _, w := range r.workers {
		list = append(list, w)
	}
	return list
}

// lose counts and logs n answers that w does not get.
func (r *router) lose(w *worker, n uint64, err error) {
	r.counts.Counter("answers_dropped_unreachable").Add(n)
	r.faults.Log("a worker cannot be reached", "http_worker_ipc", w.ipc, "answers_lost", n, "error", err)
}

// enlist connects to a worker, makes it known, and sends its registration back.
// The worker's lock is held from before it is known until that has been written,
// so that no answer is before it.
func (r *router) enlist(ctx context.Context, ipc string, frame []byte) {
	push, err := transport.Connect(ctx, r.env.Args.ZMQ, ipc, transport.Options{SendTimeout: r.wait})
	if err != nil {
		r.failed(ctx, ipc, err)
		return
	}
	w := &worker{ipc: ipc, push: push}
	w.mu.Lock()
	defer w.mu.Unlock()
	r.replace(w)
	if err := push.Send(frame); err != nil {
		r.failed(ctx, ipc, err)
		return
	}
	if err := push.Flush(); err != nil {
		r.failed(ctx, ipc, err)
		return
	}
	r.counts.Counter("registrations").Add(1)
}

// replace makes w known in place of an earlier connection of the same name.
func (r *router) replace(w *worker) {
	r.mu.Lock()
	old := r.workers[w.ipc]
	r.workers[w.ipc] = w
	r.mu.Unlock()
	if old == nil {
		return
	}
	sent, lost, err := old.flush()
	r.counts.Counter("answers_forwarded").Add(sent)
	if err != nil {
		r.lose(old, lost, err)
	}
	if err := old.close(); err != nil {
		r.env.Log.Debug("a connection to a worker did not close cleanly", "error", err)
	}
}

// failed is a registration that came to nothing; at the router's end that is no fault.
func (r *router) failed(ctx context.Context, ipc string, err error) {
	if ctx.Err() == nil {
		r.drop("registrations_failed", "a worker that wants to register cannot be reached", "worker_ipc_name", ipc, "error", err)
	}
}

package relay

import (
	"bytes"
	"context"
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/intake"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// registration is the class of frames that the router keeps.
var registration = (*request.TokenizerWorkerRegistrationReq)(nil).Class()

// requests is the pump towards the scheduler.
type requests struct {
	*router
	push   transport.Push // nil until the first frame
	queued uint64         // frames since the last flush
	bytes  uint64         // of these

	forwarded, forwardedBytes *counters.Counter
}

func newRequests(r *router) *requests {
	return &requests{router: r, forwarded: r.counts.Counter("requests_forwarded"), forwardedBytes: r.counts.Counter("request_bytes_forwarded")}
}

func (q *requests) Frame(ctx context.Context, frame []byte) error {
	if intake.Is(frame, registration) {
		q.register(ctx, frame)
		return nil
	}
	if q.push == nil {
		select {
		case <-q.connected:
			q.push = q.scheduler
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	q.queued++
	q.bytes += uint64(len(frame))
	return q.push.Send(frame)
}

func (q *requests) Flush() error {
	if q.queued == 0 {
		return nil
	}
	if err := q.push.Flush(); err != nil {
		return err
	}
	q.forwarded.Add(q.queued)
	q.forwardedBytes.Add(q.bytes)
	q.queued, q.bytes = 0, 0
	return nil
}

func (q *requests) Peer(err error) {
	q.drop("peers_dropped", "a sender of requests broke the transport's rules", "error", err)
}

// register reads a registration and connects to the worker beside the pump.
func (q *requests) register(ctx context.Context, frame []byte) {
	ipc, err := workerName(frame)
	if err != nil {
		q.drop("frames_malformed", "a registration cannot be read", "error", err)
		return
	}
	frame = bytes.Clone(frame)
	q.dials.Go(func() { q.enlist(ctx, ipc, frame) })
}

func workerName(frame []byte) (string, error) {
	m, err := request.Decode(frame)
	if err != nil {
		return "", err
	}
	r, ok := m.(*request.TokenizerWorkerRegistrationReq)
	switch {
	case !ok:
		return "", fmt.Errorf("got class %s, want %s", m.Class(), registration)
	case r.WorkerIPCName == "":
		return "", fmt.Errorf("%s.worker_ipc_name is empty, want the worker's endpoint", registration)
	}
	return r.WorkerIPCName, nil
}

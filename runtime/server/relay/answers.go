package relay

import (
	"context"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// replies is the pump towards the workers.
type replies struct {
	*router
	queued []*worker // have frames since the last flush

	forwarded *counters.Counter
}

func newReplies(r *router) *replies {
	return &replies{router: r, forwarded: r.counts.Counter("answers_forwarded")}
}

func (a *replies) Frame(_ context.Context, frame []byte) error {
	ipc, err := request.WorkerIPC(frame)
	switch {
	case err != nil:
		a.drop("frames_malformed", "an answer cannot be read", "error", err)
	case ipc == "":
		a.withoutName(frame)
	default:
		w := a.find(ipc)
		if w == nil {
			a.drop("answers_dropped_unknown", "an answer for a worker that has not registered", "http_worker_ipc", ipc)
			return nil
		}
		a.queue(w, frame)
	}
	return nil
}

// withoutName sends to every worker what ends every worker's requests.
func (a *replies) withoutName(frame []byte) {
	m, err := request.Decode(frame)
	if err != nil {
		a.drop("frames_malformed", "an answer cannot be read", "error", err)
		return
	}
	if r, ok := m.(*request.AbortReq); !ok || !r.AbortAll {
		a.drop("answers_dropped_unknown", "an answer without http_worker_ipc", "class", m.Class())
		return
	}
	for _, w := range a.all() {
		a.queue(w, frame)
	}
}

func (a *replies) queue(w *worker, frame []byte) {
	if lost, err := w.send(frame); err != nil {
		a.lose(w, lost, err)
		return
	}
	if !slices.Contains(a.queued, w) {
		a.queued = append(a.queued, w)
	}
}

func (a *replies) Flush() error {
	for _, w := range a.queued {
		sent, lost, err := w.flush()
		if err != nil {
			a.lose(w, lost, err)
		}
		a.forwarded.Add(sent)
	}
	clear(a.queued)
	a.queued = a.queued[:0]
	return nil
}

func (a *replies) Peer(err error) {
	a.drop("peers_dropped", "a sender of answers broke the transport's rules", "error", err)
}

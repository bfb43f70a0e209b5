package worker

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/router"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// routing is what makes a worker a router.
type routing struct {
	targets  []router.Sender
	counters router.Counters
}

// route makes a worker with targets a router; of any other it returns nil.
func (w *worker) route() (*routing, error) {
	if (w.conf.Router == "") != (len(w.conf.Targets) == 0) {
		return nil, fmt.Errorf("worker: router %q with %d targets, want both or neither", w.conf.Router, len(w.conf.Targets))
	}
	if w.conf.Router == "" {
		return nil, nil
	}
	r := &routing{}
	for _, endpoint := range w.conf.Targets {
		r.targets = append(r.targets, &target{worker: w, endpoint: endpoint})
	}
	_, err := r.strategy(w.conf)
	return r, err
}

func (r *routing) strategy(conf protocol.Configure) (router.Strategy, error) {
	return router.New(conf.Strategy, router.Config{Rule: conf.Router, Targets: r.targets, Counters: &r.counters})
}

// target is a detokenizer's input, dialled on its first message as HTTP workers
// are. One that could not be dialled is dialled again at the next.
type target struct {
	worker   *worker
	endpoint string
	sender   transport.Push
}

func (t *target) Send(frame []byte) (err error) {
	if t.sender == nil {
		if t.sender, err = t.worker.connect(t.endpoint); err != nil {
			return fmt.Errorf("dial: %w", err)
		}
	}
	return t.sender.Send(frame)
}

func (t *target) Flush() error { return t.sender.Flush() }

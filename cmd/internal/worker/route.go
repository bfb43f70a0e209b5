package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/router"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// routing is what makes a worker a router.
type routing struct {
	targets  []router.Sender
	counters router.Counters
}

// connect reaches the detokenizers of a router; of a detokenizer it is nil.
func (w *worker) connect() (*routing, error) {
	if (w.conf.Router == "") != (len(w.conf.Targets) == 0) {
		return nil, fmt.Errorf("worker: router %q with %d targets, want both or neither", w.conf.Router, len(w.conf.Targets))
	}
	if w.conf.Router == "" {
		return nil, nil
	}
	r := &routing{}
	wait := time.Duration(w.conf.SendMS) * time.Millisecond
	for _, endpoint := range w.conf.Targets {
		push, err := transport.Connect(context.Background(), w.conf.ZMQ, endpoint, transport.Options{SendTimeout: wait, DialTimeout: wait})
		if err != nil {
			return nil, fmt.Errorf("worker: connect to detokenizers: %w", err)
		}
		w.senders[endpoint] = push
		r.targets = append(r.targets, push)
	}
	_, err := r.strategy(w.conf)
	return r, err
}

func (r *routing) strategy(conf protocol.Configure) (router.Strategy, error) {
	return router.New(conf.Strategy, router.Config{Rule: conf.Router, Targets: r.targets, Counters: &r.counters})
}

package detok

import (
	"context"
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/fanout"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/intake"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// detok is a detokenizer's handler.
type detok struct {
	*loop
	states  *detokenizer.Detokenizer
	workers workers

	evicted *counters.Counter
	live    *counters.Gauge
}

func serveDetokenizer(ctx context.Context, pull transport.Pull, l *loop) error {
	states, err := newStates(l)
	if err != nil {
		return err
	}
	d := &detok{loop: l, states: states, workers: newWorkers(l), evicted: l.counts.Counter("evicted_states"), live: l.counts.Gauge("states")}
	defer d.workers.close()
	if err := d.choose(ctx); err != nil {
		return err
	}
	l.env.Ready()
	return l.serve(ctx, pull, d)
}

func newStates(l *loop) (*detokenizer.Detokenizer, error) {
	decoder, err := l.options.tokenizer(l.env.Args)
	if err != nil {
		return nil, err
	}
	return detokenizer.NewMethod(detokenizer.Method(l.env.Args.DetokenizeMethod), decoder, detokenizer.Options{Capacity: l.options.capacity})
}

// choose makes the strategy that the settings name.
func (d *detok) choose(ctx context.Context) error {
	name := d.env.Args.FanoutStrategy
	var counted fanout.Counters
	strategy, err := fanout.New(name, fanout.Config{
		Detokenizer: d.states,
		Dial:        func(ipc string) (fanout.Sender, error) { return d.workers.dial(ctx, ipc) },
		Counters:    &counted,
	})
	if err != nil {
		return err
	}
	if _, prepared := strategy.(fanout.Prepared); prepared {
		return fmt.Errorf("fanout strategy %s sends frames that were prepared, expected one that detokenizes", name)
	}
	d.batch, d.counted = strategy.Batch, func() fanout.Counters { return counted }
	return nil
}

// Frame handles one message of the scheduler, or of the router.
func (d *detok) Frame(_ context.Context, frame []byte) error {
	if intake.Is(frame, freezeGC) {
		d.counts.Counter("freeze_gc_requests").Add(1)
		return nil
	}
	before := d.states.Evicted()
	err := d.take(frame)
	d.evicted.Add(uint64(d.states.Evicted() - before))
	d.live.Set(float64(d.states.Len()))
	return err
}

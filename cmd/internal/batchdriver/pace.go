package batchdriver

import (
	"context"
	"time"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// paceGap is what lies between the planned end of an open loop and the start of the
// next, for the last answers to come and for what is asked after a trial.
const paceGap = 3 * time.Second

// pace waits until a trial is to start. All shards of a load have the same trials in
// the same order, so that with one start they send at the same times, as well as their
// clocks agree. A trial that cannot start in time starts at once, and its record says
// when.
func (d *driver) pace(ctx context.Context, c batchrun.Cell) error {
	if d.conf.StartAt.IsZero() {
		return nil
	}
	at := d.conf.StartAt.Add(time.Duration(d.done) * paceOf(c))
	wait := time.Until(at)
	if wait < 0 {
		d.note("a trial could not start when it was to, first by %v: shards may not have sent at the same times", (-wait).Round(time.Millisecond))
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// paceOf is the time from one start to the next.
func paceOf(c batchrun.Cell) time.Duration {
	return time.Duration(c.Seconds*float64(time.Second)) + paceGap
}

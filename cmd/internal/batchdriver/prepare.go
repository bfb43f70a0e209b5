package batchdriver

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// prepare runs both servers once, to find out what the plan needs to know.
func (d *driver) prepare(ctx context.Context) (err error) {
	d.conf.say("%s", d.conf.awaited())
	nowhere := map[string]io.Writer{batchrun.Reference: io.Discard, batchrun.Candidate: io.Discard}
	var rps, tolerance float64
	servers, err := startPair(ctx, d.conf, nowhere, 0)
	if err == nil {
		if rps, tolerance, err = d.probe(ctx, servers); err == nil {
			err = servers.err()
		}
		err = errors.Join(err, servers.stop())
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("interrupted before there was a plan, so there is no run folder: %w", err)
	case err != nil:
		return err
	}
	d.plan, d.schedules, err = plan(d.conf, d.requests, rps, tolerance)
	return err
}

func (d *driver) probe(ctx context.Context, servers pair) (rps, tolerance float64, err error) {
	if d.requests, err = makeRequests(ctx, d.conf, servers); err != nil {
		return 0, 0, err
	}
	if err := d.requests.learn(ctx, servers[batchrun.Reference]); err != nil {
		return 0, 0, err
	}
	if r := d.requests.raised; r.Raised {
		d.note("the limit of open files was raised from %d to %d, the hard limit, for as long as the run took", r.Before, r.Limit)
	}
	if tolerance, err = d.tolerance(ctx, servers[batchrun.Reference]); err != nil {
		return 0, 0, err
	}
	rps = d.conf.Load.RPS
	if rps == 0 && d.conf.Load.Items > 0 {
		rps, err = d.requests.findRate(ctx, d.conf, servers)
	}
	return rps, tolerance, err
}

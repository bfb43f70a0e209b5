package batchdriver

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

type driver struct {
	conf      *Config
	requests  *requests
	plan      batchrun.Plan
	schedules map[[2]int]load.Schedule
	run       *batchrun.Run
	logs      map[string]io.Writer
	files     []*results.Log
	servers   pair
	about     map[string]batchrun.Arm
	notes     []string
	done      int
}

// Run probes, plans and runs. The error is ErrNotVerified with a complete result, or
// what kept a result from being made.
func Run(ctx context.Context, conf Config) (batchrun.Result, error) {
	d := &driver{conf: &conf, logs: map[string]io.Writer{}, about: map[string]batchrun.Arm{}}
	if err := d.prepare(ctx); err != nil {
		return batchrun.Result{}, err
	}
	run, err := batchrun.Create(conf.Output, d.plan)
	if err != nil {
		return batchrun.Result{}, err
	}
	d.run, d.plan = run, run.Plan()
	out := batchrun.Outcome{Environment: results.CaptureEnvironment(conf.Command)}
	if conf.Repeat != nil {
		out.Repeat = conf.Repeat(d.plan)
	}
	clock, err := startClock()
	if err != nil {
		return batchrun.Result{}, errors.Join(err, run.Close())
	}
	ending := d.all(ctx)
	out.Environment.End()
	if out.Clock, err = clock.end(); err != nil {
		ending = errors.Join(ending, err)
	}
	out.Arms, out.Warnings = d.about, d.notes
	if ending != nil {
		out.Failure = ending.Error()
		if ctx.Err() != nil {
			out.Failure = "interrupted: " + out.Failure
		}
	}
	result, err := run.Finish(out)
	if err != nil {
		return result, errors.Join(ending, err)
	}
	if result.Verdict.Status != results.StatusVerified {
		return result, ErrNotVerified
	}
	return result, nil
}

// all runs every round, and leaves no server and no open file behind.
func (d *driver) all(ctx context.Context) (err error) {
	defer func() {
		err = errors.Join(err, d.servers.stop())
		for _, f := range d.files {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := writeSchedules(d.run.Dir(), d.schedules); err != nil {
		return err
	}
	if err := d.openLogs(); err != nil {
		return err
	}
	if err := d.describe(); err != nil {
		return err
	}
	for round := range d.plan.Rounds {
		if err := d.round(ctx, round); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}

func (d *driver) openLogs() error {
	for _, name := range arms {
		f, err := results.NewLog(d.run.LogPath(name))
		if err != nil {
			return fmt.Errorf("batchdriver: %w", err)
		}
		d.files = append(d.files, f)
		d.logs[name] = f
	}
	return nil
}

// round gives every cell to both arms.
func (d *driver) round(ctx context.Context, round int) error {
	if d.servers == nil {
		if err := d.start(ctx, round); err != nil {
			return err
		}
	}
	for slot := range d.plan.Trials() {
		if slot.Round != round {
			continue
		}
		if err := d.trial(ctx, slot); err != nil {
			return fmt.Errorf("cell %d (%s), %s: %w", slot.Cell, d.plan.Cells[slot.Cell], slot.Arm, err)
		}
		d.done++
		if d.conf.Progress != nil {
			d.conf.Progress.Trial(d.done, d.plan.Len(), slot)
		}
	}
	for _, s := range d.servers {
		s.used = true
	}
	if d.conf.Restart != batchrun.RestartRound {
		return nil
	}
	servers := d.servers
	d.servers = nil
	return servers.stop()
}

// start starts the servers and lets them answer the warm-up.
func (d *driver) start(ctx context.Context, round int) (err error) {
	if d.servers, err = startPair(ctx, d.conf, d.logs, records(d.plan)); err != nil {
		return err
	}
	for _, name := range d.plan.Order(round) {
		if err := d.warmUp(ctx, round, name); err != nil {
			return fmt.Errorf("%s: warm-up: %w", name, err)
		}
		if err := errors.Join(d.meet(ctx, name), d.witness(ctx, round, name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// warmUp sends requests of each size. What they become is not looked at: a server
// that answers none of them is told by its trials.
func (d *driver) warmUp(ctx context.Context, round int, name string) error {
	if d.plan.Warmup == 0 {
		return nil
	}
	for _, size := range d.conf.Load.sizes() {
		s, err := d.requests.set(size, d.runName(round, "w", name))
		if err != nil {
			return err
		}
		all, err := bodies(s, d.plan.Warmup)
		if err != nil {
			return err
		}
		if _, err := load.Sequential(ctx, d.plan.Warmup, d.requests.target(s, d.servers[name]), all, nil); err != nil {
			return err
		}
	}
	return d.servers.err()
}

// runName is in the rids of a trial's requests.
func (d *driver) runName(round int, cell, arm string) string {
	return fmt.Sprintf("%x-%d-%s-%s", d.plan.Seed, round, cell, arm[:3])
}

// note is a warning of the result, told once.
func (d *driver) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, known := range d.notes {
		if known == text {
			return
		}
	}
	d.notes = append(d.notes, text)
}

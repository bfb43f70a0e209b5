package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/oracle"
	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// Process lifetimes.
const (
	ProcessRound = "round"
	ProcessRun   = "run"
	ProcessSpawn = "spawn"
)

// Progress hears of every trial as it ends, warm-ups included, and of a run that
// ends before its plan's last round, since every primary cell is settled.
type Progress interface {
	Trial(done, total int, round int)
	Settled(rounds, of int)
}

// Config is a run to do.
type Config struct {
	Plan     results.Plan
	Source   stream.Source      // of the plan's streams
	Arms     map[string]arm.Arm // reference, candidate, and the control of a plan that has one
	Output   string             // folder to make
	Command  []string           // for the record
	Progress Progress
	Profile  bool // profile the workers after the last round

	AnyPackages bool // compare SGLang arms whose libraries are of different versions
}

// ErrNotVerified is the error of a run that ended invalid or incomplete; the
// result says why.
var ErrNotVerified = errors.New("the run is not verified")

type driver struct {
	conf     Config
	plan     results.Plan
	run      *results.Run
	dir      string // private folder
	sessions map[string]*arm.Session
	resting  map[string]*arm.Session // between two rounds: controllers that can be used again
	logs     map[string]*results.Log
	about    map[string]results.Arm
	layouts  map[string]oracle.Layout
	works    map[string]*work
	out      results.Outcome
	done     int
	settled  bool // an anytime plan's run ends with the round that it is in
	warnings []string
	sources  []results.Source // of this program, as the run began
}

// work is one stream on disk with what it must deliver, shared by the arms.
type work struct {
	file protocol.File
	want *oracle.Expectation
	left int // arms that have yet to have it
}

// Run runs the plan. The error is an operational one (the folder cannot be
// made or written) or ErrNotVerified with a complete result.
func Run(ctx context.Context, conf Config) (result results.Result, err error) {
	run, err := results.Create(conf.Output, conf.Plan)
	if err != nil {
		return result, err
	}
	d := &driver{
		conf: conf, plan: conf.Plan, run: run,
		sessions: map[string]*arm.Session{}, resting: map[string]*arm.Session{}, logs: map[string]*results.Log{},
		about: map[string]results.Arm{}, layouts: map[string]oracle.Layout{}, works: map[string]*work{},
	}
	d.out.Environment = results.CaptureEnvironment(conf.Command)
	ending := d.all(ctx)
	d.out.Environment.End()
	d.out.Arms = d.about
	d.out.Verdict = d.verdict(ctx, ending)
	result, err = run.Finish(d.out)
	if err != nil {
		return result, errors.Join(ending, err)
	}
	if result.Verdict.Status != results.StatusVerified {
		return result, ErrNotVerified
	}
	return result, nil
}

// all runs every round, until the plan is settled, and leaves no process, folder or open file behind.
func (d *driver) all(ctx context.Context) (err error) {
	if d.dir, err = arm.PrivateDir(); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, d.stop(ctx))
		for _, f := range d.logs {
			err = errors.Join(err, f.Close())
		}
		err = errors.Join(err, os.RemoveAll(d.dir))
	}()
	if err := d.openLogs(); err != nil {
		return err
	}
	if err := d.readSources(); err != nil {
		return err
	}
	for round := -1; round < d.plan.Rounds && !d.settled; round++ {
		if err := d.round(ctx, round); err != nil {
			return err
		}
	}
	if d.conf.Profile {
		return d.profileAll(ctx)
	}
	return nil
}

func (d *driver) openLogs() error {
	for name := range d.conf.Arms {
		f, err := d.run.OpenLog(name)
		if err != nil {
			return fmt.Errorf("driver: %w", err)
		}
		d.logs[name] = f
	}
	return nil
}

func (d *driver) round(ctx context.Context, round int) error {
	order := d.plan.Order(round)
	if len(d.sessions) == 0 {
		if err := d.start(ctx, round, order); err != nil {
			return err
		}
		if round == -1 {
			if err := d.full(ctx, order); err != nil {
				return err
			}
		}
		if err := d.warmUp(ctx, round, order); err != nil {
			return err
		}
	}
	for slot := range d.plan.Trials() {
		if slot.Round != round {
			continue
		}
		if err := d.trial(ctx, slot); err != nil {
			return err
		}
	}
	if err := d.look(round); err != nil || d.plan.Process == ProcessRun {
		return err
	}
	err := d.endRound(ctx, round)
	for _, name := range order {
		err = errors.Join(err, os.RemoveAll(d.folder(name, round)))
	}
	return err
}

// folder is where the processes that start in a round have their sockets and
// bulk files.
func (d *driver) folder(name string, round int) string {
	return filepath.Join(d.dir, fmt.Sprintf("%s-%d", name, round+1))
}

// look asks, after a whole round, whether an anytime plan is settled.
func (d *driver) look(round int) error {
	settled, err := d.run.Settled()
	if err != nil {
		return fmt.Errorf("driver: after round %d: %w", round, err)
	}
	if d.settled = settled; settled && round+1 < d.plan.Rounds && d.conf.Progress != nil {
		d.conf.Progress.Settled(round+1, d.plan.Rounds)
	}
	return nil
}

func (d *driver) warmUp(ctx context.Context, round int, order []string) error {
	for _, cell := range plan.Cells(d.plan) {
		for _, name := range order {
			slot := results.Slot{Round: round, Repetition: stream.WarmupRepetition, Count: cell.Count, Metadata: cell.Metadata, Arm: name}
			v, err := d.verified(ctx, slot)
			if err != nil {
				return err
			}
			d.out.WarmupRows += v.work.want.Rows()
		}
	}
	return nil
}

func (d *driver) trial(ctx context.Context, slot results.Slot) error {
	v, err := d.verified(ctx, slot)
	if err != nil {
		return err
	}
	m := v.result.Metrics
	err = d.run.Append(results.Trial{
		Round: slot.Round, Repetition: slot.Repetition, Count: slot.Count, Metadata: slot.Metadata,
		Arm: slot.Arm, Position: slot.Position, Layout: d.plan.LayoutIn(slot.Arm, slot.Round),
		CompleteMS: m.CompleteMS, FirstMS: m.FirstMS, FirstAllMS: m.FirstAllMS, SpreadMS: m.SpreadMS, WorkerCPUMS: m.WorkerCPUMS,
		OuterMS: v.outerMS, IdleCPUMS: v.idleMS, Counters: v.result.Counters,
		Rows: v.work.want.Rows(), FenceRows: v.work.want.FenceRows(),
		WorkSHA256: v.work.file.SHA256, RowsSHA256: v.result.Rows.SHA256, StartedAt: v.started, Disturbance: v.beside,
	})
	if err != nil {
		return &located{err: err, arm: slot.Arm, slot: slot, cell: true}
	}
	d.out.VerifiedRows += v.work.want.Rows()
	d.out.FenceRows += v.work.want.FenceRows()
	return nil
}

func milliseconds(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }

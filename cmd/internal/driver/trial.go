package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cpuclock"
	"github.com/fanoutbench/fanoutbench/cmd/internal/oracle"
	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// verified is a trial whose rows were all right.
type verified struct {
	work    *work
	result  protocol.Result
	started time.Time
	beside  *results.Disturbance
	outerMS float64
	idleMS  *float64
}

// verified runs one trial and has its rows judged. Errors are *located.
func (d *driver) verified(ctx context.Context, slot results.Slot) (verified, error) {
	v, err := d.judged(ctx, slot)
	if err != nil {
		return v, &located{err: err, arm: slot.Arm, slot: slot, cell: true}
	}
	d.progress(slot.Round)
	return v, nil
}

func (d *driver) progress(round int) {
	d.done++
	if d.conf.Progress != nil {
		d.conf.Progress.Trial(d.done, d.total(), round)
	}
}

// total is the number of trials, warm-ups included, of a run that is not settled
// before its last round.
func (d *driver) total() int {
	arms := len(d.plan.Arms())
	warmups := arms * len(plan.Cells(d.plan))
	if d.plan.Process != ProcessRun {
		warmups *= d.plan.Rounds + 1
	}
	return d.plan.Len() + warmups + arms // and the full stream of each arm
}

func (d *driver) judged(ctx context.Context, slot results.Slot) (verified, error) {
	w, err := d.work(slot)
	if err != nil {
		return verified{}, err
	}
	v := verified{work: w, started: time.Now().UTC()}
	t := protocol.Trial{
		ID:    fmt.Sprintf("%d.%d.%d.%s", slot.Round, slot.Repetition, slot.Count, slot.Metadata),
		Round: slot.Round, Repetition: slot.Repetition,
		Cell: protocol.Cell{Count: slot.Count, Metadata: slot.Metadata}, Work: w.file,
		Profile: d.profilePath(slot),
	}
	err = d.judge(ctx, slot, t, &v)
	if err == nil {
		d.warnUnjudged(slot.Arm, w.want.Unjudged(d.layouts[slot.Arm]))
	}
	return v, err
}

// judge runs one trial and has its rows judged.
func (d *driver) judge(ctx context.Context, slot results.Slot, t protocol.Trial, v *verified) error {
	if err := d.play(ctx, slot, t, v); err != nil {
		return err
	}
	var delivery protocol.Delivery
	if err := protocol.ReadFile(v.result.Rows, &delivery); err != nil {
		return err
	}
	if err := v.work.want.Check(d.layouts[slot.Arm], delivery.Rows); err != nil {
		return err
	}
	if v.result.Stalled != "" {
		return fmt.Errorf("the controller says %q, but every row was delivered", v.result.Stalled)
	}
	if ms := v.result.Metrics.CompleteMS; ms <= 0 || ms > v.outerMS {
		return fmt.Errorf("complete_ms is %v, want more than 0 and at most the %v ms that the driver's own clock measured around the whole trial", ms, v.outerMS)
	}
	return d.used(v.work)
}

// play runs the trial with all that can disturb it, and the other arms' CPU
// clocks, read before and after: nothing is read while it runs.
func (d *driver) play(ctx context.Context, slot results.Slot, t protocol.Trial, v *verified) error {
	pids := d.sessions[slot.Arm].PIDs()
	begin := results.ReadDisturbance("/", pids)
	idle := d.idle(slot.Arm)
	before, errBefore := cpuclock.Sum(idle)
	result, outer, err := d.sessions[slot.Arm].Trial(ctx, t, d.patience(slot))
	if err != nil {
		return err
	}
	v.result, v.outerMS = result, float64(outer.Nanoseconds())/1e6
	after, errAfter := cpuclock.Sum(idle)
	v.beside = begin.Until(results.ReadDisturbance("/", pids))
	if errors.Join(errBefore, errAfter) == nil {
		ms := float64((after - before).Nanoseconds()) / 1e6
		v.idleMS = &ms
		d.warnBusy(slot, ms, v.outerMS)
	}
	return nil
}

// A busy idle arm is one that used more than a tenth of the trial's time, and
// more than a garbage collection's worth.
const (
	busyShare = 0.1
	busyMS    = 5
)

func (d *driver) warnBusy(slot results.Slot, idleMS, outerMS float64) {
	if idleMS > busyMS && idleMS > busyShare*outerMS && len(d.warnings) < maxWarnings {
		d.warnings = append(d.warnings, fmt.Sprintf("%s: the idle arm used %.1f ms of CPU in %.1f ms", slot, idleMS, outerMS))
	}
}

const maxWarnings = 20

// warnUnjudged says once an arm what its message has no field for. Such an arm
// does less, so a comparison with it is not what it seems.
func (d *driver) warnUnjudged(name string, fields []string) {
	for _, f := range fields {
		w := fmt.Sprintf("the message of arm %s lacks %s: what the stream sent in it was neither delivered nor judged", name, f)
		if !slices.Contains(d.warnings, w) {
			d.warnings = append(d.warnings, w)
		}
	}
}

// idle are the processes of all arms but one.
func (d *driver) idle(running string) (pids []int) {
	for name, s := range d.sessions {
		if name != running {
			pids = append(pids, s.PIDs()...)
		}
	}
	return pids
}

// work makes the stream of a slot, or returns the one made for another arm.
func (d *driver) work(slot results.Slot) (*work, error) {
	cell := protocol.Cell{Count: slot.Count, Metadata: slot.Metadata}
	place, arms := plan.Place(d.plan, slot.Round, slot.Repetition, cell), len(d.plan.Arms())
	if slot.Round == d.plan.Rounds {
		place, arms = plan.ProfilePlace(d.plan, cell), len(profiledArms)
	}
	name := fmt.Sprintf("work-%08x.json", place.Ordinal)
	if w, ok := d.works[name]; ok {
		return w, nil
	}
	data, err := d.conf.Source.Work(place)
	if err != nil {
		return nil, err
	}
	return d.write(name, data, arms)
}

// write puts a stream into a file, for so many arms, and works out what it must
// deliver, with a fence and consumers as the arms' detokenizers need them.
func (d *driver) write(name string, data protocol.Work, arms int) (*work, error) {
	paths, err := plan.FencePaths(d.plan)
	if err != nil {
		return nil, err
	}
	if data.Fence, err = paths.Widen(data.Fence); err != nil {
		return nil, err
	}
	if d.plan.Loop == protocol.LoopRouter {
		if err := stream.Route(&data, d.plan.HTTPWorkers); err != nil {
			return nil, err
		}
	}
	w := &work{left: arms}
	if w.want, err = oracle.New(data, d.plan.HTTPWorkers); err != nil {
		return nil, err
	}
	if w.file, err = protocol.WriteFile(filepath.Join(d.dir, name), data); err != nil {
		return nil, err
	}
	d.works[name] = w
	return w, nil
}

// used drops a work file that all arms have had: a long run must not fill the
// disk with streams.
func (d *driver) used(w *work) error {
	w.left--
	if w.left > 0 {
		return nil
	}
	delete(d.works, filepath.Base(w.file.Path))
	return os.Remove(w.file.Path)
}

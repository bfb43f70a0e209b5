package results

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// sequence holds a row of trials against the plan's order, one at a time. It is
// what Append, reading and Summarize share.
type sequence struct {
	plan     Plan
	next     int
	rows     int
	fence    int
	shape    map[string]int    // rows of a trial by cell, fence rows by arm
	counters map[string]string // names that an arm reports, by arm
}

func newSequence(p Plan) *sequence {
	return &sequence{plan: p, shape: map[string]int{}, counters: map[string]string{}}
}

// take accepts the next trial or says what is wrong with it. After an error the
// sequence stands where it stood.
func (s *sequence) take(t Trial) error {
	if s.next >= s.plan.Len() {
		return fmt.Errorf("trial %d (%s) is surplus: the plan has %d", s.next+1, t.Slot(), s.plan.Len())
	}
	if want := s.plan.slot(s.next); t.Slot() != want {
		return fmt.Errorf("trial %d is %s, want %s", s.next+1, t.Slot(), want)
	}
	if err := t.check(); err != nil {
		return fmt.Errorf("trial %d (%s): %w", s.next+1, t.Slot(), err)
	}
	if err := s.plan.checkLayout(t); err != nil {
		return fmt.Errorf("trial %d (%s): %w", s.next+1, t.Slot(), err)
	}
	if err := s.checkShape(t); err != nil {
		return fmt.Errorf("trial %d (%s): %w", s.next+1, t.Slot(), err)
	}
	s.next++
	s.rows += t.Rows
	s.fence += t.FenceRows
	return nil
}

// checkShape holds the trial against the first one of its kind: a cell always
// has the same rows, an arm the same fence and the same counters.
func (s *sequence) checkShape(t Trial) error {
	cell := fmt.Sprintf("cell %d %s", t.Count, t.Metadata)
	names := strings.Join(slices.Sorted(maps.Keys(t.Counters)), " ")
	if want, ok := s.shape[cell]; ok && t.Rows != want {
		return unwanted("rows", t.Rows, "%d as in the first trial of the cell", want)
	}
	if want, ok := s.shape[t.Arm]; ok && t.FenceRows != want {
		return unwanted("fence_rows", t.FenceRows, "%d as in the first trial of the arm", want)
	}
	if want, ok := s.counters[t.Arm]; ok && names != want {
		return unwanted("the list of counters", names, "%q as in the first trial of the arm", want)
	}
	s.shape[cell], s.shape[t.Arm], s.counters[t.Arm] = t.Rows, t.FenceRows, names
	return nil
}

// complete says what is missing at the end.
func (s *sequence) complete() error {
	switch {
	case s.next < s.plan.Len():
		return fmt.Errorf("%d of %d trials are there, the next one would be %s", s.next, s.plan.Len(), s.plan.slot(s.next))
	case s.rows != s.plan.RowsPerRun:
		return fmt.Errorf("the trials have %d rows, the plan %d", s.rows, s.plan.RowsPerRun)
	case s.fence != s.plan.FencePerRun:
		return fmt.Errorf("the trials have %d fence rows, the plan %d", s.fence, s.plan.FencePerRun)
	}
	return nil
}

// Slot is the trial's place.
func (t Trial) Slot() Slot {
	return Slot{Round: t.Round, Repetition: t.Repetition, Count: t.Count, Metadata: t.Metadata, Arm: t.Arm, Position: t.Position}
}

// check holds a trial against what can be true of any trial.
func (t Trial) check() error {
	if err := t.checkTimes(); err != nil {
		return err
	}
	if len(t.Counters) > maxCounters {
		return unwanted("counters", len(t.Counters), "at most %d", maxCounters)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Counters)) {
		if v := t.Counters[name]; name == "" || len(name) > 100 || strings.ContainsAny(name, " \n") || !finite(v) {
			return unwanted(fmt.Sprintf("counters[%q]", shortened(name)), v, "a finite number under a name of 1 to 100 bytes without blanks")
		}
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"rows", t.Rows}, {"fence_rows", t.FenceRows}} {
		if f.value < 1 || f.value > maxRows {
			return unwanted(f.name, f.value, "1 to %d", maxRows)
		}
	}
	if t.StartedAt.IsZero() {
		return unwanted("started_at", t.StartedAt, "a time")
	}
	if err := t.Disturbance.Check(); err != nil {
		return err
	}
	if err := checkHash("work_sha256", t.WorkSHA256); err != nil {
		return err
	}
	return checkHash("rows_sha256", t.RowsSHA256)
}

const (
	maxCounters = 100
	maxRows     = 1 << 30
)

func (t Trial) checkTimes() error {
	for _, f := range []struct {
		name   string
		value  *float64
		within *float64 // the part cannot take longer than the whole
		whole  string
	}{
		{"outer_ms", &t.OuterMS, nil, ""},
		{"complete_ms", &t.CompleteMS, &t.OuterMS, "outer_ms"},
		{"first_ms", t.FirstMS, &t.CompleteMS, "complete_ms"},
		{"first_all_ms", t.FirstAllMS, &t.CompleteMS, "complete_ms"},
		{"spread_ms", t.SpreadMS, &t.CompleteMS, "complete_ms"},
		{"worker_cpu_ms", t.WorkerCPUMS, nil, ""},
		{"idle_cpu_ms", t.IdleCPUMS, nil, ""},
	} {
		switch {
		case f.value == nil:
		case !finite(*f.value) || *f.value < 0:
			return unwanted(f.name, *f.value, "a finite number of milliseconds, 0 or more")
		case f.within != nil && *f.value > *f.within:
			return unwanted(f.name, *f.value, "at most %s, %v", f.whole, *f.within)
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

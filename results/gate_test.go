package results

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// gated writes a verified run of the plan, reads it back and changes what was read.
func gated(t *testing.T, p Plan, change func(*Trial), arms func(map[string]Arm)) *Folder {
	t.Helper()
	r, out := familyRun(t, p, change)
	if arms != nil {
		arms(out.Arms)
	}
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	f, err := Read(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// times multiplies all times of an arm, which are 0.75 of the reference's for the
// candidate of the example, and up to an eighth more by chance for every arm.
func times(arm string, factor float64) func(*Trial) {
	return func(t *Trial) {
		if t.Arm == arm {
			for _, v := range []*float64{&t.CompleteMS, &t.OuterMS, t.FirstMS, t.FirstAllMS, t.SpreadMS, t.WorkerCPUMS} {
				if v != nil {
					*v *= factor
				}
			}
			t.OuterMS += 1000
		}
	}
}

// even leaves nothing to chance: every time is that of the count, and so much more
// in odd rounds as in the others less.
func even(candidate, wobble float64) func(*Trial) {
	return func(t *Trial) {
		ms := float64(t.Count)
		if t.Arm == Candidate {
			ms *= candidate * (1 + wobble*float64(t.Round%3-1))
		}
		t.CompleteMS, t.OuterMS = ms, ms+1
		*t.FirstMS, *t.FirstAllMS, *t.WorkerCPUMS = ms/4, ms/2, ms*1.5
	}
}

func uncontrolled() Plan {
	p := withFamily()
	rows := len(p.Arms())
	p.Control, p.ControlAt = nil, nil
	p.RowsPerRun, p.FencePerRun, p.FullRows = p.RowsPerRun/rows*2, p.FencePerRun/rows*2, p.FullRows/rows*2
	return p
}

// fewer is the plan with fewer rounds.
func fewer(p Plan, rounds int) Plan { return p.UpTo(rounds) }

func TestGateOfARun(t *testing.T) {
	missing := &CalibrationError{"there.json", CalibrationMissing, "no file"}
	failed := &CalibrationError{"there.json", CalibrationFailed, "no delay was found"}
	expired := &CalibrationError{"there.json", CalibrationExpired, "it held until noon"}
	same := func(arms map[string]Arm) { a := arms[Reference]; a.Spec = arms[Candidate].Spec; arms[Candidate] = a }
	for _, c := range []struct {
		name            string
		plan            Plan
		change          func(*Trial)
		arms            func(map[string]Arm)
		opt             GateOptions
		outcome, reason string
		said            []string // in a note or a warning
	}{
		{"faster", withFamily(), nil, nil, GateOptions{}, Pass, "none of 3 primary cells", []string{"a control ran"}},
		{"equal", uncontrolled(), even(1, 0.01), nil, GateOptions{Uncalibrated: missing}, Pass, "by more than 5 %", []string{"neither a control"}},
		{"slower", withFamily(), times(Candidate, 2), nil, GateOptions{}, Fail, "32 rich complete_ms", nil},
		{"slower by less than another margin", withFamily(), times(Candidate, 2), nil, GateOptions{MarginPct: 100}, Pass, "more than 100 %", []string{"not the plan's margin of 5 %", "chosen after the run"}},
		{"the plan's margin again", withFamily(), nil, nil, GateOptions{MarginPct: 5}, Pass, "", nil},
		{"noise", uncontrolled(), even(1, 0.3), nil, GateOptions{}, Unclear, "3 of 3 primary cells could be slower", nil},
		{"a failed control", withFamily(), times(Control, 2), nil, GateOptions{}, Unclear, "control failed", nil},
		{"a failed control, and slower", withFamily(), func(trial *Trial) { times(Control, 2)(trial); times(Candidate, 3)(trial) }, nil, GateOptions{}, Unclear, "control failed", nil},
		{"five rounds", fewer(withFamily(), 5), nil, nil, GateOptions{}, Unclear, "insufficient: 5 rounds, and no interval exists below 6", nil},
		{"a hole", withFamily(), func(trial *Trial) {
			if trial.Round == 3 && trial.Arm == Candidate {
				trial.WorkerCPUMS = nil
			}
		}, nil, GateOptions{}, Unclear, "worker_cpu_ms", nil},
		{"an own clock", withFamily(), nil, func(arms map[string]Arm) { a := arms[Candidate]; a.OwnClock = true; arms[Candidate] = a }, GateOptions{}, Pass, "", []string{"OWN CLOCK: the candidate (builtin:splice)"}},
		{"descriptive figures", withFamily(), nil, func(arms map[string]Arm) {
			a := arms[Candidate]
			a.Descriptive = "it cannot be forked"
			arms[Candidate] = a
		}, GateOptions{}, Unclear, "it cannot be forked; otherwise pass", []string{"DESCRIPTIVE: the figures of the candidate"}},
		{"identical arms, slower by chance", withFamily(), times(Candidate, 2), same, GateOptions{}, Pass, "same files", nil},
		{"identical arms", withFamily(), nil, same, GateOptions{Uncalibrated: failed}, Pass, "none of 3", []string{"same files", "no delay was found"}},
		{"a calibration that failed", uncontrolled(), even(0.5, 0.01), nil, GateOptions{Uncalibrated: failed}, Unclear, "calibration failed: no delay was found; otherwise pass", []string{"there.json"}},
		{"a calibration that failed stops a failure", uncontrolled(), even(2, 0.01), nil, GateOptions{Uncalibrated: failed}, Unclear, "otherwise regression", nil},
		{"a calibration that expired", uncontrolled(), even(0.5, 0.01), nil, GateOptions{Uncalibrated: expired}, Pass, "", []string{"there.json is expired: it held until noon; it is not used", "neither a control"}},
		{"no folder for calibrations", uncontrolled(), even(0.5, 0.01), nil, GateOptions{Uncalibrated: errors.New("no home")}, Pass, "", []string{"no home"}},
		{"calibrated", uncontrolled(), even(0.5, 0.01), nil, GateOptions{Calibration: &Calibration{Looks: 3, MadeAt: time.Unix(0, 0)}}, Pass, "", []string{"calibrated (1970-01-01): 0 of 3 looks"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if strings.HasPrefix(c.name, "identical") {
				c.plan.Candidate = c.plan.Reference
			}
			g, err := Gate(gated(t, c.plan, c.change, c.arms), c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if g.Outcome != c.outcome || !strings.Contains(g.Reason, c.reason) || g.Reason == "" {
				t.Errorf("%s: %s, want %s: %s", g.Outcome, g.Reason, c.outcome, c.reason)
			}
			said := strings.Join(append(g.Notes, g.Warnings...), "\n")
			for _, want := range c.said {
				if !strings.Contains(said, want) {
					t.Errorf("said is %q, want %q in it", said, want)
				}
			}
			if len(g.Cells) != len(c.plan.Primary) {
				t.Errorf("%d cells, want %d", len(g.Cells), len(c.plan.Primary))
			}
			for _, cell := range g.Cells {
				if cell.Outcome == "" || cell.Reason == "" || cell.Count != 32 {
					t.Errorf("cell %+v, want an outcome with its reason", cell)
				}
			}
		})
	}
}

// What says no more than it can: the bounds of a gate are those of the analysis.
func TestGateHasTheBoundsOfTheAnalysis(t *testing.T) {
	f := gated(t, withFamily(), nil, nil)
	g, err := Gate(f, GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range f.Result.Analysis.Primary {
		c := g.Cells[i]
		if *c.SlowdownPct != *a.SlowdownPct || *c.LowerPct != *a.LowerPct || *c.UpperPct != *a.UpperPct {
			t.Errorf("%s: %v, %v to %v; the analysis has %v, %v to %v", c.Primary, *c.SlowdownPct, *c.LowerPct, *c.UpperPct, *a.SlowdownPct, *a.LowerPct, *a.UpperPct)
		}
	}
}

func TestGateRefuses(t *testing.T) {
	_, err := Gate(gated(t, withFamily(), nil, nil), GateOptions{MarginPct: 1000})
	wantError(t, err, "margin is 1000", "0.1 to 100")
	plain, err := Read(exampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Gate(plain, GateOptions{})
	var none *NoFamilyError
	if !errors.As(err, &none) {
		t.Errorf("%v, want that there is no family", err)
	}
	wantError(t, err, plain.Dir, "no primary cells", "--counters")

	changed := gated(t, withFamily(), nil, nil)
	*changed.Result.Analysis.Primary[0].UpperPct = -90
	_, err = Gate(changed, GateOptions{})
	wantError(t, err, changed.Dir, "32 rich complete_ms", "recomputed")

	p := withFamily()
	r := create(t, p)
	out := familyOutcome(p, p.Rounds)
	out.Verdict = Verdict{Status: StatusIncomplete, Decision: DecisionNone, Failure: &Failure{Message: "interrupted"}}
	out.VerifiedRows, out.FenceRows, out.WarmupRows, out.FullRows = 0, 0, 0, 0
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	f, err := Read(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	_, err = Gate(f, GateOptions{})
	wantError(t, err, f.Dir, "incomplete", "interrupted")
	_, err = GateCounters(f, nil)
	wantError(t, err, f.Dir, "incomplete")
}

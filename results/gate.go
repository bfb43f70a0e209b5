package results

import (
	"fmt"
	"maps"
	"slices"

	"github.com/fanoutbench/fanoutbench/results/verdict"
	"github.com/fanoutbench/fanoutbench/stats"
)

// GateOptions are what a gate is asked with.
type GateOptions struct {
	MarginPct    float64      // 0: the plan's
	Earlier      []*Folder    // attempts at the same thing before this run, of one anytime plan
	Calibration  *Calibration // of the run's machine, if there is one
	Uncalibrated error        // why there is none, see LoadCalibration
}

// GatedTimes is what a gate says of a run's family: one of verdict.Pass,
// verdict.Fail and verdict.Unclear, with a cell each. Notes are what must be read
// beside it, Warnings what makes it worth less.
type GatedTimes struct {
	Outcome, Reason string
	Kind            string // of the plan, "fixed" or KindAnytime
	MarginPct       float64
	Rounds          int
	Cells           []GatedCell
	Notes, Warnings []string
}

// GatedCell is what a gate says of one primary cell; what does not exist is nil.
type GatedCell struct {
	Primary
	Outcome, Reason                 string
	SlowdownPct, LowerPct, UpperPct *float64 // as in PrimaryAnalysis
}

// NoFamilyError is a run whose plan has nothing to decide about.
type NoFamilyError struct{ Dir string }

func (e *NoFamilyError) Error() string {
	return fmt.Sprintf("the plan of %s has no primary cells, so there is nothing to decide: measure anew with a family (run has one unless --primary none), or ask for the counters alone (--counters default --counters-only)", e.Dir)
}

// Gate asks of a verified run whether its candidate may be slower than the
// reference by more than the margin. Its figures must follow from its trials. The
// error is a *NoFamilyError, a *JoinError, or what is wrong with a run.
func Gate(f *Folder, opt GateOptions) (GatedTimes, error) {
	for _, run := range append(slices.Clone(opt.Earlier), f) {
		if err := run.whole(); err != nil {
			return GatedTimes{}, err
		}
	}
	if len(f.Plan.Primary) == 0 {
		return GatedTimes{}, &NoFamilyError{f.Dir}
	}
	family, err := joined(f, opt.Earlier)
	if err != nil {
		return GatedTimes{}, err
	}
	g := GatedTimes{Kind: "fixed", MarginPct: f.Plan.MarginPct, Rounds: len(family.Cells[0].LogRatios)}
	if f.Plan.Kind != "" {
		g.Kind = f.Plan.Kind
	}
	if opt.MarginPct != 0 && opt.MarginPct != g.MarginPct {
		if opt.MarginPct < MinMargin || opt.MarginPct > MaxMargin {
			return g, unwanted("margin", opt.MarginPct, "%v to %v per cent", MinMargin, MaxMargin)
		}
		g.MarginPct = opt.MarginPct
		g.warn("the margin of %g %% is not the plan's margin of %g %%: it was chosen after the run", g.MarginPct, f.Plan.MarginPct)
	}
	family.Margin = g.MarginPct / 100
	if family.Control != nil {
		family.Control.Margin = family.Margin
	}
	if len(opt.Earlier) > 0 {
		g.note("the rounds of %d runs are one e-process: %s", len(opt.Earlier)+1, joinedNames(append(slices.Clone(opt.Earlier), f)))
	}
	if err := g.judge(f, family); err != nil {
		return g, err
	}
	g.doubts(f, opt)
	return g, nil
}

// whole says that a run is verified, and that its figures follow from its trials.
func (f *Folder) whole() error {
	if status := f.Result.Verdict.Status; status != StatusVerified {
		return fmt.Errorf("results: the run in %s is %s, want %s: %s", f.Dir, status, StatusVerified, f.Result.Verdict.Failure.text())
	}
	if err := f.CheckFigures(); err != nil {
		return fmt.Errorf("results: the run in %s: %w", f.Dir, err)
	}
	return nil
}

func (g *GatedTimes) warn(format string, args ...any) {
	g.Warnings = append(g.Warnings, fmt.Sprintf(format, args...))
}

func (g *GatedTimes) note(format string, args ...any) {
	g.Notes = append(g.Notes, fmt.Sprintf(format, args...))
}

// judge asks package verdict.
func (g *GatedTimes) judge(f *Folder, family verdict.Family) error {
	j, err := verdict.Judge(family)
	if err != nil {
		return fmt.Errorf("results: gate %s: %w", f.Dir, err)
	}
	gated := verdict.Gate(family, j)
	g.Outcome, g.Reason = gated.Outcome, gated.Reason
	for i, c := range primaries(f.Plan, j) {
		g.Cells = append(g.Cells, GatedCell{
			Primary: f.Plan.Primary[i], Outcome: gated.Cells[i].Outcome, Reason: gated.Cells[i].Reason,
			SlowdownPct: c.SlowdownPct, LowerPct: c.LowerPct, UpperPct: c.UpperPct,
		})
	}
	switch {
	case f.Result.Verdict.Decision == DecisionIdentical && g.Outcome != Pass:
		g.Reason = fmt.Sprintf("both arms executed the same files with the same options and dependencies: nothing can have become slower; by its trials alone it would be %s", g.Outcome)
		g.Outcome = Pass
	case f.Result.Verdict.Decision == DecisionIdentical:
		g.note("both arms executed the same files with the same options and dependencies")
	case j.Decision == verdict.Insufficient:
		g.Reason = "insufficient: " + j.Reason + g.needs(f.Plan)
	}
	return nil
}

// needs is the number of rounds from which bounds exist for the whole family.
func (g *GatedTimes) needs(p Plan) string {
	n, ok := stats.RoundsForBound(1 - (1-verdict.Level)/float64(len(p.Primary)))
	if !ok || n <= verdict.MinRounds {
		return ""
	}
	return fmt.Sprintf("; bounds for %d cells at once exist from %d rounds on", len(p.Primary), n)
}

// doubts are what else the reader must know: whose clock it was, whether the arms
// can be judged at all, and what is known of the machine.
func (g *GatedTimes) doubts(f *Folder, opt GateOptions) {
	for _, name := range slices.Sorted(maps.Keys(f.Result.Arms)) {
		a := f.Result.Arms[name]
		if a.OwnClock {
			g.warn("OWN CLOCK: the %s (%s) was timed by itself, not by this program", name, a.Spec)
		}
	}
	if why := f.Result.descriptive(); why != "" {
		g.warn("DESCRIPTIVE: %s", why)
		g.unclear(why)
	}
	g.calibrated(f, opt)
}

// unclear makes the outcome inconclusive, and says what it would be.
func (g *GatedTimes) unclear(why string) {
	if g.Outcome != Unclear {
		why += "; otherwise " + g.Outcome + ": " + g.Reason
	}
	g.Outcome, g.Reason = Unclear, why
}

// Outcomes of a gate.
const (
	Pass    = verdict.Pass
	Fail    = verdict.Fail
	Unclear = verdict.Unclear
)

package batchrun

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
	"github.com/fanoutbench/fanoutbench/results/verdict"
)

// Gated is what a gate says of a run's family: Outcome is one of results.Pass,
// results.Fail and results.Unclear. Notes are to be read beside it.
type Gated struct {
	Outcome, Reason string
	MarginPct       float64
	Cells           []GatedCell
	Notes           []string
}

// GatedCell is what a gate says of one primary cell.
type GatedCell struct {
	Name, Outcome, Reason           string
	SlowdownPct, LowerPct, UpperPct *float64
}

// Gate asks of a verified run whether its candidate may be slower than the reference
// by more than the margin, the plan's where marginPct is 0. Its figures must follow
// from its trials. Identical arms pass; arms whose figures are descriptive cannot.
// The error is a *results.NoFamilyError, or what is wrong with the run.
func Gate(f *Folder, marginPct float64) (Gated, error) {
	if s := f.Result.Verdict; s.Status != results.StatusVerified {
		return Gated{}, fmt.Errorf("batchrun: the run in %s is %s", f.Dir, s.Why())
	}
	if err := f.CheckFigures(); err != nil {
		return Gated{}, fmt.Errorf("batchrun: the run in %s: %w", f.Dir, err)
	}
	if len(f.Plan.Primary) == 0 {
		return Gated{}, &results.NoFamilyError{Dir: f.Dir}
	}
	g := Gated{MarginPct: f.Plan.MarginPct}
	if marginPct != 0 && marginPct != g.MarginPct {
		if !(marginPct >= results.MinMargin && marginPct <= results.MaxMargin) {
			return g, form.Unwanted("margin", marginPct, "%v to %v per cent", results.MinMargin, results.MaxMargin)
		}
		g.Notes = append(g.Notes, fmt.Sprintf("the margin of %g %% is not the plan's margin of %g %%: it was chosen after the run", marginPct, g.MarginPct))
		g.MarginPct = marginPct
	}
	family := f.Plan.family(f.Result.RoundFigures)
	family.Margin = g.MarginPct / 100
	j, err := verdict.Judge(family)
	if err != nil {
		return g, fmt.Errorf("batchrun: gate %s: %w", f.Dir, err)
	}
	g.take(f, family, j)
	return g, nil
}

func (g *Gated) take(f *Folder, family verdict.Family, j verdict.Judgement) {
	gated := verdict.Gate(family, j)
	g.Outcome, g.Reason = gated.Outcome, gated.Reason
	for i, c := range gated.Cells {
		g.Cells = append(g.Cells, GatedCell{c.Name, c.Outcome, c.Reason, slowdown(j.Cells[i].Estimate), slowdown(j.Cells[i].Lower), slowdown(j.Cells[i].Upper)})
	}
	switch why := f.Result.descriptive(); {
	case why != "":
		g.Outcome, g.Reason = results.Unclear, why+"; otherwise "+g.Outcome+": "+g.Reason
	case f.Result.Verdict.Decision == results.DecisionIdentical && g.Outcome != results.Pass:
		g.Outcome, g.Reason = results.Pass, "both arms executed the same files with the same options: nothing can have become slower; by its trials alone it would be "+g.Outcome
	case j.Decision == verdict.Insufficient:
		g.Reason = "insufficient: " + j.Reason
	}
}

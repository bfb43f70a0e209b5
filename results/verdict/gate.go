package verdict

import (
	"fmt"
	"strings"
)

// Outcomes of a gate.
const (
	Pass    = "pass"
	Fail    = "regression"
	Unclear = "inconclusive"
)

// Gated is what a gate says of a family, with a reason a cell.
type Gated struct {
	Outcome string
	Reason  string
	Cells   []GatedCell
}

// GatedCell is what a gate says of one cell.
type GatedCell struct{ Name, Outcome, Reason string }

// Gate asks of a family that was judged whether the candidate may be slower by
// more than the margin. It fails as soon as one cell does, and passes only with
// all of them.
func Gate(f Family, j Judgement) Gated {
	g := Gated{Outcome: Pass}
	var bad, open []string
	for i, c := range j.Cells {
		cell := f.gateCell(i, c)
		if j.ControlFailed && cell.Outcome != Unclear {
			cell.Outcome, cell.Reason = Unclear, "the control failed; otherwise "+cell.Outcome+": "+cell.Reason
		}
		switch cell.Outcome {
		case Fail:
			bad = append(bad, cell.Name)
		case Unclear:
			open = append(open, cell.Name)
		}
		g.Cells = append(g.Cells, cell)
	}
	switch {
	case len(bad) > 0:
		g.Outcome, g.Reason = Fail, "slower by more than the margin: "+strings.Join(bad, ", ")
	case j.ControlFailed:
		g.Outcome, g.Reason = Unclear, j.Reason
	case len(open) > 0:
		g.Outcome, g.Reason = Unclear, fmt.Sprintf("%d of %d primary cells could be slower by more than the margin: %s", len(open), len(j.Cells), strings.Join(open, ", "))
	default:
		g.Reason = fmt.Sprintf("none of %d primary cells is slower by more than %.4g %%", len(j.Cells), 100*f.Margin)
	}
	return g
}

func (f Family) gateCell(i int, c Judged) GatedCell {
	cell := GatedCell{Name: f.Cells[i].Name}
	m := f.margin()
	switch {
	case c.Upper == nil || c.Lower == nil || c.Estimate == nil:
		cell.Outcome, cell.Reason = Unclear, "no bounds: "+c.Reason
	case *c.Upper < m:
		cell.Outcome, cell.Reason = Pass, "the upper bound is within the margin"
	case *c.Lower > 0 && *c.Estimate > m:
		cell.Outcome, cell.Reason = Fail, "the lower bound is above zero and the estimate beyond the margin"
	default:
		cell.Outcome, cell.Reason = Unclear, "the bounds reach from within the margin beyond it"
		if c.RoundsNeeded != nil {
			cell.Reason += fmt.Sprintf("; %d rounds would settle it, if the estimate is the truth", *c.RoundsNeeded)
		}
	}
	return cell
}

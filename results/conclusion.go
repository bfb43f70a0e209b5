package results

import (
	"fmt"
	"strconv"
)

// plainly is what each decision means, in the words of somebody who has not read
// how decisions are made.
var plainly = map[string]string{
	DecisionNone:         "Every row was right; nothing is decided",
	DecisionImproved:     "The candidate is faster than the reference",
	DecisionRegressed:    "The candidate is slower than the reference",
	DecisionEquivalent:   "The candidate takes as long as the reference, within the margin",
	DecisionInconclusive: "This run cannot tell whether the candidate is faster, slower or equal",
	DecisionIdentical:    "There is nothing to compare",
	DecisionInsufficient: "There are too few rounds to decide anything",
}

// Conclusion is the verdict in one plain sentence. A decision that this program
// does not know is shown as it is.
func (r Result) Conclusion() string {
	if r.Verdict.Status != StatusVerified {
		return fmt.Sprintf("This run is %s: rows are missing or wrong, and no time is shown.", r.Verdict.Status)
	}
	return Sentence(plainly[DecisionNone], r.Verdict.Decision, r.Verdict.Reason)
}

// Sentence says what a decision means, with its reason; none is what to say where
// nothing is decided. A decision that this program does not know is shown as it is.
func Sentence(none, decision, reason string) string {
	s, ok := plainly[decision]
	switch {
	case decision == DecisionNone:
		s = none
	case !ok:
		s = "The decision is"
	}
	s += " (" + decision + ")"
	if reason != "" {
		s += ": " + reason
	}
	if s[len(s)-1] != '.' {
		s += "."
	}
	return s
}

// primaryLegend says what the table of primary cells holds.
func (r report) primaryLegend() string {
	s := "slow-down: 100 (candidate/reference - 1), of the median of the rounds' log ratios, positive is slower; bounds: one-sided,\n" +
		"all cells together at " + significant(ref100(r.Analysis.Level), 3) + " % each side; "
	if r.Kind == KindAnytime {
		s += "e-value: of the signs, valid at every look; "
	} else {
		s += "p: two-sided, adjusted for the family" + r.flips() + ";\n"
	}
	return s + "smallest effect: what these rounds would find with 80 % power. The margin is " + strconv.FormatFloat(r.MarginPct, 'g', -1, 64) + " %."
}

func ref100(v float64) *float64 {
	v *= 100
	return &v
}

func (r report) flips() string {
	switch {
	case r.Analysis.Flips == 0:
		return ""
	case r.Analysis.Sampled:
		return fmt.Sprintf(" (%d sampled flips)", r.Analysis.Flips)
	}
	return fmt.Sprintf(" (all %d flips)", r.Analysis.Flips)
}

// PrimaryHead is the head of the table of primary cells; leftPrimary are its
// columns of names.
func PrimaryHead(kind string) []string {
	evidence := "p"
	if kind == KindAnytime {
		evidence = "e-value"
	}
	return []string{"count", "metadata", "metric", "role", "decision", "slow-down %", "bounds %", evidence, "smallest effect %", "rounds needed"}
}

var leftPrimary = []int{1, 2, 3, 4}

// Line is the cell as a line of that table, rounded.
func (a PrimaryAnalysis) Line(kind string) []string {
	evidence := a.P
	if kind == KindAnytime {
		evidence = a.EValue
	}
	rounds := "-"
	if a.RoundsNeeded != nil {
		rounds = strconv.Itoa(*a.RoundsNeeded)
	}
	return []string{
		strconv.Itoa(a.Count), a.Metadata, a.Metric, a.Role, a.Decision,
		oneDecimal(a.SlowdownPct), a.bounds(),
		significant(evidence, 2), oneDecimal(a.SmallestEffectPct), rounds,
	}
}

// bounds are both, or the one that there is.
func (a PrimaryAnalysis) bounds() string {
	switch {
	case a.LowerPct != nil && a.UpperPct != nil:
		return oneDecimal(a.LowerPct) + " to " + oneDecimal(a.UpperPct)
	case a.LowerPct != nil:
		return "at least " + oneDecimal(a.LowerPct)
	case a.UpperPct != nil:
		return "at most " + oneDecimal(a.UpperPct)
	}
	return "-"
}

// primaryTable is the head and one line for each primary cell.
func (r report) primaryTable() [][]string {
	lines := [][]string{PrimaryHead(r.Kind)}
	for _, c := range r.Analysis.Primary {
		lines = append(lines, c.Line(r.Kind))
	}
	return lines
}

// controlLine says what the control showed, nothing where there was none.
func (r report) controlLine() string {
	switch {
	case r.Analysis == nil || r.Analysis.Control == nil:
		return ""
	case r.Analysis.Control.Failed:
		return "FAILED: " + r.Analysis.Control.Reason
	}
	return "held: no primary cell of it was found faster or slower than the reference"
}

// primaryColumns stand behind those of the summary in the CSV of a run with an
// analysis; they are empty for what is descriptive.
var primaryColumns = []string{
	"primary_role", "primary_decision", "slowdown_pct", "lower_pct", "upper_pct", "p", "e_value",
	"spread_pct", "smallest_effect_pct", "rounds_needed", "lag1", "position_p",
}

func (r report) primaryValues(row SummaryRow) []string {
	for _, c := range r.Analysis.Primary {
		if c.Count != row.Count || c.Metadata != row.Metadata || c.Metric != row.Metric {
			continue
		}
		rounds := ""
		if c.RoundsNeeded != nil {
			rounds = strconv.Itoa(*c.RoundsNeeded)
		}
		return []string{
			c.Role, c.Decision, shortest(c.SlowdownPct), shortest(c.LowerPct), shortest(c.UpperPct), shortest(c.P), shortest(c.EValue),
			shortest(c.SpreadPct), shortest(c.SmallestEffectPct), rounds, shortest(c.Lag1), shortest(c.PositionP),
		}
	}
	return make([]string, len(primaryColumns))
}

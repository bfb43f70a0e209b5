package batchrun

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/results"
)

// Conclusion is the verdict in one plain sentence. Where the candidate is faster in one
// primary cell and slower in another, it names both, with how much: a batch send is made
// to win on average and to lose on the leading item, and one word would hide one of the two.
func (f *Folder) Conclusion() string {
	v := f.Result.Verdict
	switch v.Status {
	case results.StatusIncomplete:
		return fmt.Sprintf("This run is %s, and no time is shown.", v.Why())
	case results.StatusInvalid:
		return fmt.Sprintf("INVALID, the figures decide nothing: %s.", v.cause())
	}
	if both := f.both(); both != "" {
		return "VALID. " + both
	}
	return "VALID. " + results.Sentence("Every answer was as it should be; nothing is decided", v.Decision, v.Reason)
}

// both is the sentence of a decision to which primary cells are opposed; empty of others.
func (f *Folder) both() string {
	a := f.Result.Analysis
	if a == nil || f.Result.Verdict.Decision != results.DecisionRegressed {
		return ""
	}
	faster, slower, others := f.decided(results.DecisionImproved, "faster"), f.decided(results.DecisionRegressed, "slower"), ""
	if len(faster) == 0 || len(slower) == 0 {
		return ""
	}
	var rest []string
	for _, c := range a.Primary {
		if c.Decision != results.DecisionImproved && c.Decision != results.DecisionRegressed && !slices.Contains(rest, c.Decision) {
			rest = append(rest, c.Decision)
		}
	}
	for _, decision := range rest {
		others += "; " + decision + ": " + strings.Join(f.decided(decision, ""), ", ")
	}
	return fmt.Sprintf("The candidate is faster by one measure and slower by another: %s; %s%s. As a whole it is %s, since one slower primary cell is enough.",
		strings.Join(faster, ", "), strings.Join(slower, ", "), others, results.DecisionRegressed)
}

// decided names the primary cells of one decision, each with how much it is faster or slower
// where a word for that is given.
func (f *Folder) decided(decision, word string) (names []string) {
	for i, c := range f.Result.Analysis.Primary {
		if c.Decision != decision {
			continue
		}
		name := f.Plan.Name(f.Plan.Primary[i])
		if word != "" && c.SlowdownPct != nil {
			name += fmt.Sprintf(" %.1f %% %s", math.Abs(*c.SlowdownPct), word)
		}
		names = append(names, name)
	}
	return names
}

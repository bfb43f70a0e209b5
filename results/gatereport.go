package results

import (
	"bytes"
	"fmt"
	"strings"
)

// GateReport is all that a gate says of a run; what was not asked is nil.
type GateReport struct {
	Folder   *Folder
	Times    *GatedTimes
	Counters *GatedCounters
}

// Outcome is that of both parts together: a regression in one is a regression.
func (g GateReport) Outcome() (outcome, reason string) {
	outcome = Pass
	var reasons []string
	take := func(o, why string) {
		if o == outcome || o == Fail || o == Unclear && outcome == Pass {
			if o != outcome {
				reasons = nil
			}
			outcome, reasons = o, append(reasons, why)
		}
	}
	if g.Times != nil {
		take(g.Times.Outcome, g.Times.Reason)
	}
	if g.Counters != nil {
		take(g.Counters.Outcome, g.Counters.Reason)
	}
	return outcome, strings.Join(reasons, "; ")
}

// Warnings are those of the times; counters have none.
func (g GateReport) Warnings() []string {
	if g.Times == nil {
		return nil
	}
	return g.Times.Warnings
}

// Text has the outcome on the first line, then a line a cell with its reason.
func (g GateReport) Text() []byte {
	var b bytes.Buffer
	outcome, reason := g.Outcome()
	fmt.Fprintf(&b, "gate: %s: %s\n", outcome, oneLine(reason))
	if t := g.Times; t != nil {
		fmt.Fprintf(&b, "times: %s, margin %g %%, %s, %s plan\n", t.Outcome, t.MarginPct, counted(t.Rounds, "round"), t.Kind)
		writeTable(&b, t.table(), []int{0, 1, 3, 4})
	}
	if c := g.Counters; c != nil {
		fmt.Fprintf(&b, "counters: %s, means a batch\n", c.Outcome)
		writeTable(&b, c.table(), []int{0, 1, 5})
	}
	if g.Times != nil {
		for _, note := range g.Times.Notes {
			fmt.Fprintf(&b, "note: %s\n", oneLine(note))
		}
	}
	for _, w := range g.Warnings() {
		fmt.Fprintf(&b, "warning: %s\n", oneLine(w))
	}
	return b.Bytes()
}

// table has a line a cell: decision, estimate, bounds, reason.
func (g GatedTimes) table() [][]string {
	lines := [][]string{{"gate", "cell", "slower by %", "bounds %", "reason"}}
	for _, c := range g.Cells {
		bounds := "-"
		if c.LowerPct != nil && c.UpperPct != nil {
			bounds = oneDecimal(c.LowerPct) + " to " + oneDecimal(c.UpperPct)
		}
		lines = append(lines, []string{c.Outcome, c.Primary.String(), oneDecimal(c.SlowdownPct), bounds, oneLine(c.Reason)})
	}
	return lines
}

func (g GatedCounters) table() [][]string {
	lines := [][]string{{"gate", "counter", "reference", "candidate", "may rise by", "varies over trials"}}
	for _, c := range g.Cells {
		outcome, varies := Pass, "-"
		if c.Rises {
			outcome = Fail
		}
		if c.Varies != "" {
			varies = c.Varies
		}
		lines = append(lines, []string{outcome, c.String(), fmt.Sprintf("%.6g", c.Reference), fmt.Sprintf("%.6g", c.Candidate), c.Allowance.String(), varies})
	}
	return lines
}

// Markdown is the summary of a CI job: the outcome in one sentence, the cells, and
// how to check it. Command is the gate's own.
func (g GateReport) Markdown(command []string) []byte {
	var b bytes.Buffer
	outcome, reason := g.Outcome()
	fmt.Fprintf(&b, "### fanoutbench gate: %s\n\n%s\n\n", outcome, escaped(reason))
	for _, name := range []string{Reference, Candidate} {
		fmt.Fprintf(&b, "- %s: %s\n", name, escaped(g.Folder.Result.Arms[name].Spec+revisionText(g.Folder.Result.Arms[name])))
	}
	if t := g.Times; t != nil {
		fmt.Fprintf(&b, "- margin %g %%, %s, %s plan\n\n", t.MarginPct, counted(t.Rounds, "round"), t.Kind)
		markdownTable(&b, allEscaped(t.table()), []int{0, 1, 3, 4})
	}
	if c := g.Counters; c != nil {
		b.WriteString("\nCounters, means a batch:\n\n")
		markdownTable(&b, allEscaped(c.table()), []int{0, 1, 5})
	}
	b.WriteByte('\n')
	for _, w := range g.Warnings() {
		fmt.Fprintf(&b, "- **warning**: %s\n", escaped(w))
	}
	if g.Times != nil {
		for _, note := range g.Times.Notes {
			fmt.Fprintf(&b, "- %s\n", escaped(note))
		}
	}
	b.WriteString("\nChecked from the run folder, and measured with fresh coins, by\n\n")
	lines := append([]string{shellLine([]string{"fanoutbench", "verify", g.Folder.Dir}), shellLine(command)},
		withPlaces(shellLine(g.Folder.Result.Environment.Command))...)
	for _, line := range lines {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	fmt.Fprintf(&b, "\nseed %d, plan sha256 %s, raw sha256 %s\n", g.Folder.Plan.Seed, g.Folder.PlanSHA256, g.Folder.RawSHA256)
	return b.Bytes()
}

func revisionText(a Arm) string {
	switch {
	case a.Revision == "":
		return ""
	case a.Modified == "true":
		return " at " + a.Revision + " with uncommitted changes"
	}
	return " at " + a.Revision
}

// allEscaped is a table whose cells are no markup.
func allEscaped(table [][]string) [][]string {
	for _, line := range table {
		for i := range line {
			line[i] = escaped(line[i])
		}
	}
	return table
}

// shellLine is a command as a shell takes it.
func shellLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = oneLine(a)
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\&|;<>()*?[]#~`!{}") {
			quoted[i] = "'" + strings.ReplaceAll(oneLine(a), "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

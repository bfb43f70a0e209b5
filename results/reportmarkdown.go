package results

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// markdown is the report for a pull request. A run without an analysis has a
// list and a table; one with an analysis begins with the verdict and folds away
// what only some readers want.
func (r report) markdown() ([]byte, error) {
	var b bytes.Buffer
	if r.Analysis != nil && r.RowsVerified {
		r.verdictMarkdown(&b)
		return b.Bytes(), nil
	}
	r.headerMarkdown(&b)
	if !r.RowsVerified {
		return b.Bytes(), nil
	}
	b.WriteByte('\n')
	markdownTable(&b, r.table(), leftColumns)
	b.WriteString("\n" + legend + "\n")
	r.profileMarkdown(&b)
	return b.Bytes(), nil
}

func (r report) headerMarkdown(b *bytes.Buffer) {
	for _, line := range r.header() {
		fmt.Fprintf(b, "- %s: %s\n", line[0], escaped(line[1]))
	}
}

func (r report) verdictMarkdown(b *bytes.Buffer) {
	fmt.Fprintf(b, "**%s**\n\n", escaped(r.Conclusion))
	for _, a := range r.Arms {
		fmt.Fprintf(b, "- %s: %s\n", a.Name, escaped(a.String()))
	}
	if control := r.controlLine(); control != "" {
		fmt.Fprintf(b, "- control: %s\n", escaped(control))
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(b, "- warning: %s\n", escaped(w))
	}
	b.WriteByte('\n')
	markdownTable(b, r.primaryTable(), leftPrimary)
	b.WriteString("\n" + r.primaryLegend() + "\n\n")
	markdownTable(b, r.publishedTable(), []int{1})
	b.WriteString("\ncomplete_ms, medians over rounds. Descriptive: not corrected for the number of cells.\n")
	fold(b, "Why each primary cell was decided so", func() {
		for _, c := range r.Analysis.Primary {
			fmt.Fprintf(b, "- %d %s %s: %s\n", c.Count, c.Metadata, c.Metric, escaped(c.Decision+": "+c.Reason))
		}
	})
	fold(b, "All metrics", func() {
		markdownTable(b, r.table(), leftColumns)
		b.WriteString("\n" + legend + "\n")
		r.profileMarkdown(b)
	})
	fold(b, "Counters, per batch", func() { markdownTable(b, r.counterTable(), []int{1, 2}) })
	fold(b, "Run and environment", func() {
		r.headerMarkdown(b)
		for _, line := range r.environment.Lines() {
			fmt.Fprintf(b, "- %s: %s\n", line[0], escaped(line[1]))
		}
	})
	fold(b, "How to check and repeat it", func() {
		b.WriteString(fenced(strings.Join(r.Commands(), "\n")))
		fmt.Fprintf(b, "\nplan.json has sha256 `%s`, raw.jsonl `%s`.\n", r.PlanSHA256, r.RawSHA256)
	})
}

// publishedTable has the columns in which such comparisons are usually published.
func (r report) publishedTable() [][]string {
	lines := [][]string{{"count", "metadata", "reference ms", "candidate ms", "median paired reduction", "faster rounds", "bootstrap 95 % CI"}}
	for _, row := range r.Rows {
		if row.Metric != Metrics[0] {
			continue
		}
		reduction := oneDecimal(row.MedianPairedReductionPct)
		if row.MedianPairedReductionPct != nil {
			reduction += " %"
		}
		lines = append(lines, []string{
			strconv.Itoa(row.Count), row.Metadata, significant(row.ReferenceMS, 4), significant(row.CandidateMS, 4),
			reduction, fmt.Sprintf("%d/%d", row.FasterRounds, row.Rounds), row.BootstrapCI.rounded()[0],
		})
	}
	return lines
}

// counterTable has one line a cell and counter.
func (r report) counterTable() [][]string {
	lines := [][]string{{"count", "metadata", "counter", "reference", "candidate"}}
	for _, row := range r.Rows {
		if row.Metric != Metrics[0] {
			continue
		}
		for _, name := range row.CounterNames() {
			line := []string{strconv.Itoa(row.Count), row.Metadata, name}
			lines = append(lines, append(line, CounterText(row.Counter(Reference, name)), CounterText(row.Counter(Candidate, name))))
		}
	}
	return lines
}

// CounterNames are the counters that some arm reports in the cell, by name.
func (row SummaryRow) CounterNames() []string {
	names := map[string]bool{}
	for _, of := range row.Counters {
		for name := range of {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Counter is an arm's counter per batch, nil where it has none.
func (row SummaryRow) Counter(arm, name string) *float64 {
	if v, ok := row.Counters[arm][name]; ok {
		return &v
	}
	return nil
}

// CounterText is a counter rounded to one decimal, if it has any.
func CounterText(v *float64) string { return strings.TrimSuffix(oneDecimal(v), ".0") }

// Commands are what one types to check the run, to show it, and to make it once
// more: the folder is the one that the caller gave, the last command the recorded
// one.
func (r report) Commands() []string {
	dir := quoted(r.dir)
	commands := []string{"fanoutbench verify " + dir, "fanoutbench report " + dir, "fanoutbench explain " + dir}
	var again []string
	for _, arg := range r.environment.Command {
		again = append(again, quoted(arg))
	}
	if len(again) > 0 {
		commands = append(commands, withPlaces(strings.Join(again, " "))...)
	}
	return commands
}

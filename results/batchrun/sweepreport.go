package batchrun

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
	"github.com/fanoutbench/fanoutbench/results/table"
)

// ReportSweep writes a sweep as one of Formats.
func ReportSweep(w io.Writer, f *SweepFolder, format string) error {
	var b []byte
	var err error
	switch format {
	case "text":
		b = f.text()
	case "markdown":
		b = f.markdown()
	case "csv":
		b = f.Sweep.csv()
	case "json":
		b, err = encodeFile(f.Sweep)
	default:
		err = form.Unwanted("format", format, "one of %q", Formats)
	}
	if err == nil {
		_, err = w.Write(b)
	}
	if err != nil {
		return fmt.Errorf("batchrun: report the sweep in %s: %w", f.Dir, err)
	}
	return nil
}

// Title says what is swept, and of which server.
func (f *SweepFolder) Title() string {
	of := f.Runs[0].Plan.Candidate.Spec
	if !f.Sweep.Swept().Limits() {
		of = "both arms, " + of
	}
	return f.Sweep.Name + " of " + of
}

// Header are the lines above a sweep's tables, name and value.
func (f *SweepFolder) Header() [][2]string {
	p := f.Runs[0].Plan
	lines := [][2]string{{"sweep", f.Title()}, {"reference", p.Reference.Spec}, {"load", p.load()}}
	name := "recommended"
	if !f.Sweep.Swept().Limits() {
		name = "wins"
	}
	for _, c := range f.Sweep.Cells {
		lines = append(lines, [2]string{name, c.Cell + ": " + c.Reason})
	}
	for i, r := range f.Runs {
		if v := r.Result.Verdict; v.Status != results.StatusVerified {
			lines = append(lines, [2]string{"invalid", f.Sweep.Runs[i].Folder + ": " + v.Why()})
		}
	}
	return lines
}

// Sections are a sweep's tables, one for each cell.
func (f *SweepFolder) Sections() []Section {
	var all []Section
	for i, c := range f.Sweep.Cells {
		s := Section{Title: "By " + f.Sweep.Name + ", " + c.Cell, Head: []string{
			f.Sweep.Name, "ratio", "leading ms", "reference's", "reduction %", "interval %", "avg ms", "reference's", "reduction %", "interval %", "prefill batches", "reference's", "verdict",
		}, Left: []int{12}, Below: "Medians over rounds. What the columns are stands below the last of these tables."}
		for k := range c.Points {
			s.Lines = append(s.Lines, c.line(f.Sweep, k))
		}
		if i == len(f.Sweep.Cells)-1 {
			s.Below = "ratio: how many more tokens that are not in the cache take as long as the fixed part of a simulated step;\n" +
				"leading: from the sending until the scheduler had finished a request's first item; avg: from the intended time to the answer;\n" +
				"reduction: the median over rounds of 100 (1 - candidate/reference), below 0 is slower, with its interval;\n" +
				"prefill batches: that the items of a request were in, mean."
		}
		all = append(all, s)
	}
	return all
}

func (c SweepCell) line(s *Sweep, i int) []string {
	r, p := s.Runs[i], c.Points[i]
	leading, _ := rounded(p.LeadingInterval)
	avg, _ := rounded(p.AvgInterval)
	return []string{
		s.Swept().Label(r.Value), table.Significant(r.Ratio, 4), ms(p.LeadingMS), ms(p.ReferenceLeadingMS), table.OneDecimal(p.LeadingReductionPct), leading,
		ms(p.AvgMS), ms(p.ReferenceAvgMS), table.OneDecimal(p.AvgReductionPct), avg,
		table.Significant(p.Batches, 3), table.Significant(p.ReferenceBatches, 3), c.verdict(s, i) + p.Against,
	}
}

// Commands are what one types to check the sweep and to make it once more.
func (f *SweepFolder) Commands() []string {
	lines := []string{"batchsend verify " + quoted(f.Dir), "batchsend report " + quoted(f.Dir)}
	for i, r := range f.Runs {
		lines = append(append(lines, "# the run "+f.Sweep.Runs[i].Folder), recorded(r.Result.Repeat)...)
	}
	return lines
}

func (f *SweepFolder) text() []byte {
	var b bytes.Buffer
	table.Pairs(&b, f.Header())
	textSections(&b, f.Sections())
	textCommands(&b, f.Commands())
	return b.Bytes()
}

func (f *SweepFolder) markdown() []byte {
	var b bytes.Buffer
	for _, line := range f.Header() {
		fmt.Fprintf(&b, "- %s: %s\n", line[0], table.Escaped(line[1]))
	}
	for _, s := range f.Sections() {
		b.WriteString("\n### " + table.Escaped(s.Title) + "\n\n")
		table.Markdown(&b, escapedTable(s.table()), s.Left)
		if s.Below != "" {
			b.WriteString("\n" + s.Below + "\n")
		}
	}
	table.Fold(&b, commandsTitle, func() { b.WriteString(table.Fenced(strings.Join(f.Commands(), "\n"))) })
	return b.Bytes()
}

package results

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// HistoryOptions choose the figure to follow. What is left zero is taken from the
// newest verified run: its first primary cell, or that which would be by default.
type HistoryOptions struct {
	Count    int
	Metadata string
	Metric   string
}

// HistoryFormats are those that WriteHistory writes.
var HistoryFormats = []string{"text", "csv"}

// History is one metric of one cell over runs, oldest first.
type History struct {
	Cell   Primary // without a role
	Points []HistoryPoint
}

// HistoryPoint is one run. Its figures are nil in a run that is not verified.
type HistoryPoint struct {
	Dir       string
	StartedAt time.Time
	Revision  string // of the candidate's tree, or else of the program
	Arms      [2]string
	Status    string
	Decision  string // of the cell where the run has an analysis, else of the run
	Row       SummaryRow

	// Differs says in what the plan or the machine differs from the first run that
	// is verified: such a run is shown and marked, and not to be compared.
	Differs []string
}

// Comparable says whether the point belongs in one line with the first.
func (p HistoryPoint) Comparable() bool { return p.Status == StatusVerified && len(p.Differs) == 0 }

// NewHistory puts runs in order of time. A run that lacks the cell, that is given
// twice, or whose figures do not follow from its trials is an error.
func NewHistory(folders []*Folder, opt HistoryOptions) (History, error) {
	folders = slices.Clone(folders)
	slices.SortStableFunc(folders, func(a, b *Folder) int {
		return cmp.Or(a.Result.Environment.StartedAt.Compare(b.Result.Environment.StartedAt), strings.Compare(a.Dir, b.Dir))
	})
	seen := map[string]string{}
	var first, newest *Folder
	for _, f := range folders {
		if other, ok := seen[f.Result.RawSHA256]; ok {
			return History{}, fmt.Errorf("results: history: %s and %s are the same run, raw.jsonl has sha256 %s", other, f.Dir, f.Result.RawSHA256)
		}
		seen[f.Result.RawSHA256] = f.Dir
		if err := f.CheckFigures(); err != nil {
			return History{}, fmt.Errorf("results: history: %s: %w", f.Dir, err)
		}
		if f.Result.Verdict.Status == StatusVerified {
			if first == nil {
				first = f
			}
			newest = f
		}
	}
	if newest == nil {
		return History{}, fmt.Errorf("results: history: none of %d runs is verified, so there is no figure", len(folders))
	}
	h := History{Cell: opt.cell(newest.Plan)}
	for _, f := range folders {
		p, err := pointOf(f, first, h.Cell)
		if err != nil {
			return History{}, err
		}
		h.Points = append(h.Points, p)
	}
	return h, nil
}

// cell fills in what was not asked for.
func (opt HistoryOptions) cell(p Plan) Primary {
	c := p.Family()[0]
	return Primary{
		Count: cmp.Or(opt.Count, preferred(p, c.Count)), Metadata: cmp.Or(opt.Metadata, c.Metadata), Metric: cmp.Or(opt.Metric, c.Metric),
	}
}

// preferred is the count of 310 rows where the family of a plan has it, which is
// the largest of the default counts.
func preferred(p Plan, count int) int {
	for _, c := range p.Family() {
		if c.Count == 310 {
			return 310
		}
	}
	return count
}

func pointOf(f, first *Folder, c Primary) (HistoryPoint, error) {
	r := f.Result
	p := HistoryPoint{
		Dir: filepath.Clean(f.Dir), StartedAt: r.Environment.StartedAt, Status: r.Verdict.Status, Decision: r.Verdict.Decision,
		Revision: cmp.Or(r.Arms[Candidate].Revision, r.Environment.Revision),
		Arms:     [2]string{f.Plan.Reference.Spec, f.Plan.Candidate.Spec},
		Differs:  differences(first, f),
	}
	if p.Status != StatusVerified {
		return p, nil
	}
	row, ok := r.Row(c.Count, c.Metadata, c.Metric)
	if !ok {
		return p, fmt.Errorf("results: history: %s has no cell %s: its counts are %v, its metadata %q, metrics are %q", f.Dir, c, f.Plan.Counts, f.Plan.Metadata, Metrics)
	}
	p.Row = row
	if r.Analysis == nil {
		return p, nil
	}
	for _, cell := range r.Analysis.Primary {
		if cell.Count == c.Count && cell.Metadata == c.Metadata && cell.Metric == c.Metric {
			p.Decision = cell.Decision
		}
	}
	return p, nil
}

// differences are the parts of a plan that change what is measured, and the
// machine, where the two runs do not agree: "name old, new".
func differences(a, b *Folder) []string {
	var out []string
	for _, d := range []struct {
		name string
		a, b any
	}{
		{"counts", a.Plan.Counts, b.Plan.Counts},
		{"metadata", a.Plan.Metadata, b.Plan.Metadata},
		{"transport", a.Plan.Transport, b.Plan.Transport},
		{"stream", a.Plan.Stream, b.Plan.Stream},
		{"stream sha256", a.Plan.StreamSHA256, b.Plan.StreamSHA256},
		{"http workers", a.Plan.HTTPWorkers, b.Plan.HTTPWorkers},
		{"consumer", a.Plan.Consumer, b.Plan.Consumer},
		{"consumers", cmp.Or(a.Plan.Consumers, "thread"), cmp.Or(b.Plan.Consumers, "thread")},
		{"pace", a.Plan.Pace, b.Plan.Pace},
		{"loop", cmp.Or(a.Plan.Loop, "fanout"), cmp.Or(b.Plan.Loop, "fanout")},
		{"process", a.Plan.Process, b.Plan.Process},
		{"cpu", a.Result.Environment.CPU, b.Result.Environment.CPU},
		{"cpus", a.Result.Environment.CPUs, b.Result.Environment.CPUs},
	} {
		if x, y := fmt.Sprint(d.a), fmt.Sprint(d.b); x != y {
			out = append(out, fmt.Sprintf("%s %s, not %s", d.name, cmp.Or(y, "none"), cmp.Or(x, "none")))
		}
	}
	return out
}

// WriteHistory writes a history as text or CSV.
func WriteHistory(w io.Writer, h History, format string) error {
	var b []byte
	var err error
	switch format {
	case "text":
		b = h.text()
	case "csv":
		b, err = h.csv()
	default:
		err = fmt.Errorf("results: history format is %q, want one of %q", shortened(format), HistoryFormats)
	}
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("results: history: %w", err)
	}
	return nil
}

func (h History) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s over %d runs, oldest first\n\n", h.Cell, len(h.Points))
	table := [][]string{{"", "started", "run", "reference ms", "candidate ms", "reduction %", "order interval %", "level %", "decision", "revision"}}
	var notes []string
	for i, p := range h.Points {
		interval := p.Row.OrderCI.rounded()
		number := fmt.Sprint(i + 1)
		if !p.Comparable() {
			number += "*"
			notes = append(notes, fmt.Sprintf("* %d %s: %s", i+1, oneLine(p.Dir), oneLine(p.why())))
		}
		table = append(table, []string{
			number, p.StartedAt.UTC().Format(time.DateTime), oneLine(p.Dir), significant(p.Row.ReferenceMS, 4), significant(p.Row.CandidateMS, 4),
			oneDecimal(p.Row.MedianPairedReductionPct), interval[0], interval[1], p.Decision, short(p.Revision),
		})
	}
	writeTable(&b, table, []int{0, 1, 2, 8, 9})
	if len(notes) > 0 {
		fmt.Fprintf(&b, "\nNot comparable with the first verified run:\n%s\n", strings.Join(notes, "\n"))
	}
	return b.Bytes()
}

// why says why the point is not comparable.
func (p HistoryPoint) why() string {
	if p.Status != StatusVerified {
		return "the run is " + p.Status
	}
	return strings.Join(p.Differs, "; ")
}

// short is a revision as people write it.
func short(revision string) string {
	if revision == "" {
		return "-"
	}
	return revision[:min(len(revision), 10)]
}

var historyColumns = []string{
	"started_at", "run", "status", "decision", "comparable", "differs", "revision", "reference", "candidate",
}

// csv is one line a run, every figure in full.
func (h History) csv() ([]byte, error) {
	lines := [][]string{append(slices.Clone(historyColumns), summaryColumns...)}
	for _, p := range h.Points {
		row := p.Row
		row.Count, row.Metadata, row.Metric = h.Cell.Count, h.Cell.Metadata, h.Cell.Metric
		line := []string{
			p.StartedAt.UTC().Format(time.RFC3339Nano), p.Dir, p.Status, p.Decision, fmt.Sprint(p.Comparable()), strings.Join(p.Differs, "; "),
			p.Revision, p.Arms[0], p.Arms[1],
		}
		lines = append(lines, append(line, row.columns()...))
	}
	return csvLines(lines)
}

package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// point is one run in one cell.
type point struct {
	limit                      float64 // the value that is swept
	avg, leading               float64 // paired reductions, per cent, medians over rounds; NaN: not known
	referenceLead, lead        float64 // ms
	referenceAvg, candidateAvg float64 // ms
	invalid                    bool    // the run
}

// slower is how much slower something is than its reference, from the paired reduction.
func slower(reduction float64) float64 { return -reduction }

// recommend is the largest limit with which the first item of a request waits no more
// than within per cent longer than when items are sent one by one, and whose requests
// are not slower on average than that either; 0, no limit, is the largest. ok is false
// where none is. Invalid runs do not count.
func recommend(points []point, within float64) (limit float64, ok bool) {
	best := -1.0
	for _, p := range points {
		size := p.limit
		if p.limit == 0 {
			size = math.Inf(1)
		}
		if !p.invalid && slower(p.leading) <= within && p.avg >= 0 && size > best { // a NaN is neither
			best, limit, ok = size, p.limit, true
		}
	}
	return limit, ok
}

// points are what the runs say of one cell.
func points(s sweep, folders []*batchrun.Folder, cell int) []point {
	var list []point
	for i, f := range folders {
		p := point{limit: s.values[i], invalid: f.Result.Verdict.Status != results.StatusVerified}
		for _, row := range f.Result.Summary {
			if row.Cell != cell {
				continue
			}
			switch row.Metric {
			case "avg_ms":
				p.avg, p.referenceAvg, p.candidateAvg = known(row.MedianPairedReductionPct), known(row.ReferenceMS), known(row.CandidateMS)
			case "leading_ms":
				p.leading, p.referenceLead, p.lead = known(row.MedianPairedReductionPct), known(row.ReferenceMS), known(row.CandidateMS)
			}
		}
		list = append(list, p)
	}
	return list
}

func known(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// printSweep prints a curve a cell, and what follows from it.
func (f *runFlags) printSweep(w io.Writer, s sweep, folders []*batchrun.Folder) error {
	var out strings.Builder
	for cell, c := range folders[0].Plan.Cells {
		fmt.Fprintf(&out, "%s\n\n", c)
		t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
		table, advice := limitTable(s, folders, cell), f.advice(s, points(s, folders, cell))
		if s.name == stepBase {
			table, advice = baseTable(s, folders, cell)
		}
		if _, err := io.WriteString(t, table); err != nil {
			return err
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(&out, "\n%s\n\n", advice)
	}
	notes := limitNotes
	if s.name == stepBase {
		notes = baseNotes
	}
	_, err := io.WriteString(w, out.String()+notes)
	return err
}

const limitNotes = `leading: from the sending until the scheduler had finished a request's first item; slower, reduction: medians over rounds, paired;
prefill batches: that a request's items were in, mean.
`

// limitTable is a cell's curve over limits, cells of a line ended by tabs.
func limitTable(s sweep, folders []*batchrun.Folder, cell int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\tleading ms\treference's\tslower %%\tavg ms\treference's\treduction %%\tprefill batches\tvalid\t\n", s.name)
	for i, p := range points(s, folders, cell) {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%v\t\n", limitText(p.limit), figure(p.lead), figure(p.referenceLead), percentage(slower(p.leading)),
			figure(p.candidateAvg), figure(p.referenceAvg), percentage(p.avg), figure(batchesOf(folders[i], batchrun.Candidate, cell)), !p.invalid)
	}
	return b.String()
}

func (f *runFlags) advice(s sweep, list []point) string {
	limit, ok := recommend(list, f.within)
	rule := fmt.Sprintf("the largest limit whose leading item waits at most %g %% longer than with the reference, and whose requests are not slower", f.within)
	if !ok {
		return "recommended: none of these limits; wanted is " + rule
	}
	return fmt.Sprintf("recommended: %s %s, %s", s.name, limitText(limit), rule)
}

// batchesOf is the mean number of prefill batches of an arm's requests.
func batchesOf(f *batchrun.Folder, arm string, cell int) float64 {
	sum, n := 0, 0
	for _, figures := range f.Result.Figures {
		if figures.Cell == cell && figures.Arm == arm {
			for _, b := range figures.Batches {
				sum, n = sum+b.Value*b.Count, n+b.Count
			}
		}
	}
	return float64(sum) / float64(n) // NaN without any
}

func limitText(limit float64) string {
	if limit == 0 {
		return "none"
	}
	return fmt.Sprint(limit)
}

func figure(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.4g", v)
}

func percentage(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.1f", v)
}

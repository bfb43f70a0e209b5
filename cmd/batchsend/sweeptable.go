package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// printSweep prints a curve a cell, and what follows from it.
func (f *runFlags) printSweep(w io.Writer, s sweep, folders []*batchrun.Folder) error {
	var out strings.Builder
	notes := limitNotes
	if s.name == stepBase {
		notes = baseNotes
	}
	for cell, c := range folders[0].Plan.Cells {
		points := batchrun.Curve(s.words, s.values, folders, cell)
		table, advice := limitTable(s.name, points), f.limitAdvice(s.name, points)
		if s.name == stepBase {
			table, advice = baseTable(points), baseAdvice(points)
		}
		fmt.Fprintf(&out, "%s\n\n", c)
		t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
		if _, err := io.WriteString(t, table); err != nil {
			return err
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(&out, "\n%s\n\n", advice)
	}
	_, err := io.WriteString(w, out.String()+notes)
	return err
}

const limitNotes = `leading: from the sending until the scheduler had finished a request's first item; slower, reduction: medians over rounds, paired;
prefill batches: that a request's items were in, mean.
`

// limitTable is a cell's curve over limits, cells of a line ended by tabs.
func limitTable(name string, points []batchrun.Point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\tleading ms\treference's\tslower %%\tavg ms\treference's\treduction %%\tprefill batches\tvalid\t\n", name)
	for _, p := range points {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%v\t\n", limitText(p), figure(p.Leading.Candidate), figure(p.Leading.Reference), percentage(-p.Leading.Reduction),
			figure(p.Avg.Candidate), figure(p.Avg.Reference), percentage(p.Avg.Reduction), figure(p.CandidateBatches), p.Valid)
	}
	return b.String()
}

func (f *runFlags) limitAdvice(name string, points []batchrun.Point) string {
	p, ok := batchrun.Recommend(points, f.within)
	rule := fmt.Sprintf("the largest limit whose leading item waits at most %g %% longer than with the reference, and whose requests are not slower", f.within)
	if !ok {
		return "recommended: none of these limits; wanted is " + rule
	}
	return fmt.Sprintf("recommended: %s %s, %s", name, limitText(p), rule)
}

func limitText(p batchrun.Point) string {
	if p.Value == 0 {
		return "none"
	}
	return p.Word
}

const baseNotes = `step-base: what a step takes whatever is in it, seconds; tokens: how many more tokens that are not in the cache take as long;
reduction: of the average, median over rounds, paired, and its exact interval; prefill batches: that a request's items were in, mean.
`

// baseTable is a cell's curve over the fixed part of a step, likewise.
func baseTable(points []batchrun.Point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\ttokens\treference ms\tcandidate ms\treduction %%\tinterval\treference's prefill batches\tcandidate's\tvalid\t\n", stepBase)
	for _, p := range points {
		between := "-"
		if i := p.Avg.Interval; i != nil {
			between = percentage(i.Low) + " to " + percentage(i.High)
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%v\t\n", p.Word, figure(p.Ratio), figure(p.Avg.Reference), figure(p.Avg.Candidate),
			percentage(p.Avg.Reduction), between, figure(p.ReferenceBatches), figure(p.CandidateBatches), p.Valid)
	}
	return b.String()
}

func baseAdvice(points []batchrun.Point) string {
	p, ok := batchrun.Threshold(points)
	if !ok {
		return "the candidate wins: not at the largest of these, by its interval"
	}
	return fmt.Sprintf("the candidate wins: from a step-base of %s s on, which is %s tokens, at every one of these, by the interval", p.Word, figure(p.Ratio))
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

package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// basePoint is a run of the sweep of the fixed part of a step, in one cell.
type basePoint struct {
	word          string  // the fixed part, seconds, as it was said
	ratio         float64 // to what one more token takes that is not in the cache; NaN: not known
	reduction     float64 // of the average, per cent, median over rounds; NaN: not known
	interval      *results.Interval
	reference, ms float64 // averages
	invalid       bool    // the run
}

// wins says whether the candidate is faster by the interval, and is not where there is none.
func (p basePoint) wins() bool { return !p.invalid && p.interval != nil && p.interval.Low > 0 }

// threshold is the smallest ratio from which on the candidate wins at every point; ok is false where
// it does not at the largest.
func threshold(points []basePoint) (from basePoint, ok bool) {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b basePoint) int { return cmp.Compare(b.ratio, a.ratio) }) // NaN last
	for _, p := range points {
		if math.IsNaN(p.ratio) || !p.wins() {
			return from, ok
		}
		from, ok = p, true
	}
	return from, ok
}

// ratio is the fixed part of a step to what one more token takes, computed and read, by what the server said.
func ratio(server map[string]string) float64 {
	value := func(name string) float64 {
		v, err := strconv.ParseFloat(server[name], 64)
		if err != nil {
			return math.NaN()
		}
		return v
	}
	token := value("sim_step_per_token") + value("sim_step_per_context")
	if token == 0 {
		return math.NaN()
	}
	return value("sim_step_base") / token
}

func basePoints(s sweep, folders []*batchrun.Folder, cell int) []basePoint {
	var list []basePoint
	for i, f := range folders {
		p := basePoint{
			word: s.words[i], ratio: ratio(f.Result.Arms[batchrun.Candidate].Server), reduction: math.NaN(),
			reference: math.NaN(), ms: math.NaN(), invalid: f.Result.Verdict.Status != results.StatusVerified,
		}
		for _, row := range f.Result.Summary {
			if row.Cell == cell && row.Metric == "avg_ms" {
				p.reduction, p.reference, p.ms, p.interval = known(row.MedianPairedReductionPct), known(row.ReferenceMS), known(row.CandidateMS), row.OrderCI
			}
		}
		list = append(list, p)
	}
	return list
}

const baseNotes = `step-base: what a step takes whatever is in it, seconds; tokens: how many more tokens that are not in the cache take as long;
reduction: of the average, median over rounds, paired, and its exact interval; prefill batches: that a request's items were in, mean.
`

// baseTable is a cell's curve over step-base, cells of a line ended by tabs, and what follows from it.
func baseTable(s sweep, folders []*batchrun.Folder, cell int) (table, advice string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\ttokens\treference ms\tcandidate ms\treduction %%\tinterval\treference's prefill batches\tcandidate's\tvalid\t\n", s.name)
	list := basePoints(s, folders, cell)
	for i, p := range list {
		between := "-"
		if p.interval != nil {
			between = percentage(p.interval.Low) + " to " + percentage(p.interval.High)
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%v\t\n", p.word, figure(p.ratio), figure(p.reference), figure(p.ms), percentage(p.reduction), between,
			figure(batchesOf(folders[i], batchrun.Reference, cell)), figure(batchesOf(folders[i], batchrun.Candidate, cell)), !p.invalid)
	}
	p, ok := threshold(list)
	if !ok {
		return b.String(), "the candidate wins: not at the largest of these, by its interval"
	}
	return b.String(), fmt.Sprintf("the candidate wins: from a step-base of %s s on, which is %s tokens, at every one of these, by the interval", p.word, figure(p.ratio))
}

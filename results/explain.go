package results

import (
	"slices"

	"github.com/fanoutbench/fanoutbench/stats"
)

// ExplainOptions choose what Explain shows.
type ExplainOptions struct {
	Count    int    // 0: every count of the plan
	Metadata string // "": every one of the plan
	Metric   string // "": complete_ms
}

// Check says what of the options the plan does not have.
func (o ExplainOptions) Check(p Plan) error {
	switch {
	case o.Count != 0 && !slices.Contains(p.Counts, o.Count):
		return unwanted("count", o.Count, "one of %v, those of the run", p.Counts)
	case o.Metadata != "" && !slices.Contains(p.Metadata, o.Metadata):
		return unwanted("metadata", o.Metadata, "one of %q, those of the run", p.Metadata)
	case o.Metric != "" && !slices.Contains(Metrics, o.Metric):
		return unwanted("metric", o.Metric, "one of %q", Metrics)
	}
	return nil
}

// chosen are the summary rows that the options name.
func (o ExplainOptions) chosen(rows []SummaryRow) []SummaryRow {
	metric := o.Metric
	if metric == "" {
		metric = Metrics[0]
	}
	var out []SummaryRow
	for _, r := range rows {
		if r.Metric == metric && (o.Count == 0 || r.Count == o.Count) && (o.Metadata == "" || r.Metadata == o.Metadata) {
			out = append(out, r)
		}
	}
	return out
}

// gauge is one thing that marks a round as disturbed. A round of a cell is
// disturbed where a gauge, summed over the cell's trials of reference and candidate
// in that round, is above its median over the cell's rounds by more than deviations times
// their median absolute deviation, and by more than the floor: a smaller excess
// changes no figure, and where the rounds are alike the deviation is next to 0.
// Voluntary switches and frequencies are shown and mark nothing: they follow from
// the arm's own work.
type gauge struct {
	name  string
	of    func(*Disturbance) *int64
	floor int64
}

const deviations = 5

var gauges = []gauge{
	{"steal", func(d *Disturbance) *int64 { return d.StealTicks }, 2},
	{"pressure", func(d *Disturbance) *int64 { return d.PressureUS }, 10_000},
	{"switches", func(d *Disturbance) *int64 { return d.Involuntary }, 50},
}

// explainedRound is a round of a cell: both arms' means of one metric, and what
// went on beside them.
type explainedRound struct {
	round                int
	first                string // the round's coin
	reference, candidate *float64
	reduction            *float64
	trials               map[string][]Trial // by arm
	disturbed            []string           // names of the gauges
}

// explained is one cell's rounds.
type explained struct {
	row      SummaryRow  // of all rounds
	control  *controlled // nil without one
	rounds   []explainedRound
	unknown  []string    // gauges that the trials do not have
	without  *SummaryRow // without the disturbed rounds; nil if there are none
	excluded []int       // the disturbed rounds
}

// explainRow takes one summary row apart.
func explainRow(p Plan, trials []Trial, row SummaryRow) (explained, error) {
	e := explained{row: row}
	var cell []Trial
	for _, t := range trials {
		if t.Round >= 0 && t.Count == row.Count && t.Metadata == row.Metadata {
			cell = append(cell, t)
		}
	}
	reference, candidate := roundMeans(p, cell, Reference, row.Metric), roundMeans(p, cell, Candidate, row.Metric)
	for i := range p.Rounds {
		e.rounds = append(e.rounds, explainedRound{
			round: i, first: p.First[i+1], reference: reference[i], candidate: candidate[i], reduction: row.Reductions[i], trials: map[string][]Trial{},
		})
	}
	for _, t := range cell {
		e.rounds[t.Round].trials[t.Arm] = append(e.rounds[t.Round].trials[t.Arm], t)
	}
	for _, g := range gauges {
		e.mark(g)
	}
	return e, e.leaveOut()
}

// mark notes the rounds that a gauge says are disturbed.
func (e *explained) mark(g gauge) {
	values := make([]float64, len(e.rounds))
	for i, r := range e.rounds {
		v := r.sum(g.of)
		if v == nil {
			e.unknown = append(e.unknown, g.name)
			return
		}
		values[i] = float64(*v)
	}
	for _, i := range beyond(values, float64(g.floor)) {
		e.rounds[i].disturbed = append(e.rounds[i].disturbed, g.name)
	}
}

// beyond are the places of the values that are above their median by more than
// the floor and by more than deviations median absolute deviations.
func beyond(values []float64, floor float64) []int {
	middle := stats.Median(values)
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = max(v-middle, middle-v)
	}
	limit := middle + max(floor, deviations*stats.Median(distances))
	var out []int
	for i, v := range values {
		if v > limit {
			out = append(out, i)
		}
	}
	return out
}

// sum is over the round's trials of the arms given, of both if none is; nil if
// one of the trials lacks it.
func (r explainedRound) sum(of func(*Disturbance) *int64, arms ...string) *int64 {
	if len(arms) == 0 {
		arms = []string{Reference, Candidate}
	}
	total := int64(0)
	for _, arm := range arms {
		for _, t := range r.trials[arm] {
			if t.Disturbance == nil || of(t.Disturbance) == nil {
				return nil
			}
			total += *of(t.Disturbance)
		}
	}
	return &total
}

// leaveOut computes the figures of the rounds that are not disturbed.
func (e *explained) leaveOut() error {
	without := e.row
	without.Reductions = nil
	var reference, candidate []*float64
	for _, r := range e.rounds {
		if len(r.disturbed) > 0 {
			e.excluded = append(e.excluded, r.round)
			continue
		}
		without.Reductions = append(without.Reductions, r.reduction)
		reference, candidate = append(reference, r.reference), append(candidate, r.candidate)
	}
	if len(e.excluded) == 0 {
		return nil
	}
	without.ReferenceMS, without.CandidateMS = median(present(reference)), median(present(candidate))
	without.MedianPairedReductionPct, without.FasterRounds, without.BootstrapCI, without.OrderCI = nil, 0, nil, nil
	e.without = &without
	return without.intervals()
}

package results

import (
	"fmt"
	"math"

	"github.com/fanoutbench/fanoutbench/stats"
)

// Level is the nominal level of both intervals of a summary row.
const Level = 0.95

// Summarize computes the figures of a complete run: for every cell, in the
// plan's order, one row for each of Metrics. Round -1 is left out. A missing,
// surplus or misplaced trial is an error.
func Summarize(p Plan, trials []Trial) ([]SummaryRow, error) {
	return summarize(p, trials, Candidate)
}

// summarize is Summarize with the arm of that name in the candidate's place.
func summarize(p Plan, trials []Trial, arm string) ([]SummaryRow, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	s := newSequence(p)
	for _, t := range trials {
		if err := s.take(t); err != nil {
			return nil, err
		}
	}
	if err := s.complete(); err != nil {
		return nil, err
	}
	cells := byCell(trials)
	var rows []SummaryRow
	for _, count := range p.Counts {
		for _, metadata := range p.Metadata {
			key := cell{count, metadata}
			for _, metric := range Metrics {
				row, err := summarizeMetric(p, cells[key], metric, arm)
				if err != nil {
					return nil, fmt.Errorf("count %d, metadata %s, %s: %w", count, metadata, metric, err)
				}
				row.Count, row.Metadata, row.Metric = count, metadata, metric
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

type cell struct {
	count    int
	metadata string
}

func summarizeMetric(p Plan, trials []Trial, metric, arm string) (SummaryRow, error) {
	reference := roundMeans(p, trials, Reference, metric)
	candidate := roundMeans(p, trials, arm, metric)
	row := SummaryRow{
		ReferenceMS: median(present(reference)),
		CandidateMS: median(present(candidate)),
		Reductions:  make([]*float64, p.Rounds),
		Counters: map[string]map[string]float64{
			Reference: counterMeans(trials, Reference),
			arm:       counterMeans(trials, arm),
		},
	}
	for i := range row.Reductions {
		if reference[i] == nil || candidate[i] == nil {
			continue
		}
		if pct, ok := stats.PairedReduction(*reference[i], *candidate[i]); ok {
			row.Reductions[i] = &pct
		}
	}
	return row, row.intervals()
}

// intervals fills in what follows from the reductions.
func (row *SummaryRow) intervals() error {
	x := present(row.Reductions)
	row.Rounds = len(x)
	if len(x) == 0 {
		return nil
	}
	row.FasterRounds = stats.FasterRounds(x)
	row.MedianPairedReductionPct = median(x)
	bootstrap, err := stats.BootstrapMedian(x, Level)
	if err != nil {
		return err
	}
	row.BootstrapCI = interval(bootstrap)
	if order, ok := stats.OrderStatistic(x, Level); ok {
		row.OrderCI = interval(order)
	}
	return nil
}

// interval carries an attained level over, null where there is no exact one.
func interval(i stats.Interval) *Interval {
	out := &Interval{Low: i.Low, High: i.High}
	if !math.IsNaN(i.Level) {
		out.Level = &i.Level
	}
	return out
}

// roundMeans are the means over the repetitions of one arm, by round. A round
// in which one repetition lacks the metric has no mean: a mean of fewer values
// would compare unlike rounds.
func roundMeans(p Plan, trials []Trial, arm, metric string) []*float64 {
	values := make([][]float64, p.Rounds)
	for _, t := range trials {
		if v := t.metric(metric); t.Arm == arm && v != nil {
			values[t.Round] = append(values[t.Round], *v)
		}
	}
	means := make([]*float64, p.Rounds)
	for i, v := range values {
		if len(v) == p.Repetitions {
			m := stats.Mean(v)
			means[i] = &m
		}
	}
	return means
}

// metric is the value under one of the names in Metrics, nil for null.
func (t Trial) metric(name string) *float64 {
	switch name {
	case "complete_ms":
		return &t.CompleteMS
	case "first_ms":
		return t.FirstMS
	case "first_all_ms":
		return t.FirstAllMS
	case "spread_ms":
		return t.SpreadMS
	case "worker_cpu_ms":
		return t.WorkerCPUMS
	}
	return nil
}

// counterMeans are the means over all counted trials of an arm in a cell. Every
// trial has every counter; sequence saw to that.
func counterMeans(trials []Trial, arm string) map[string]float64 {
	values := map[string][]float64{}
	for _, t := range trials {
		if t.Arm != arm {
			continue
		}
		for name, v := range t.Counters {
			values[name] = append(values[name], v)
		}
	}
	means := map[string]float64{}
	for name, v := range values {
		means[name] = stats.Mean(v)
	}
	return means
}

// median is nil for no values.
func median(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	m := stats.Median(x)
	return &m
}

// present are the values that are not null, in their order.
func present(x []*float64) []float64 {
	var out []float64
	for _, v := range x {
		if v != nil {
			out = append(out, *v)
		}
	}
	return out
}

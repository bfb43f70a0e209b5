package batchrun

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/fanoutbench/fanoutbench/results"
)

// Point is one run of a sweep, in one cell. What is not known is NaN.
type Point struct {
	Word    string  // the value that is swept, as it was said
	Value   float64 // of the word
	Valid   bool    // the run is verified
	Ratio   float64 // of the fixed part of a simulated step to what one more token takes that is not in the cache
	Avg     Paired  // avg_ms
	Leading Paired  // leading_ms

	ReferenceBatches, CandidateBatches float64 // prefill batches that a request's items were in, mean
}

// Paired is a metric of both arms: medians over rounds, ms, the median paired reduction, per cent, and its
// exact interval, nil where there is none.
type Paired struct {
	Reference, Candidate, Reduction float64
	Interval                        *results.Interval
}

// Curve has a point a folder; words and values go with the folders.
func Curve(words []string, values []float64, folders []*Folder, cell int) []Point {
	var list []Point
	for i, f := range folders {
		list = append(list, Point{
			Word: words[i], Value: values[i], Valid: f.Result.Verdict.Status == results.StatusVerified,
			Ratio: stepRatio(f.Result.Arms[Candidate].Server), Avg: f.paired(cell, "avg_ms"), Leading: f.paired(cell, "leading_ms"),
			ReferenceBatches: f.batches(cell, Reference), CandidateBatches: f.batches(cell, Candidate),
		})
	}
	return list
}

func (f *Folder) paired(cell int, metric string) Paired {
	for _, row := range f.Result.Summary {
		if row.Cell == cell && row.Metric == metric {
			return Paired{orNaN(row.ReferenceMS), orNaN(row.CandidateMS), orNaN(row.MedianPairedReductionPct), row.OrderCI}
		}
	}
	return Paired{math.NaN(), math.NaN(), math.NaN(), nil}
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

func (f *Folder) batches(cell int, arm string) float64 {
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

// stepRatio is by what the server said of itself.
func stepRatio(server map[string]string) float64 {
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

// Recommend is the largest limit with which the first item of a request waits no more than within per
// cent longer than with the reference, and whose requests are not slower on average; 0, no limit, is the
// largest. ok is false where none is. Invalid runs do not count.
func Recommend(points []Point, within float64) (p Point, ok bool) {
	best := -1.0
	for _, q := range points {
		size := q.Value
		if size == 0 {
			size = math.Inf(1)
		}
		if q.Valid && -q.Leading.Reduction <= within && q.Avg.Reduction >= 0 && size > best { // a NaN is neither
			best, p, ok = size, q, true
		}
	}
	return p, ok
}

// Threshold is the smallest ratio from which on the candidate is faster on average, by the exact interval,
// at every point; ok is false where it is not at the largest.
func Threshold(points []Point) (from Point, ok bool) {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(b.Ratio, a.Ratio) }) // NaN last
	for _, p := range points {
		if math.IsNaN(p.Ratio) || !p.Valid || p.Avg.Interval == nil || p.Avg.Interval.Low <= 0 {
			return from, ok
		}
		from, ok = p, true
	}
	return from, ok
}

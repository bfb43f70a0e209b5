package batchrun

import (
	"math"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

func TestRecommend(t *testing.T) {
	nan := math.NaN()
	at := func(limit, leading, avg float64) Point { // paired reductions
		return Point{Value: limit, Leading: Paired{Reduction: leading}, Avg: Paired{Reduction: avg}, Valid: true}
	}
	invalid := at(0, 5, 9)
	invalid.Valid = false
	for name, k := range map[string]struct {
		points []Point
		limit  float64
		ok     bool
	}{
		"no limit is the largest":    {[]Point{at(2048, 5, 9), at(0, -3, 9), at(4096, 1, 2)}, 0, true},
		"the largest that is within": {[]Point{at(0, -80, 9), at(2048, -9, 3), at(4096, -10, 2), at(8192, -11, 9)}, 4096, true},
		"not if requests are slower": {[]Point{at(0, 5, -1), at(100, 5, 0)}, 100, true},
		"none":                       {[]Point{at(0, -80, 9), at(5, 3, -2)}, 0, false},
		"not an invalid run":         {[]Point{invalid, at(5, 3, 2)}, 5, true},
		"not what is not known":      {[]Point{at(0, nan, 9), at(5, 3, nan)}, 0, false},
	} {
		if p, ok := Recommend(k.points, 10); p.Value != k.limit || ok != k.ok {
			t.Errorf("%s: %v, %v, want %v, %v", name, p.Value, ok, k.limit, k.ok)
		}
	}
}

func TestThreshold(t *testing.T) {
	at := func(word string, ratio, low float64) Point {
		return Point{Word: word, Ratio: ratio, Valid: true, Avg: Paired{Interval: &results.Interval{Low: low, High: low + 5}}}
	}
	invalid, unknown := at("a", 9, 9), at("a", 9, 9)
	invalid.Valid, unknown.Avg.Interval = false, nil
	for name, k := range map[string]struct {
		points []Point
		want   string // the word of the point; "": none
	}{
		"from one on":              {[]Point{at("a", 2000, 9), at("b", 500, 1), at("c", 10, -1)}, "b"},
		"in any order":             {[]Point{at("c", 10, -1), at("a", 2000, 9), at("b", 500, 1)}, "b"},
		"everywhere":               {[]Point{at("a", 20, 9), at("b", 0, 1)}, "b"},
		"not at the largest":       {[]Point{at("a", 2000, 0), at("b", 500, 1)}, ""},
		"a gap ends it":            {[]Point{at("a", 9, 9), at("b", 8, -3), at("c", 7, 1)}, "a"},
		"not without an interval":  {[]Point{unknown}, ""},
		"not of an invalid run":    {[]Point{invalid}, ""},
		"not where none is known":  {[]Point{at("a", math.NaN(), 9)}, ""},
		"nothing of an empty list": {nil, ""},
	} {
		if p, ok := Threshold(k.points); p.Word != k.want || ok != (k.want != "") {
			t.Errorf("%s: %q, %v, want %q", name, p.Word, ok, k.want)
		}
	}
}

func TestStepRatio(t *testing.T) {
	server := map[string]string{"sim_step_base": "0.005", "sim_step_per_token": "9e-06", "sim_step_per_context": "1e-06"}
	if got := stepRatio(server); math.Abs(got-500) > 1e-9 {
		t.Errorf("got %v, want 500", got)
	}
	server["sim_step_per_token"], server["sim_step_per_context"] = "0", "0"
	for _, s := range []map[string]string{server, nil, {"sim_step_base": "x"}} {
		if got := stepRatio(s); !math.IsNaN(got) {
			t.Errorf("%v: got %v, want NaN", s, got)
		}
	}
}

// A curve is of the cell that is asked for, and says which figures are not there.
func TestCurve(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	between := &results.Interval{Low: 1, High: 9}
	f := &Folder{Result: Result{
		Verdict: Verdict{Status: results.StatusVerified},
		Arms:    map[string]Arm{Candidate: {Server: map[string]string{"sim_step_base": "1", "sim_step_per_token": "0.5", "sim_step_per_context": "0"}}},
		Summary: []SummaryRow{
			{Cell: 0, Metric: "avg_ms", ReferenceMS: number(9)},
			{Cell: 1, Metric: "avg_ms", ReferenceMS: number(4), CandidateMS: number(3), MedianPairedReductionPct: number(25), OrderCI: between},
		},
		Figures: []Figures{
			{Cell: 1, Arm: Reference, Batches: []Bin{{Value: 1, Count: 1}, {Value: 3, Count: 3}}},
			{Cell: 0, Arm: Reference, Batches: []Bin{{Value: 100, Count: 1}}},
		},
	}}
	p := Curve([]string{"x"}, []float64{7}, []*Folder{f}, 1)[0]
	if p.Word != "x" || p.Value != 7 || !p.Valid || p.Ratio != 2 || p.Avg != (Paired{4, 3, 25, between}) || p.ReferenceBatches != 2.5 {
		t.Errorf("got %+v", p)
	}
	if !math.IsNaN(p.Leading.Candidate) || !math.IsNaN(p.CandidateBatches) {
		t.Errorf("got %+v, want NaN for what is not there", p)
	}
	if p := Curve([]string{"x"}, []float64{7}, []*Folder{f}, 0)[0]; p.Avg.Reference != 9 || !math.IsNaN(p.Avg.Candidate) || p.Avg.Interval != nil {
		t.Errorf("got %+v", p)
	}
}

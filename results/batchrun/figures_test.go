package batchrun

import (
	"math"
	"slices"
	"testing"
)

// The dumb twin of the figures: every latency in one sorted list, failures as
// infinities at its end, ranks counted one by one.
func TestFiguresTwin(t *testing.T) {
	p := examplePlan(3)
	dir, result := exampleRun(t, p, func(trial *Trial, q []Request) {
		if trial.Cell == 2 && trial.Arm == Candidate {
			q[3].Error, q[9].Error = "reset", "timed out"
		}
	})
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range result.Figures {
		var answered, all []float64
		for i, trial := range f.Trials {
			if trial.Cell != g.Cell || trial.Arm != g.Arm {
				continue
			}
			for _, r := range f.Requests[i] {
				if r.Error != "" {
					all = append(all, math.Inf(1))
					continue
				}
				answered, all = append(answered, *r.DoneMS-r.IntendedMS), append(all, *r.DoneMS-r.IntendedMS)
			}
		}
		if g.Requests != len(all) || g.Failed != len(all)-len(answered) {
			t.Errorf("%s: %d requests, %d failed, counted %d and %d", g.where(), g.Requests, g.Failed, len(all), len(all)-len(answered))
		}
		same := func(name string, got *float64, want float64) {
			if got == nil && !math.IsInf(want, 1) || got != nil && *got != want {
				t.Errorf("%s: %s is not %v", g.where(), name, want)
			}
		}
		same("p50", g.Response.P50.MS, counting(answered, 50))
		same("p90", g.Response.P90.MS, counting(answered, 90))
		same("p99", g.Response.P99.MS, counting(answered, 99))
		same("all p50", g.AllP50MS, counting(all, 50))
		same("all p90", g.AllP90MS, counting(all, 90))
		same("all p99", g.AllP99MS, counting(all, 99))
		same("max", g.Response.MaxMS, slices.Max(answered))
	}
	if g := result.Figures[5]; g.Failed != 6 || g.AllP99MS != nil || g.AllP90MS == nil || *g.AllP90MS <= *g.Response.P90.MS {
		t.Errorf("6 of 120 failed: p90 of all %v, p99 %v, want one above that of the answered and an infinite one", g.AllP90MS, g.AllP99MS)
	}
}

// counting is the smallest value that at least so many hundredths do not exceed.
func counting(x []float64, hundredths int) float64 {
	x = slices.Sorted(slices.Values(x))
	for i, v := range x {
		if 100*(i+1) >= hundredths*len(x) {
			return v
		}
	}
	return math.NaN()
}

// The family has the coin of every round and the logarithm of candidate over
// reference.
func TestFamily(t *testing.T) {
	p := examplePlan(4)
	_, result := exampleRun(t, p, nil)
	f := p.family(result.RoundFigures)
	for i, c := range f.Cells {
		for round, first := range p.First {
			if c.CandidateFirst[round] != (first == Candidate) {
				t.Errorf("cell %d, round %d: candidate first is %v, the plan has %s", i, round, c.CandidateFirst[round], first)
			}
			if c.LogRatios[round] >= 0 || math.Abs(c.LogRatios[round]-math.Log(0.5)) > 0.01 {
				t.Errorf("cell %d, round %d: log ratio %v, want about ln(1/2)", i, round, c.LogRatios[round])
			}
		}
	}
	if !f.Cells[2].NonInferiority || f.Cells[0].NonInferiority || f.Margin != 0.05 {
		t.Errorf("roles or margin are not the plan's: %+v", f)
	}
}

func TestHistogramTag(t *testing.T) {
	a, err := histogram(Trial{Round: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := histogram(Trial{Round: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !sameHistogram(a, a) || sameHistogram(a, b) {
		t.Error("histograms of two rounds count as the same")
	}
}

// The default family is about the loops, or the single cells where there is none, and
// is one that a plan takes.
func TestDefaultPrimary(t *testing.T) {
	p := examplePlan(2)
	for _, c := range []struct {
		cells   []Cell
		leading bool
		want    []Primary
	}{
		{p.Cells, true, []Primary{{2, "avg_ms", "superiority"}, {2, "p90_ms", "superiority"}, {2, "leading_ms", "non-inferiority"}}},
		{p.Cells[:1], false, []Primary{{0, "avg_ms", "superiority"}, {0, "p90_ms", "superiority"}}},
	} {
		got := DefaultPrimary(c.cells, c.leading)
		if !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
		p.Primary = got
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	}
}

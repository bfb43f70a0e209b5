package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPairedReduction(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		reference, candidate, want float64
		ok                         bool
	}{
		{4, 3, 25, true}, {4, 4, 0, true}, {4, 6, -50, true}, {2, 0, 100, true},
		{0, 3, 0, false}, {math.Copysign(0, -1), 3, 0, false},
		{nan, 1, 0, false}, {1, nan, 0, false}, {inf, 1, 0, false}, {1, inf, 0, false}, {-inf, 1, 0, false},
		{5e-324, math.MaxFloat64, 0, false}, // the ratio does not fit
	} {
		if got, ok := PairedReduction(c.reference, c.candidate); got != c.want || ok != c.ok {
			t.Errorf("PairedReduction(%v, %v) = %v %v, want %v %v", c.reference, c.candidate, got, ok, c.want, c.ok)
		}
	}
}

func TestFasterRounds(t *testing.T) {
	x := []float64{1, 0, -1, math.Copysign(0, -1), 5e-324, math.NaN(), 3}
	if got := FasterRounds(x); got != 3 {
		t.Errorf("FasterRounds(%v) = %d, want 3", x, got)
	}
	if got := FasterRounds(nil); got != 0 {
		t.Errorf("FasterRounds(nil) = %d, want 0", got)
	}
}

func TestMeanAndMedian(t *testing.T) {
	const huge = math.MaxFloat64
	for _, c := range []struct {
		x            []float64
		mean, median float64
	}{
		{[]float64{5}, 5, 5},
		{[]float64{3, 1}, 2, 2},
		{[]float64{9, 1, 2}, 4, 2},
		{[]float64{4, 1, 3, 2}, 2.5, 2.5},
		{[]float64{huge, huge, huge}, huge, huge},
		{[]float64{huge, huge}, huge, huge},
		{[]float64{huge, -huge, 3}, 1, 3},
		{[]float64{1e16, 1, -1e16, 1}, 0.5, 1},
		{[]float64{5e-324, 5e-324}, 5e-324, 5e-324},
	} {
		before := slices.Clone(c.x)
		if got := Mean(c.x); got != c.mean {
			t.Errorf("Mean(%v) = %v, want %v", c.x, got, c.mean)
		}
		if got := Median(c.x); got != c.median {
			t.Errorf("Median(%v) = %v, want %v", c.x, got, c.median)
		}
		if !slices.Equal(before, c.x) {
			t.Errorf("the argument became %v, it was %v", c.x, before)
		}
	}
	for _, x := range [][]float64{nil, {}, {math.NaN()}, {1, math.Inf(1), 2}, {1, 2, math.Inf(-1)}, {1, math.NaN(), 3}} {
		if got := Mean(x); !math.IsNaN(got) {
			t.Errorf("Mean(%v) = %v, want NaN", x, got)
		}
		if got := Median(x); !math.IsNaN(got) {
			t.Errorf("Median(%v) = %v, want NaN", x, got)
		}
	}
}

// The twin of Median: count how many values are on each side.
func TestMedianSplitsTheValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for n := 1; n <= 40; n++ {
		for _, x := range samples(n, rng) {
			m, below, above := Median(x), 0, 0
			for _, v := range x {
				if v < m {
					below++
				}
				if v > m {
					above++
				}
			}
			if below > n/2 || above > n/2 {
				t.Errorf("Median(%v) = %v has %d values below and %d above", x, m, below, above)
			}
		}
	}
}

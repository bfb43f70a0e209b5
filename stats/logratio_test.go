package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// near compares to a relative difference, and near zero to an absolute one.
func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b))
}

func TestLogRatioTable(t *testing.T) {
	for _, c := range []struct{ reference, candidate, want float64 }{
		{1, 1, 0}, {3.7, 3.7, 0}, {2, 1, -math.Ln2}, {1, 2, math.Ln2}, {1, math.E, 1},
		{100, 105, 0.04879016416943204}, {100, 95, -0.05129329438755058},
		{1, 1 + 1e-9, 9.999999995e-10},
		{1e-300, 1e300, 1381.5510557964274}, {1e300, 1e-300, -1381.5510557964274}, // the quotient overflows
		{5e-324, math.MaxFloat64, 1454.222785026274},
	} {
		got, ok := LogRatio(c.reference, c.candidate)
		if !ok || math.Abs(got-c.want) > 1e-6*math.Abs(c.want) {
			t.Errorf("LogRatio(%v, %v) = %v %v, want %v", c.reference, c.candidate, got, ok, c.want)
		}
	}
}

func TestLogRatioRefuses(t *testing.T) {
	for _, bad := range []float64{0, math.Copysign(0, -1), -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, pair := range [][2]float64{{bad, 1}, {1, bad}, {bad, bad}} {
			if got, ok := LogRatio(pair[0], pair[1]); ok || got != 0 {
				t.Errorf("LogRatio(%v, %v) = %v %v, want none", pair[0], pair[1], got, ok)
			}
		}
		if got, ok := LogMargin(bad); ok || got != 0 {
			t.Errorf("LogMargin(%v) = %v %v, want none", bad, got, ok)
		}
	}
}

func TestLogRatioProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for range 2000 {
		a, b := math.Ldexp(1+rng.Float64(), rng.IntN(40)-20), math.Ldexp(1+rng.Float64(), rng.IntN(40)-20)
		ab, _ := LogRatio(a, b)
		if ba, _ := LogRatio(b, a); ab != -ba {
			t.Errorf("LogRatio(%v, %v) = %v, swapped %v", a, b, ab, ba)
		}
		if scaled, _ := LogRatio(8*a, 8*b); scaled != ab {
			t.Errorf("LogRatio(%v, %v) = %v, of eight times both %v", a, b, ab, scaled)
		}
		if (ab > 0) != (b > a) {
			t.Errorf("LogRatio(%v, %v) = %v has the wrong sign", a, b, ab)
		}
		pct, _ := PairedReduction(a, b)
		if got := ReductionOf(ab); math.Abs(got-pct) > 1e-12*max(100, math.Abs(pct)) {
			t.Errorf("%v to %v: ReductionOf %v, PairedReduction %v", a, b, got, pct)
		}
	}
}

func TestReductionOf(t *testing.T) {
	for _, c := range []struct{ l, want float64 }{
		{0, 0}, {-math.Ln2, 50}, {math.Ln2, -100}, {math.Inf(-1), 100}, {math.Inf(1), math.Inf(-1)}, {-1e-12, 1e-10},
	} {
		if got := ReductionOf(c.l); got != c.want && math.Abs(got-c.want) > 1e-9*math.Abs(c.want) {
			t.Errorf("ReductionOf(%v) = %v, want %v", c.l, got, c.want)
		}
	}
	if got := ReductionOf(0); math.Signbit(got) {
		t.Error("ReductionOf(0) is -0")
	}
	if got := ReductionOf(math.NaN()); !math.IsNaN(got) {
		t.Errorf("ReductionOf(NaN) = %v", got)
	}
	margin, ok := LogMargin(5)
	if !ok || !near(margin, 0.04879016416943204, 1e-15) || !near(ReductionOf(margin), -5, 1e-14) {
		t.Errorf("LogMargin(5) = %v %v, %v percent", margin, ok, ReductionOf(margin))
	}
}

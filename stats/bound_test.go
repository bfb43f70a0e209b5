package stats

import (
	"math"
	"math/bits"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

func TestBoundTable(t *testing.T) {
	for _, c := range []struct {
		n     int
		level float64
		rank  float64 // of the upper bound
		want  float64
	}{
		{9, 0.95, 8, 1 - 10./512}, // the facts' 98.05 %
		{9, 0.99, 9, 1 - 1./512},
		{9, 0.9979, 9, 1 - 1./512}, // 24 cells at once: 1-0.05/24
		{5, 0.95, 5, 1 - 1./32},
		{9, 0.5, 5, 0.5}, // the median, and the cut is met exactly
		{9, 0.2, 5, 0.5}, // never on the other side of it
		{1, 0.5, 1, 0.5},
		{8, 0.6, 5, 1 - (1+8+28+56)/256.},
	} {
		upper, ok := UpperBound(ascending(c.n), c.level)
		if !ok || upper != (Bound{c.rank, c.want}) {
			t.Errorf("n=%d level %v: upper %v %v, want x(%v) with %v", c.n, c.level, upper, ok, c.rank, c.want)
		}
		lower, ok := LowerBound(ascending(c.n), c.level)
		if !ok || lower != (Bound{float64(c.n+1) - c.rank, c.want}) {
			t.Errorf("n=%d level %v: lower %v %v", c.n, c.level, lower, ok)
		}
	}
}

func TestBoundRefuses(t *testing.T) {
	none := func(x []float64, level float64) {
		t.Helper()
		if b, ok := UpperBound(x, level); ok || b != (Bound{}) {
			t.Errorf("UpperBound(%v, %v) = %v %v, want none", x, level, b, ok)
		}
		if b, ok := LowerBound(x, level); ok || b != (Bound{}) {
			t.Errorf("LowerBound(%v, %v) = %v %v, want none", x, level, b, ok)
		}
	}
	for n := range 5 {
		none(ascending(n), 0.95)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		none([]float64{1, 2, v, 4, 5, 6, 7, 8, 9}, 0.95)
	}
	for _, level := range []float64{0, 1, -1, 95, math.NaN(), math.Inf(1)} {
		none(ascending(9), level)
		if n, ok := RoundsForBound(level); ok || n != 0 {
			t.Errorf("RoundsForBound(%v) = %v %v", level, n, ok)
		}
		if n, ok := RoundsForInterval(level); ok || n != 0 {
			t.Errorf("RoundsForInterval(%v) = %v %v", level, n, ok)
		}
	}
}

// The twin: x(n+1-k) is at or above the median when at least k values are.
func TestBoundsAgainstSignPatterns(t *testing.T) {
	for n := 1; n < 15; n++ {
		for _, level := range []float64{0.5, 0.6, 0.75, 0.9, 0.95, 0.975, 0.99, 0.998046875, 0.9999} {
			best, attained := 0, 0.0
			for k := 1; k <= (n+1)/2; k++ {
				if c := oneSidedTwin(n, k); c >= level {
					best, attained = k, c
				}
			}
			got, ok := UpperBound(ascending(n), level)
			if ok != (best > 0) || ok && got != (Bound{float64(n + 1 - best), attained}) {
				t.Errorf("n=%d level %v: %v %v, the patterns say rank %d from the top, %v", n, level, got, ok, best, attained)
			}
		}
	}
}

func oneSidedTwin(n, k int) float64 {
	held := 0
	for pattern := range uint(1) << n {
		if bits.OnesCount(pattern) >= k {
			held++
		}
	}
	return float64(held) / float64(uint(1)<<n)
}

func TestRoundsForBoundIsTheFewest(t *testing.T) {
	for level, want := range map[float64][2]int{0.1: {1, 2}, 0.5: {1, 2}, 0.51: {2, 3}, 0.9: {4, 5}, 0.95: {5, 6}, 0.975: {6, 7}, 0.99: {7, 8}, 0.99609375: {8, 9}, 0.9999: {14, 15}, math.Nextafter(1, 0): {54, 55}} {
		bound, _ := RoundsForBound(level)
		interval, _ := RoundsForInterval(level)
		if bound != want[0] || interval != want[1] {
			t.Errorf("level %v: %d and %d values, want %v", level, bound, interval, want)
		}
		for n := 1; n < 60; n++ {
			_, upper := UpperBound(ascending(n), level)
			_, order := OrderStatistic(ascending(n), level)
			_, rank := SignedRank(ascending(n), level)
			if upper != (n >= bound) || order != (n >= interval) || rank != order {
				t.Errorf("level %v, n=%d: bound %v, intervals %v and %v", level, n, upper, order, rank)
			}
		}
	}
}

// Both bounds at 1-a are the interval at 1-2a.
func TestBoundsMakeTheInterval(t *testing.T) {
	for n := 1; n <= 60; n++ {
		for _, l := range [][2]float64{{0.95, 0.9}, {0.975, 0.95}, {0.995, 0.99}, {0.75, 0.5}} {
			upper, ok := UpperBound(ascending(n), l[0])
			lower, _ := LowerBound(ascending(n), l[0])
			i, both := OrderStatistic(ascending(n), l[1])
			if ok != both || i.Low != lower.Value || i.High != upper.Value || ok && !near(i.Level, 2*upper.Level-1, 1e-15) {
				t.Errorf("n=%d: %v and %v at %v, %v at %v", n, lower, upper, l[0], i, l[1])
			}
		}
	}
}

// The tails by the incomplete beta function, P(Bin(n,1/2) <= k-1) = I_1/2(n-k+1, k),
// up to many values and high levels.
func TestOrderStatisticsOfManyValues(t *testing.T) {
	tail := func(n, k int) float64 { return mathext.RegIncBeta(float64(n-k+1), float64(k), 0.5) }
	for _, n := range []int{15, 16, 50, 101, 500, 999, 1000, 2000} {
		for _, level := range []float64{0.5, 0.6, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999} {
			i, ok := OrderStatistic(ascending(n), level)
			k := int(i.Low)
			if !ok || int(i.High) != n+1-k || !near(i.Level, 1-2*tail(n, k), 1e-11) || i.Level < level || 1-2*tail(n, k+1) >= level {
				t.Errorf("n=%d level %v: %v %v", n, level, i, ok)
			}
			u, ok := UpperBound(ascending(n), level)
			k = n + 1 - int(u.Value)
			if !ok || !near(u.Level, 1-tail(n, k), 1e-11) || u.Level < level || k < (n+1)/2 && 1-tail(n, k+1) >= level {
				t.Errorf("n=%d level %v: upper bound %v %v", n, level, u, ok)
			}
		}
	}
}

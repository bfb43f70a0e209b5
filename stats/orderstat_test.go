package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// coverage enumerates the 2^n equally likely patterns of values below and above
// the median: [x(k), x(n+1-k)] holds it when at least k values are on each side.
func coverage(n, k int) float64 {
	if n > 21 {
		panic("too many patterns")
	}
	held := 0
	for pattern := range uint(1) << n {
		if below := bits.OnesCount(pattern); below >= k && n-below >= k {
			held++
		}
	}
	return float64(held) / float64(uint(1)<<n)
}

func TestOrderStatisticAgainstSignPatterns(t *testing.T) {
	for n := range 16 {
		for _, level := range []float64{0.01, 0.5, 0.8, 0.9, 0.95, 0.99, 0.9917, 0.96875, 0.9609375, 0.999} {
			best := 0
			for k := 1; 2*k <= n; k++ {
				if coverage(n, k) >= level {
					best = k
				}
			}
			got, ok := OrderStatistic(ascending(n), level)
			if ok != (best > 0) {
				t.Errorf("n=%d level %v: ok %v, the patterns say rank %d", n, level, ok, best)
			}
			if !ok {
				continue
			}
			if want := (Interval{float64(best), float64(n + 1 - best), coverage(n, best)}); got != want {
				t.Errorf("n=%d level %v: %v, the patterns say %v", n, level, got, want)
			}
		}
	}
}

func TestOrderStatisticTable(t *testing.T) {
	for _, c := range []struct {
		n, k    int
		percent float64
	}{{6, 1, 96.9}, {7, 1, 98.4}, {9, 2, 96.1}, {11, 2, 98.8}, {13, 3, 97.8}, {15, 4, 96.5}, {21, 6, 97.3}} {
		got, ok := OrderStatistic(ascending(c.n), 0.95)
		if !ok || got.Low != float64(c.k) || got.High != float64(c.n+1-c.k) || math.Abs(100*got.Level-c.percent) > 0.0501 {
			t.Errorf("n=%d: %v %v, published [x%d, x%d] at %v %%", c.n, got, ok, c.k, c.n+1-c.k, c.percent)
		}
	}
	for n := range 6 {
		if got, ok := OrderStatistic(ascending(n), 0.95); ok || got != (Interval{}) {
			t.Errorf("n=%d at 95 %%: %v %v, want none", n, got, ok)
		}
	}
	if got, _ := OrderStatistic([]float64{9, 1, 8, 2, 7, 3, 6, 4, 5}, 0.95); got != (Interval{2, 8, 0.9609375}) {
		t.Errorf("nine values: %v", got)
	}
}

func TestOrderStatisticLargeN(t *testing.T) {
	// Coverages by exact fractions in Python; the next narrower interval is below 95 %.
	for _, c := range []struct {
		n, k  int
		level float64
	}{{100, 40, 0.9647997997822951}, {999, 469, 0.9502444627180657}, {1000, 469, 0.9537088026395019}} {
		got, ok := OrderStatistic(ascending(c.n), 0.95)
		if !ok || got.Low != float64(c.k) || math.Abs(got.Level/c.level-1) > 1e-12 {
			t.Errorf("n=%d: %v %v, want rank %d and %v", c.n, got, ok, c.k, c.level)
		}
	}
}

func TestOrderStatisticRefuses(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x := ascending(9)
		x[4] = v
		if got, ok := OrderStatistic(x, 0.95); ok || got != (Interval{}) {
			t.Errorf("%v among the values: %v %v", v, got, ok)
		}
	}
	for _, level := range []float64{0, 1, -1, 95, math.NaN(), math.Inf(1)} {
		if got, ok := OrderStatistic(ascending(9), level); ok || got != (Interval{}) {
			t.Errorf("level %v: %v %v", level, got, ok)
		}
	}
}

// Simulated coverage stays within five standard deviations of Level; the seeds
// are fixed, so it holds always or never.
func TestSimulatedCoverage(t *testing.T) {
	const sets = 6000
	draw := map[string]func(*rand.Rand) (v, median float64){
		"normal":    func(r *rand.Rand) (float64, float64) { return r.NormFloat64(), 0 },
		"lognormal": func(r *rand.Rand) (float64, float64) { return math.Exp(r.NormFloat64()), 1 },
		"skewed":    func(r *rand.Rand) (float64, float64) { return r.ExpFloat64(), math.Ln2 },
		"two modes": func(r *rand.Rand) (float64, float64) {
			return r.NormFloat64() + 8*float64(r.IntN(2)) - 4, 0
		},
	}
	for name, next := range draw {
		for _, n := range []int{9, 12} {
			rng := rand.New(rand.NewPCG(11, uint64(n)))
			x, order, boot := make([]float64, n), tally{}, tally{}
			for range sets {
				var median float64
				for i := range x {
					x[i], median = next(rng)
				}
				o, _ := OrderStatistic(x, 0.95)
				order.add(o, median)
				boot.add(bootstrap(t, x, 0.95), median)
			}
			order.check(t, name, coverage(n, map[int]int{9: 2, 12: 3}[n]), 0)
			if n%2 == 1 {
				boot.check(t, name, coverage(9, 2), 0)
			} else {
				tail := tailFor(t, 0.95)
				outer, inner := coverage(n, rankReaching(n, n/2, tail)), coverage(n, rankReaching(n, n/2+1, tail))
				boot.check(t, name, (outer+inner)/2, (outer-inner)/2)
			}
		}
	}
}

type tally struct{ held, all int }

func (c *tally) add(i Interval, median float64) {
	c.all++
	if i.Low <= median && median <= i.High {
		c.held++
	}
}

func (c *tally) check(t *testing.T, name string, want, slack float64) {
	t.Helper()
	got := float64(c.held) / float64(c.all)
	if math.Abs(got-want) > slack+5*math.Sqrt(want*(1-want)/float64(c.all)) {
		t.Errorf("%s: covered %v of %d data sets, expected %v ± %v", name, got, c.all, want, slack)
	}
}

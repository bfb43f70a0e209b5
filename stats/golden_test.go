package stats

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"testing"
)

// golden is what scripts/stats_golden.py wrote: numpy's resampling and scipy's
// intervals.
type golden struct {
	Resamples int
	Cases     []goldenCase
}

type goldenCase struct {
	Name      string
	Values    []float64
	CDF       [][2]float64 // v and the share of resamples with a median of at most v
	Intervals []struct {
		Level     float64
		Bootstrap *[2]float64
		Order     *[2]float64
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()
	raw, err := os.ReadFile("testdata/bootstrap.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) < 20 || g.Resamples < 1e6 {
		t.Fatalf("%d cases of %d resamples, expected at least 20 of a million", len(g.Cases), g.Resamples)
	}
	return g
}

// exactCDF is P(med* <= v).
func exactCDF(x []float64, v float64) float64 {
	n, sorted := len(x), ordered(x)
	var count *big.Int
	if n%2 == 0 {
		count = newEvenMedian(sorted).atMost(v)
	} else {
		k := 0
		for k < n && sorted[k] <= v {
			k++
		}
		count = atLeast(n, k, (n+1)/2)
	}
	p, _ := new(big.Rat).SetFrac(count, resamples(n)).Float64()
	return p
}

// noise is five standard deviations of a share of the resamples. Some 600 shares
// are compared, so of correct goldens one in three thousand would fail; this one
// is committed, so it passes always or never.
func (g golden) noise(p float64) float64 {
	return 5 * math.Sqrt(p*(1-p)/float64(g.Resamples))
}

func TestDistributionAgainstResampling(t *testing.T) {
	g := readGolden(t)
	for _, c := range g.Cases {
		for _, point := range c.CDF {
			p := exactCDF(c.Values, point[0])
			if math.Abs(p-point[1]) > g.noise(p) {
				t.Errorf("%s: P(med* <= %v) = %v, resampling says %v ± %v", c.Name, point[0], p, point[1], g.noise(p))
			}
		}
	}
}

// An end that resampling found must be a quantile within its noise; and where no
// probability near the cut is within the noise of it, the ends are equal.
func TestIntervalsAgainstScipy(t *testing.T) {
	g := readGolden(t)
	equal, checked := 0, 0
	for _, c := range g.Cases {
		for _, i := range c.Intervals {
			if i.Bootstrap == nil {
				continue
			}
			got, half := bootstrap(t, c.Values, i.Level), (1-i.Level)/2
			mirror := mapped(c.Values, func(v float64) float64 { return -v })
			for _, end := range []struct {
				x           []float64
				ours, scipy float64
			}{{c.Values, got.Low, i.Bootstrap[0]}, {mirror, -got.High, -i.Bootstrap[1]}} {
				at, below := exactCDF(end.x, end.scipy), exactCDF(end.x, math.Nextafter(end.scipy, math.Inf(-1)))
				if at < half-g.noise(half) || below > half+g.noise(half) {
					t.Errorf("%s %v: %v is no quantile, P(med* <= it) = %v, P(med* < it) = %v", c.Name, i.Level, end.scipy, at, below)
				}
				checked++
				if end.ours == end.scipy {
					equal++
				} else if math.Abs(at-half) > g.noise(half) && math.Abs(below-half) > g.noise(half) {
					t.Errorf("%s %v: end %v, scipy says %v, and no noise explains it", c.Name, i.Level, end.ours, end.scipy)
				}
			}
		}
	}
	t.Logf("%d of %d ends are equal, the rest within the noise of the cut", equal, checked)
	if 10*equal < 9*checked {
		t.Errorf("only %d of %d ends are equal", equal, checked)
	}
}

func TestOrderIntervalsAgainstScipy(t *testing.T) {
	for _, c := range readGolden(t).Cases {
		for _, i := range c.Intervals {
			got, ok := OrderStatistic(c.Values, i.Level)
			if ok != (i.Order != nil) {
				t.Errorf("%s %v: ok %v, scipy says %v", c.Name, i.Level, ok, i.Order)
			}
			if ok && i.Order != nil && (got.Low != i.Order[0] || got.High != i.Order[1]) {
				t.Errorf("%s %v: [%v, %v], scipy says %v", c.Name, i.Level, got.Low, got.High, *i.Order)
			}
		}
	}
}

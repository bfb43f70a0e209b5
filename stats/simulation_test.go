package stats

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// simulations is how many data sets a simulated figure takes, more of them in the
// long suite, and a quarter where an emulator computes them (-short). The seeds are
// fixed, so each holds always or never.
func simulations(usual, long int) int {
	switch {
	case os.Getenv("FANOUTBENCH_LONG") != "":
		return long
	case testing.Short():
		return usual / 4
	}
	return usual
}

// errorBound is four standard errors of a share.
func errorBound(p float64, sets int) float64 { return 4 * math.Sqrt(p*(1-p)/float64(sets)) }

// roundNoise draws log ratios with the median zero.
type roundNoise struct {
	name      string
	symmetric bool
	draw      func(*rand.Rand) float64
}

func laplace(r *rand.Rand) float64 {
	if r.IntN(2) == 0 {
		return r.ExpFloat64()
	}
	return -r.ExpFloat64()
}

var roundNoises = []roundNoise{
	{"normal", true, func(r *rand.Rand) float64 { return r.NormFloat64() }},
	{"laplace", true, laplace},
	{"t3", true, func(r *rand.Rand) float64 {
		a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		return r.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3)
	}},
	{"two modes", true, func(r *rand.Rand) float64 { return 0.3*r.NormFloat64() + 4*float64(r.IntN(2)) - 2 }},
	// Both arms with the same skewed noise: their log ratio is symmetric.
	{"difference of exponentials", true, func(r *rand.Rand) float64 { return r.ExpFloat64() - r.ExpFloat64() }},
	{"lognormal", false, func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) - 1 }},
	// 15 of 100 are far above; the rest has 50/85 of its values below zero.
	{"spikes", false, func(r *rand.Rand) float64 {
		if r.Float64() < 0.15 {
			return 5 + r.ExpFloat64()
		}
		return r.NormFloat64() - 0.22300783094036683
	}},
}

// eachSample draws data sets of n values about the median.
func eachSample(noise roundNoise, n, sets int, seed uint64, f func(x []float64)) {
	rng, x := rand.New(rand.NewPCG(seed, uint64(n))), make([]float64, n)
	for range sets {
		for i := range x {
			x[i] = noise.draw(rng)
		}
		f(x)
	}
}

func TestSimulatedNoiseHasItsMedian(t *testing.T) {
	for _, noise := range roundNoises {
		below, sets := 0, 100000
		eachSample(noise, 1, sets, 61, func(x []float64) {
			if x[0] < 0 {
				below++
			}
		})
		if share := float64(below) / float64(sets); math.Abs(share-0.5) > errorBound(0.5, sets) {
			t.Errorf("%s: %v of the values are below zero", noise.name, share)
		}
	}
}

// Intervals and bounds cover as often as their Level says: order statistics with
// every noise, signed ranks with the symmetric ones.
func TestSimulatedCoverageOfIntervals(t *testing.T) {
	for _, noise := range roundNoises {
		for _, n := range []int{9, 17} {
			sets := simulations(3000, 30000)
			var rank, order, upper, lower int
			var level [3]float64
			var widths [2][]float64
			eachSample(noise, n, sets, 63, func(x []float64) {
				r, _ := SignedRank(x, 0.95)
				o, _ := OrderStatistic(x, 0.95)
				u, _ := UpperBound(x, 0.95)
				l, _ := LowerBound(x, 0.95)
				rank += oneIf(r.Low <= 0 && 0 <= r.High)
				order += oneIf(o.Low <= 0 && 0 <= o.High)
				upper += oneIf(0 <= u.Value)
				lower += oneIf(l.Value <= 0)
				level = [3]float64{r.Level, o.Level, u.Level}
				widths[0], widths[1] = append(widths[0], r.High-r.Low), append(widths[1], o.High-o.Low)
			})
			check := func(what string, held int, level float64) {
				share := float64(held) / float64(sets)
				if math.Abs(share-level) > errorBound(level, sets) {
					t.Errorf("%s, n=%d: the %s covers %v, Level is %v", noise.name, n, what, share, level)
				}
			}
			if noise.symmetric {
				check("signed-rank interval", rank, level[0])
			}
			check("order-statistic interval", order, level[1])
			check("upper bound", upper, level[2])
			check("lower bound", lower, level[2])
			ratio, documented := Median(widths[0])/Median(widths[1]), map[string]float64{"normal": 0.88, "spikes": 1.36}[noise.name]
			if n == 9 && documented > 0 && math.Abs(ratio-documented) > 0.03 {
				t.Errorf("%s: the signed-rank interval is %v as wide, documented is %v", noise.name, ratio, documented)
			}
		}
	}
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// With skewed noise the signed ranks estimate something else than the median, and
// more rounds make it plainer. This is why they do not decide.
func TestSignedRankMissesTheMedianOfSkewedNoise(t *testing.T) {
	for _, noise := range roundNoises {
		if noise.symmetric {
			continue
		}
		held, sets := 0, 1000
		eachSample(noise, 60, sets, 65, func(x []float64) {
			r, _ := SignedRank(x, 0.95)
			held += oneIf(r.Low <= 0 && 0 <= r.High)
		})
		if share := float64(held) / float64(sets); share > 0.92 {
			t.Errorf("%s, n=60: covers the median in %v of the cases", noise.name, share)
		}
	}
}

// At the edge of the margin equivalence and non-inferiority are claimed at most as
// often as 1-level; in the middle with the power that the rounds were chosen for.
func TestSimulatedMargins(t *testing.T) {
	const margin = 0.75
	sets := simulations(2000, 20000)
	for _, noise := range roundNoises {
		for _, edge := range []float64{margin, -margin} {
			equivalent, below := 0, 0
			eachSample(noise, 12, sets, 67, func(x []float64) {
				moved := mapped(x, func(v float64) float64 { return v + edge })
				e, _ := Equivalent(moved, margin, 0.95)
				b, _ := NonInferior(moved, margin, 0.95)
				equivalent += oneIf(e.Within)
				below += oneIf(b.Within)
			})
			limit := 0.05*float64(sets) + float64(sets)*errorBound(0.05, sets)
			if float64(equivalent) > limit || edge > 0 && float64(below) > limit {
				t.Errorf("%s at %v: equivalent %d, not inferior %d times of %d", noise.name, edge, equivalent, below, sets)
			}
		}
	}
	for _, c := range []struct {
		name   string
		rounds func(margin, spread, level, power float64) (int, bool)
		passes func(x []float64, margin, level float64) (MarginTest, bool)
	}{{"equivalent", RoundsEquivalent, Equivalent}, {"not inferior", RoundsNonInferior, NonInferior}} {
		n, _ := c.rounds(margin, 1, 0.95, 0.8)
		passed := 0
		eachSample(roundNoises[0], n, sets, 69, func(x []float64) {
			got, _ := c.passes(x, margin, 0.95)
			passed += oneIf(got.Within)
		})
		if share := float64(passed) / float64(sets); share < 0.8-errorBound(0.8, sets) {
			t.Errorf("%s in %v of the cases after %d rounds", c.name, share, n)
		}
	}
}

// An effect of the size that SmallestEffect names is found in 80 of 100 runs, and
// in no more.
func TestSimulatedPower(t *testing.T) {
	sets := simulations(4000, 40000)
	for _, n := range []int{9, 17, 30} {
		effect, _ := SmallestEffect(0.02, n, 0.95, 0.8)
		found := 0
		eachSample(roundNoises[0], n, sets, 71, func(x []float64) {
			o, _ := OrderStatistic(mapped(x, func(v float64) float64 { return 0.02*v + effect }), 0.95)
			found += oneIf(o.Low > 0)
		})
		if share := float64(found) / float64(sets); math.Abs(share-0.8) > errorBound(0.8, sets) {
			t.Errorf("n=%d: an effect of %v is found in %v of the cases", n, effect, share)
		}
	}
}

// Where order does nothing, P is at most p in at most a share p of the runs, under
// drift too; where going second costs as much as the noise, it is found.
func TestSimulatedPosition(t *testing.T) {
	sets := simulations(1500, 15000)
	for _, cost := range []float64{0, 2} {
		rng := rand.New(rand.NewPCG(73, 74))
		small, x, first := 0, make([]float64, 17), make([]bool, 17)
		for range sets {
			for i := range x {
				first[i] = rng.IntN(2) == 1
				x[i] = laplace(rng) + 0.3*float64(i) + cost*float64(oneIf(!first[i]))
			}
			if got, ok := PositionEffect(x, first); ok && got.P <= 0.05 {
				small++
			}
		}
		share := float64(small) / float64(sets)
		if cost == 0 && share > 0.05+errorBound(0.05, sets) || cost > 0 && share < 0.2 {
			t.Errorf("cost %v: P <= 0.05 in %v of the runs", cost, share)
		}
	}
}

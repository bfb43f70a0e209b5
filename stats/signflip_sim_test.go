package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Simulations of many cells. The seeds are fixed, so each passes always or never;
// the bounds are four standard errors wide, so another seed would pass as well.

// cellNoise draws one round: the cells' values have standard deviation 1 (or that
// of the named distribution) and correlation 1/2. One coin a round says which
// arm was which, as the harness tosses it, so skewed noise is symmetric too.
type cellNoise func(rng *rand.Rand) float64

var cellNoises = map[string]cellNoise{
	"normal":  func(rng *rand.Rand) float64 { return rng.NormFloat64() },
	"t3":      studentT3,
	"skewed":  func(rng *rand.Rand) float64 { return math.Exp(rng.NormFloat64()) - 1 },
	"spikes":  spikes,
	"modes":   func(rng *rand.Rand) float64 { return 3 + rng.NormFloat64() },
	"grained": func(rng *rand.Rand) float64 { return math.Round(rng.NormFloat64()) },
}

func studentT3(rng *rand.Rand) float64 {
	chi := 0.0
	for range 3 {
		v := rng.NormFloat64()
		chi += v * v
	}
	return rng.NormFloat64() / math.Sqrt(chi/3)
}

// spikes are normal, and one round in seven is slowed.
func spikes(rng *rand.Rand) float64 {
	v := rng.NormFloat64()
	if rng.IntN(7) == 0 {
		v += 5 * rng.ExpFloat64()
	}
	return v
}

func (noise cellNoise) rounds(rng *rand.Rand, n, m int) [][]float64 {
	rounds := make([][]float64, n)
	for i := range rounds {
		coin := math.Sqrt(0.5) * float64(1-2*rng.IntN(2))
		shared := noise(rng)
		rounds[i] = make([]float64, m)
		for c := range rounds[i] {
			rounds[i][c] = coin * (shared + noise(rng))
		}
	}
	return rounds
}

// atMost checks that a rate is no higher than a probability, but for noise.
func atMost(t *testing.T, what string, hits, all int, want float64) {
	t.Helper()
	rate := float64(hits) / float64(all)
	t.Logf("%s: %.4f of %d", what, rate, all)
	if rate > want+4*math.Sqrt(want*(1-want)/float64(all)) {
		t.Errorf("%s: %d of %d (%v), want at most %v", what, hits, all, rate, want)
	}
}

func smallest(cells []FlippedCell, p func(FlippedCell) float64) float64 {
	least := 1.0
	for _, c := range cells {
		least = min(least, p(c))
	}
	return least
}

func adjusted(c FlippedCell) float64 { return c.Adjusted }
func stepDown(c FlippedCell) float64 { return c.StepDown }

// With nothing but null cells a family alarms at 5 % in at most 5 %, where the
// cells' own p-values do so many times as often.
func TestSimulatedFamilyError(t *testing.T) {
	for name, noise := range cellNoises {
		all := simulations(250, 3000)
		if name == "normal" {
			all = simulations(1500, 20000)
		}
		for _, m := range []int{6, 12, 24} {
			rng := rand.New(rand.NewPCG(61, uint64(m)))
			alarms, raw := map[Side]int{}, 0
			for range all {
				rounds := noise.rounds(rng, 9, m)
				for _, side := range []Side{Either, Above} {
					cells := maxT(t, rounds, side).Cells
					if smallest(cells, adjusted) <= 0.05 {
						alarms[side]++
					}
					if side == Either && smallest(cells, func(c FlippedCell) float64 { return c.P }) <= 0.05 {
						raw++
					}
				}
			}
			for side, hits := range alarms {
				atMost(t, fmt.Sprintf("%s, %d cells, %v", name, m, side), hits, all, 0.05)
			}
			if name == "normal" && float64(raw) < 0.15*float64(all) {
				t.Errorf("%s, %d cells: uncorrected tests alarm %d times of %d, expected many", name, m, raw, all)
			}
		}
	}
}

// A third of the cells is shifted: the others still alarm in at most 5 %, also
// with step-down, and also one-sided where the shifted cells became faster.
func TestSimulatedFamilyErrorBesideRealEffects(t *testing.T) {
	all := simulations(800, 8000)
	for _, shift := range []float64{-2, -0.7, -0.3, 0.7, 2, 5} {
		rng := rand.New(rand.NewPCG(62, math.Float64bits(shift)))
		false2, false1 := 0, 0
		for range all {
			rounds := eachValue(cellNoises["normal"].rounds(rng, 9, 12), func(c int, v float64) float64 {
				if c < 4 {
					return v + shift
				}
				return v
			})
			if smallest(maxT(t, rounds, Either).Cells[4:], stepDown) <= 0.05 {
				false2++
			}
			truly := 4 // cells that did become slower are no false alarms
			if shift < 0 {
				truly = 0
			}
			if smallest(maxT(t, rounds, Above).Cells[truly:], stepDown) <= 0.05 {
				false1++
			}
		}
		atMost(t, fmt.Sprintf("shift %v, either", shift), false2, all, 0.05)
		atMost(t, fmt.Sprintf("shift %v, above", shift), false1, all, 0.05)
	}
}

// One cell is shifted by two standard deviations.
func TestMaxTSimulatedPower(t *testing.T) {
	all := simulations(1000, 8000)
	for _, c := range []struct {
		m    int
		want float64
	}{{6, 0.93}, {12, 0.91}, {24, 0.85}} {
		rng := rand.New(rand.NewPCG(63, uint64(c.m)))
		found, down, bound, above, mean := 0, 0, 0, 0, 0
		for range all {
			rounds := cellNoises["normal"].rounds(rng, 9, c.m)
			for i := range rounds {
				rounds[i][0] += 2
			}
			cell := maxT(t, rounds, Either).Cells[0]
			found += count(cell.Adjusted <= 0.05)
			down += count(cell.StepDown <= 0.05)
			above += count(maxT(t, rounds, Above).Cells[0].Adjusted <= 0.05)
			b, err := SimultaneousBounds(rounds, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			bound += count(b.Cells[0].Lower > 0)
			mean += count(subsetMeanBound(column(rounds, 0), c.m) > 0)
		}
		share := func(n int) float64 { return float64(n) / float64(all) }
		t.Logf("%d cells, power: max-T %.3f, step-down %.3f, above %.3f; bounds: order statistics %.3f, subset means %.3f",
			c.m, share(found), share(down), share(above), share(bound), share(mean))
		if share(found) < c.want || down < found || above < found {
			t.Errorf("%d cells: power %v, step-down %v, above %v, want at least %v", c.m, share(found), share(down), share(above), c.want)
		}
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// subsetMeanBound is the lower bound by inverting the flips of one cell at its
// share of 5 % (Hartigan's typical values): the k-th smallest mean of a subset.
func subsetMeanBound(x []float64, cells int) float64 {
	var means []float64
	for set := 1; set < 1<<len(x); set++ {
		sum, size := 0.0, 0
		for i, v := range x {
			if set>>i&1 == 1 {
				sum += v
				size++
			}
		}
		means = append(means, sum/float64(size))
	}
	slices.Sort(means)
	k := int(0.05 * float64(len(means)+1) / float64(cells))
	return means[k-1]
}

// All lower bounds hold at once at least as often as Level says, and all upper
// bounds; the correlation between cells only helps.
func TestSimulatedBounds(t *testing.T) {
	all := simulations(1500, 8000)
	for name, noise := range cellNoises {
		for _, c := range []struct{ n, m int }{{9, 1}, {9, 24}, {12, 6}, {20, 24}} {
			rng := rand.New(rand.NewPCG(64, uint64(100*c.n+c.m)))
			lower, upper, level := 0, 0, 0.0
			for range all {
				bounds, err := SimultaneousBounds(noise.rounds(rng, c.n, c.m), 0.95)
				if err != nil {
					t.Fatal(err)
				}
				level = bounds.Level
				lower += count(slices.ContainsFunc(bounds.Cells, func(b CellBounds) bool { return b.Lower > 0 }))
				upper += count(slices.ContainsFunc(bounds.Cells, func(b CellBounds) bool { return b.Upper < 0 }))
			}
			atMost(t, fmt.Sprintf("%s, n=%d, %d cells: a lower bound misses", name, c.n, c.m), lower, all, 1-level)
			atMost(t, fmt.Sprintf("%s, n=%d, %d cells: an upper bound misses", name, c.n, c.m), upper, all, 1-level)
		}
	}
}

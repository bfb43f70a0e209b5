package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// looks is how often a run of at most so many rounds is looked at: after each.
const looks = 60

// crossings is the probability that a walk of independent signs, above zero with
// probability p, ever reaches the threshold within so many looks: the dumb way, by
// carrying the probability of every count that has not.
func crossings(side Side, threshold, p float64) float64 {
	alive, crossed := []float64{1}, 0.0
	for n := 1; n <= looks; n++ {
		next := make([]float64, n+1)
		for s, mass := range alive {
			next[s] += mass * (1 - p)
			next[s+1] += mass * p
		}
		for s := range next {
			e := signE(n, s)
			if side == Above {
				e = oneSidedE(n, s)
			}
			if v, _ := e.Float64(); v >= threshold {
				crossed += next[s]
				next[s] = 0
			}
		}
		alive = next
	}
	return crossed
}

// No noise here: these are the exact error rates, 2.5 % for one cell.
func TestCrossingProbability(t *testing.T) {
	for _, cells := range []int{1, 6, 24} {
		threshold, _ := EThreshold(cells, 0.95)
		for _, side := range []Side{Either, Above} {
			p := crossings(side, threshold, 0.5)
			t.Logf("%d cells, %v: a null cell reaches %v within %d looks with probability %.4f", cells, side, threshold, looks, p)
			if p > 0.05/float64(cells) || p < 0.01/float64(cells) {
				t.Errorf("%d cells, %v: a null cell stops with probability %v", cells, side, p)
			}
			if lower := crossings(Above, threshold, 0.4); side == Above && lower > p {
				t.Errorf("%d cells: a coin against Above stops more often, %v", cells, lower)
			}
		}
	}
	if p := crossings(Either, 20, 0.5); math.Abs(p-0.025) > 0.0005 {
		t.Errorf("one null cell stops with probability %v, published 2.5 %%", p)
	}
}

// Every cell of a family is looked at after every round; none may ever stop.
func TestSimulatedStops(t *testing.T) {
	all := simulations(400, 8000)
	for _, m := range []int{1, 6, 24} {
		threshold, _ := EThreshold(m, 0.95)
		for _, side := range []Side{Either, Above} {
			rng := rand.New(rand.NewPCG(81, uint64(m)))
			stopped := 0
			for range all {
				stopped += count(everStops(t, cellNoises["skewed"].rounds(rng, looks, m), side, threshold))
			}
			atMost(t, fmt.Sprintf("%d cells, %v, stop within %d looks", m, side, looks), stopped, all, 0.05)
		}
	}
}

// everStops looks at every cell after every round. The values depend on the
// counts alone, so each is computed once.
func everStops(t *testing.T, rounds [][]float64, side Side, threshold float64) bool {
	for c := range rounds[0] {
		above := 0
		for i := range rounds {
			if rounds[i][c] > 0 {
				above++
			}
			if knownE(t, above, i+1-above, side) >= threshold {
				return true
			}
		}
	}
	return false
}

var known = map[[3]int]float64{}

func knownE(t *testing.T, above, below int, side Side) float64 {
	key := [3]int{above, below, int(side)}
	e, ok := known[key]
	if !ok {
		e = eValue(t, signs(above, below, 0), side)
		known[key] = e
	}
	return e
}

func TestUnanimousSignsStopAtRoundEight(t *testing.T) {
	for _, c := range []struct{ cells, round int }{{1, 8}, {6, 11}, {24, 13}} {
		threshold, _ := EThreshold(c.cells, 0.95)
		for n := 1; n <= c.round; n++ {
			for _, x := range [][]float64{signs(n, 0, 0), signs(0, n, 0)} {
				if stops := eValue(t, x, Either) >= threshold; stops != (n == c.round) {
					t.Errorf("%d cells, %d unanimous rounds: stops %v, expected first at %d", c.cells, n, stops, c.round)
				}
			}
		}
	}
}

// An interval after every round from the first: no look of 60 may miss.
func TestSimulatedTimeUniform(t *testing.T) {
	for name, noise := range cellNoises {
		for _, m := range []int{1, 6} {
			all := simulations(300/m, 4000)
			if name == "normal" {
				all = simulations(1200/m, 4000)
			}
			rng := rand.New(rand.NewPCG(82, uint64(m)))
			missed := 0
			for range all {
				missed += count(everMisses(noise.rounds(rng, looks, m)))
			}
			atMost(t, fmt.Sprintf("%s, %d cells: a look of %d misses", name, m, looks), missed, all, 0.05)
		}
	}
}

func everMisses(rounds [][]float64) bool {
	for c := range rounds[0] {
		x := column(rounds, c)
		for n := 8; n <= len(x); n++ { // no interval before
			if i, ok := TimeUniform(x[:n], 0.95, len(rounds[0])); ok && (i.Low > 0 || i.High < 0) {
				return true
			}
		}
	}
	return false
}

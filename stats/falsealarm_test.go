package stats

import (
	"math/rand/v2"
	"testing"
)

// The exhibit: how often 24 cells of which none differs raise an alarm, by
// three ways of comparing them on one machine that drifts.
//
// The machine has 18 slots, one a measurement of every cell, in the order of time.
// The logarithm of a cell's time in a slot is the machine's drift at that slot,
// common to all cells (3 % over the session, and a random walk), and noise of 1 %,
// half of it common. The same slots are given to the arms in two ways: by a coin
// in each pair of neighbours, or the first nine to the reference.

const exhibitRounds, exhibitCells = 9, 24

// exhibitSlots draws the machine.
func exhibitSlots(rng *rand.Rand) [][]float64 {
	slots := make([][]float64, 2*exhibitRounds)
	walk := 0.0
	for i := range slots {
		walk += 0.002 * rng.NormFloat64()
		drift := walk + 0.03*float64(i)/float64(len(slots)-1)
		shared := rng.NormFloat64()
		for range exhibitCells {
			noise := 0.01 * 0.7071 * (shared + rng.NormFloat64())
			slots[i] = append(slots[i], drift+noise)
		}
	}
	return slots
}

// paired gives each pair of neighbouring slots to the arms by a coin.
func paired(slots [][]float64, rng *rand.Rand) (reference, candidate [][]float64) {
	for i := 0; i < len(slots); i += 2 {
		first := rng.IntN(2)
		reference = append(reference, slots[i+first])
		candidate = append(candidate, slots[i+1-first])
	}
	return reference, candidate
}

// mannWhitneyRejects is the two-sided test at 5 % for nine against nine: U of 17
// or less, or of 64 or more, which has probability 0.0400 (TestMannWhitneyCut).
func mannWhitneyRejects(a, b []float64) bool {
	u := 0
	for _, x := range a {
		for _, y := range b {
			u += count(x < y)
		}
	}
	return u <= mannWhitneyCut || u >= len(a)*len(b)-mannWhitneyCut
}

const mannWhitneyCut = 17

func TestMannWhitneyCut(t *testing.T) {
	// ways[i][u] is the number of orders of i values of the one and 9 of the
	// other arm, seen so far, with u pairs in order.
	var ways func(a, b, u int) int
	memo := map[[3]int]int{}
	ways = func(a, b, u int) int {
		if u < 0 {
			return 0
		}
		if a == 0 || b == 0 {
			return count(u == 0)
		}
		key := [3]int{a, b, u}
		if n, ok := memo[key]; ok {
			return n
		}
		memo[key] = ways(a-1, b, u-b) + ways(a, b-1, u)
		return memo[key]
	}
	all, tail := 0, 0
	for u := range exhibitRounds*exhibitRounds + 1 {
		n := ways(exhibitRounds, exhibitRounds, u)
		all += n
		if u <= mannWhitneyCut {
			tail += n
		}
	}
	p, next := 2*float64(tail)/float64(all), 2*float64(tail+ways(9, 9, mannWhitneyCut+1))/float64(all)
	if all != 48620 || p > 0.05 || next <= 0.05 {
		t.Errorf("of %d orders U <= %d has %v, the next %v", all, mannWhitneyCut, p, next)
	}
}

func TestFalseAlarmsOfTwentyFourNullCells(t *testing.T) {
	all := simulations(600, 20000)
	rng := rand.New(rand.NewPCG(91, 92))
	flips, bounds, interleaved, blocks := 0, 0, 0, 0
	for range all {
		slots := exhibitSlots(rng)
		reference, candidate := paired(slots, rng)
		ratios := make([][]float64, exhibitRounds)
		for i := range ratios {
			for c := range exhibitCells {
				ratios[i] = append(ratios[i], candidate[i][c]-reference[i][c])
			}
		}
		flips += count(smallest(maxT(t, ratios, Above).Cells, adjusted) <= 0.05)
		b, err := SimultaneousBounds(ratios, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		bounds += count(anyCell(func(c int) bool { return b.Cells[c].Lower > 0 }))
		interleaved += count(anyCell(func(c int) bool { return mannWhitneyRejects(column(reference, c), column(candidate, c)) }))
		blocks += count(anyCell(func(c int) bool {
			return mannWhitneyRejects(column(slots[:exhibitRounds], c), column(slots[exhibitRounds:], c))
		}))
	}
	for _, way := range []struct {
		name string
		hits int
	}{
		{"paired by a coin, max-T over the cells, slower", flips},
		{"paired by a coin, simultaneous lower bounds", bounds},
		{"the same pairs, Mann-Whitney a cell at 5 %", interleaved},
		{"first one arm, then the other, Mann-Whitney a cell at 5 %", blocks},
	} {
		i := proportion(t, way.hits, all, 0.95)
		t.Logf("%-58s %5d of %d runs alarm: %5.1f %% [%.1f, %.1f]", way.name, way.hits, all,
			100*float64(way.hits)/float64(all), 100*i.Low, 100*i.High)
	}
	atMost(t, "max-T", flips, all, 0.05)
	atMost(t, "simultaneous bounds", bounds, all, 0.05)
	if blocks < 10*max(flips, 1) {
		t.Errorf("unpaired comparisons alarm %d times, max-T %d: expected many times as often", blocks, flips)
	}
}

func anyCell(alarms func(c int) bool) bool {
	for c := range exhibitCells {
		if alarms(c) {
			return true
		}
	}
	return false
}

package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var sides = []Side{Either, Above, Below}

func maxT(t *testing.T, rounds [][]float64, side Side) FlipTest {
	t.Helper()
	got, err := MaxT(rounds, side, FlipSample{Draws: 999, Seed: 1})
	if err != nil {
		t.Fatalf("MaxT of %d rounds: %v", len(rounds), err)
	}
	return got
}

func TestMaxTEqualsEveryFlip(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for n := 1; n <= 8; n++ {
		for m := 1; m <= 5; m++ {
			for set, rounds := range flipMatrices(n, m, rng) {
				for _, side := range sides {
					got, want := maxT(t, rounds, side), dumbMaxT(rounds, side)
					if got.Flips != 1<<n || !got.Exact {
						t.Errorf("n=%d: %d flips, exact %v", n, got.Flips, got.Exact)
					}
					for c, w := range want {
						g := got.Cells[c]
						if math.Abs(g.Statistic-w.Statistic) > 1e-9 || g.P != w.P || g.Adjusted != w.Adjusted || g.StepDown != w.StepDown {
							t.Errorf("n=%d set %d %v cell %d: %+v, all flips say %+v\n%v", n, set, side, c, g, w, rounds)
						}
					}
				}
			}
		}
	}
}

func TestMaxTByHand(t *testing.T) {
	// Three rounds, two cells. Sums of the first under the eight flips: 6, 4, 2, 0
	// and their negatives (two zeros); of the second, of equal values: 3, three
	// times 1, and negatives. Roots of the squares: 14 and 3.
	rounds := [][]float64{{1, 1}, {2, 1}, {3, 1}}
	for _, c := range []struct {
		side  Side
		cells []FlippedCell
	}{
		{Either, []FlippedCell{
			{6 / math.Sqrt(14), 2. / 8, 2. / 8, 2. / 8},
			{3 / math.Sqrt(3), 2. / 8, 2. / 8, 2. / 8},
		}},
		{Above, []FlippedCell{
			{6 / math.Sqrt(14), 1. / 8, 1. / 8, 1. / 8},
			{3 / math.Sqrt(3), 1. / 8, 1. / 8, 1. / 8},
		}},
		{Below, []FlippedCell{
			{6 / math.Sqrt(14), 1, 1, 1},
			{3 / math.Sqrt(3), 1, 1, 1},
		}},
	} {
		for i, g := range maxT(t, rounds, c.side).Cells {
			w := c.cells[i]
			if math.Abs(g.Statistic-w.Statistic) > 1e-9 || g.P != w.P || g.Adjusted != w.Adjusted || g.StepDown != w.StepDown {
				t.Errorf("%v cell %d: %+v, by hand %+v", c.side, i, g, w)
			}
		}
	}
	// Two rounds: where the first cell has 1/sqrt(5) the second has 2/sqrt(2), more
	// than the first's 3/sqrt(5), so the largest always reaches both.
	for i, w := range []FlippedCell{{3 / math.Sqrt(5), 2. / 4, 1, 1}, {0, 1, 1, 1}} {
		g := maxT(t, [][]float64{{1, 1}, {2, -1}}, Either).Cells[i]
		if math.Abs(g.Statistic-w.Statistic) > 1e-9 || g.P != w.P || g.Adjusted != w.Adjusted || g.StepDown != w.StepDown {
			t.Errorf("two rounds, cell %d: %+v, by hand %+v", i, g, w)
		}
	}
}

// Nine unanimous rounds in each of 24 cells: as small as a p-value can be.
func TestMaxTUnanimous(t *testing.T) {
	rounds := make([][]float64, 9)
	for i := range rounds {
		rounds[i] = slices.Repeat([]float64{1}, 24)
	}
	for _, c := range []struct {
		side Side
		p    float64
	}{{Either, 2. / 512}, {Above, 1. / 512}, {Below, 1}} {
		for i, g := range maxT(t, rounds, c.side).Cells {
			if g.P != c.p || g.Adjusted != c.p || g.StepDown != c.p {
				t.Errorf("%v cell %d: %+v, want %v", c.side, i, g, c.p)
			}
		}
	}
}

func TestMaxTZeroColumn(t *testing.T) {
	rounds := make([][]float64, 9)
	for i := range rounds {
		rounds[i] = []float64{0, 1, math.Copysign(0, -1)}
	}
	for _, side := range []Side{Either, Above} {
		got := maxT(t, rounds, side).Cells
		for _, c := range []int{0, 2} {
			if got[c] != (FlippedCell{0, 1, 1, 1}) || math.Signbit(got[c].Statistic) {
				t.Errorf("%v: a cell of zeros has %+v", side, got[c])
			}
		}
		if got[1].Adjusted > 2./512 {
			t.Errorf("%v: cells of zeros changed another: %+v", side, got[1])
		}
	}
}

func TestMaxTProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for n := 2; n <= 10; n += 2 {
		for _, rounds := range flipMatrices(n, 4, rng) {
			for _, side := range sides {
				before := deepCopy(rounds)
				a := maxT(t, rounds, side)
				if !slices.EqualFunc(rounds, before, slices.Equal) {
					t.Fatal("the argument was changed")
				}
				for c, cell := range a.Cells {
					if !(cell.P <= cell.StepDown && cell.StepDown <= cell.Adjusted && cell.Adjusted <= 1) || cell.P < 1/math.Exp2(float64(n)) {
						t.Errorf("%v cell %d: p-values out of order: %+v", side, c, cell)
					}
				}
				shuffled := deepCopy(rounds)
				rng.Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
				sameFlips(t, "rounds in another order", maxT(t, shuffled, side), a)
				sameFlips(t, "cells at other scales", maxT(t, eachValue(rounds, func(c int, v float64) float64 { return v * math.Pow(3, float64(c*7)) }), side), a)
				mirror := map[Side]Side{Either: Either, Above: Below, Below: Above}[side]
				b := maxT(t, eachValue(rounds, func(_ int, v float64) float64 { return -v }), mirror)
				for c := range b.Cells {
					b.Cells[c].Statistic = 0 - b.Cells[c].Statistic
				}
				sameFlips(t, "negated", b, a)
			}
		}
	}
}

// More cells never make an adjusted p-value smaller, and a larger shift never
// makes a cell's own p-value larger.
func TestMaxTMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	for range 40 {
		rounds := flipMatrices(7, 6, rng)[0]
		last := make([]float64, 6)
		for m := 1; m <= 6; m++ {
			part := make([][]float64, len(rounds))
			for i := range part {
				part[i] = rounds[i][:m]
			}
			for c, cell := range maxT(t, part, Either).Cells {
				if cell.Adjusted < last[c] {
					t.Errorf("cell %d of %d: %v, with one cell fewer %v", c, m, cell.Adjusted, last[c])
				}
				last[c] = cell.Adjusted
			}
		}
		p := 1.0
		for _, shift := range []float64{-2, -1, -0.5, 0, 0.1, 0.5, 1, 2, 4} {
			moved := eachValue(rounds, func(_ int, v float64) float64 { return v + shift })
			now := maxT(t, moved, Above).Cells[0].P
			if now > p {
				t.Errorf("shifted by %v: p rose from %v to %v", shift, p, now)
			}
			p = now
		}
	}
}

func TestMaxTSampled(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 38))
	rounds := flipMatrices(17, 4, rng)[1]
	const draws = 20000
	a, err := MaxT(rounds, Either, FlipSample{Draws: draws, Seed: 5})
	if err != nil || a.Exact || a.Flips != draws {
		t.Fatalf("%v: %d flips, exact %v, want %d drawn", err, a.Flips, a.Exact, draws)
	}
	b, _ := MaxT(rounds, Either, FlipSample{Draws: draws, Seed: 5})
	sameFlips(t, "the same seed", b, a)
	other, _ := MaxT(rounds, Either, FlipSample{Draws: draws, Seed: 6})
	exact := dumbSampled(rounds)
	for c, cell := range a.Cells {
		if cell.P < 1./(draws+1) {
			t.Errorf("cell %d: p %v is below 1/(1+draws)", c, cell.P)
		}
		p := exact.Cells[c].Adjusted
		if math.Abs(cell.Adjusted-p) > 5*math.Sqrt(p*(1-p)/draws)+1./draws {
			t.Errorf("cell %d: sampled %v, all 2^17 flips %v", c, cell.Adjusted, p)
		}
	}
	if slices.Equal(a.Cells, other.Cells) {
		t.Error("another seed drew the same flips")
	}
	late := make([][]float64, 100) // rounds beyond one word of coins are flipped too
	for i := range late {
		late[i] = []float64{float64(count(i >= 80))}
	}
	if got, _ := MaxT(late, Either, FlipSample{Draws: 99, Seed: 1}); got.Cells[0].Adjusted > 0.05 {
		t.Errorf("20 unanimous rounds after 80 of zeros: p is %v", got.Cells[0].Adjusted)
	}
	unanimous := eachValue(rounds, func(int, float64) float64 { return 1 })
	got, _ := MaxT(unanimous, Above, FlipSample{Draws: 99, Seed: 1})
	if got.Cells[0].Adjusted != 0.01 {
		t.Errorf("no flip of 99 reaches 17 unanimous rounds: p is %v, want 1/100", got.Cells[0].Adjusted)
	}
}

// dumbSampled enumerates where MaxT samples.
func dumbSampled(rounds [][]float64) FlipTest {
	rows, unit := wholeRows(rounds, Either)
	observed := sumRows(rows)
	counts := newFlipCounts(Either, unit, observed)
	counts.enumerate(rows, observed)
	return FlipTest{Cells: counts.cells(1<<len(rounds), true)}
}

func TestMaxTExtremes(t *testing.T) {
	for _, scale := range []float64{5e-324, 1e-310, 1e-300, 1e300, math.MaxFloat64 / 4} {
		rounds := [][]float64{{scale, 1}, {2 * scale, 1}, {3 * scale, 1}}
		for c, cell := range maxT(t, rounds, Above).Cells {
			if cell.Adjusted != 1./8 || !finite(cell.Statistic) {
				t.Errorf("scale %v cell %d: %+v", scale, c, cell)
			}
		}
	}
}

func TestMaxTRefuses(t *testing.T) {
	good := [][]float64{{1, 2}, {3, 4}}
	long := make([][]float64, 17)
	for i := range long {
		long[i] = []float64{1}
	}
	for _, c := range []struct {
		rounds [][]float64
		side   Side
		sample FlipSample
		want   string
	}{
		{nil, Either, FlipSample{}, "0 rounds"},
		{[][]float64{{}, {}}, Either, FlipSample{}, "no cells"},
		{[][]float64{{1, 2}, {3}}, Either, FlipSample{}, "round 1 has 1 cells, expected 2"},
		{[][]float64{{1, 2}, {3, math.NaN()}}, Either, FlipSample{}, "round 1, cell 1 is NaN"},
		{[][]float64{{math.Inf(-1), 2}, {3, 4}}, Either, FlipSample{}, "round 0, cell 0 is -Inf"},
		{good, Side(3), FlipSample{}, "Side(3)"},
		{long, Either, FlipSample{}, "0 draws for 17 rounds"},
	} {
		got, err := MaxT(c.rounds, c.side, c.sample)
		if err == nil || !strings.Contains(err.Error(), c.want) || got.Cells != nil {
			t.Errorf("MaxT(%v, %v): %v, %v, want an error with %q", c.rounds, c.side, got, err, c.want)
		}
		if c.side == Either && len(c.rounds) < 17 {
			_, err = SimultaneousBounds(c.rounds, 0.95)
			var few *FewRoundsError
			if err == nil || errors.As(err, &few) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("SimultaneousBounds(%v): %v, want an error with %q", c.rounds, err, c.want)
			}
		}
	}
}

func deepCopy(rounds [][]float64) [][]float64 {
	return eachValue(rounds, func(_ int, v float64) float64 { return v })
}

func eachValue(rounds [][]float64, f func(cell int, v float64) float64) [][]float64 {
	changed := make([][]float64, len(rounds))
	for i, round := range rounds {
		for c, v := range round {
			changed[i] = append(changed[i], f(c, v))
		}
	}
	return changed
}

func sameFlips(t *testing.T, what string, got, want FlipTest) {
	t.Helper()
	for c, w := range want.Cells {
		g := got.Cells[c]
		if math.Abs(g.Statistic-w.Statistic) > 1e-9 {
			t.Errorf("%s: statistic of cell %d is %v, was %v", what, c, g.Statistic, w.Statistic)
		}
		g.Statistic = w.Statistic
		if g != w || got.Flips != want.Flips || got.Exact != want.Exact {
			t.Errorf("%s: cell %d is %+v, was %+v", what, c, g, w)
		}
	}
}

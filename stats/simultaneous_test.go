package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func bounds(t *testing.T, rounds [][]float64, level float64) Bounds {
	t.Helper()
	got, err := SimultaneousBounds(rounds, level)
	if err != nil {
		t.Fatalf("SimultaneousBounds of %d rounds at %v: %v", len(rounds), level, err)
	}
	return got
}

// counting is n rounds of m cells, cell c running from c+1 up.
func counting(n, m int) [][]float64 {
	rounds := make([][]float64, n)
	for i := range rounds {
		for c := range m {
			rounds[i] = append(rounds[i], float64(c+i+1))
		}
	}
	return rounds
}

func TestSimultaneousBoundsByHand(t *testing.T) {
	for _, c := range []struct {
		n, m, k int
		missed  float64 // of one cell, in 2^-n
	}{
		{9, 1, 2, 10}, // 10/512 = 1.95 %, the next is 46/512
		{9, 2, 2, 10}, // 2*10/512 = 3.9 %
		{9, 3, 1, 1},  // 3*10/512 = 5.9 %
		{9, 24, 1, 1}, // 24/512 = 4.7 %
		{9, 25, 1, 1}, // 25/512 = 4.9 %
		{5, 1, 1, 1},  // 1/32 = 3.1 %
		{12, 6, 2, 13},
		{12, 24, 1, 1},
		{20, 24, 4, 1 + 20 + 190 + 1140}, // 24*1351/2^20 = 3.1 %
	} {
		got := bounds(t, counting(c.n, c.m), 0.95)
		if want := 1 - float64(c.m)*c.missed/math.Exp2(float64(c.n)); got.Level != want || got.Rank != c.k || len(got.Cells) != c.m {
			t.Errorf("n=%d, %d cells: level %v, rank %d, %d cells, by hand %v and %d", c.n, c.m, got.Level, got.Rank, len(got.Cells), want, c.k)
		}
		for i, b := range got.Cells {
			if want := (CellBounds{float64(c.k + i), float64(c.n + 1 - c.k + i)}); b != want {
				t.Errorf("n=%d, cell %d of %d: %v, by hand %v", c.n, i, c.m, b, want)
			}
		}
	}
}

// One cell's pair of one-sided bounds at level is OrderStatistic's interval at
// 2*level-1.
func TestSimultaneousBoundsOfOneCell(t *testing.T) {
	rng := rand.New(rand.NewPCG(71, 72))
	for n := 5; n <= 40; n++ {
		for _, x := range samples(n, rng) {
			rounds := make([][]float64, n)
			for i := range rounds {
				rounds[i] = []float64{x[i]}
			}
			got := bounds(t, rounds, 0.95)
			want, _ := OrderStatistic(x, 0.9)
			if b := got.Cells[0]; b.Lower != want.Low || b.Upper != want.High || math.Abs(2*got.Level-1-want.Level) > 1e-15 {
				t.Errorf("n=%d: %v, OrderStatistic %v", n, got, want)
			}
		}
	}
}

func TestSimultaneousBoundsProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 74))
	for n := 9; n <= 30; n += 3 {
		for _, rounds := range flipMatrices(n, 6, rng) {
			a := bounds(t, rounds, 0.95)
			shuffled := deepCopy(rounds)
			rng.Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			b := bounds(t, shuffled, 0.95)
			negated := bounds(t, eachValue(rounds, func(_ int, v float64) float64 { return -v }), 0.95)
			scaled := bounds(t, eachValue(rounds, func(_ int, v float64) float64 { return 4 * v }), 0.95)
			wider := bounds(t, rounds, 0.98)
			for c, bound := range a.Cells {
				if b.Cells[c] != bound {
					t.Errorf("cell %d: rounds in another order give %v, was %v", c, b.Cells[c], bound)
				}
				if m := negated.Cells[c]; m.Lower != -bound.Upper || m.Upper != -bound.Lower {
					t.Errorf("cell %d: negated %v, was %v", c, m, bound)
				}
				if s := scaled.Cells[c]; s != (CellBounds{4 * bound.Lower, 4 * bound.Upper}) {
					t.Errorf("cell %d: four times as large %v, was %v", c, s, bound)
				}
				if w := wider.Cells[c]; w.Lower > bound.Lower || w.Upper < bound.Upper || wider.Level < a.Level {
					t.Errorf("cell %d: at a higher level %v, was %v", c, w, bound)
				}
			}
		}
	}
}

func TestFewRounds(t *testing.T) {
	for _, c := range []struct {
		n, m   int
		level  float64
		needed int
	}{{4, 1, 0.95, 5}, {1, 1, 0.95, 5}, {8, 24, 0.95, 9}, {9, 26, 0.95, 10}, {9, 6, 0.99, 10}} {
		_, err := SimultaneousBounds(counting(c.n, c.m), c.level)
		var few *FewRoundsError
		if !errors.As(err, &few) || *few != (FewRoundsError{c.n, c.m, c.needed, c.level}) {
			t.Errorf("%d rounds, %d cells at %v: %v, want %d rounds needed", c.n, c.m, c.level, err, c.needed)
			continue
		}
		bounds(t, counting(few.Needed, c.m), c.level)
	}
	for _, level := range []float64{0, 1, 95, math.NaN()} {
		var few *FewRoundsError
		if _, err := SimultaneousBounds(counting(9, 1), level); err == nil || errors.As(err, &few) {
			t.Errorf("level %v: %v, want an error about the level", level, err)
		}
	}
}

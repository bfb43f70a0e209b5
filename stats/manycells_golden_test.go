package stats

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// manyCells is what scripts/stats_tests_golden.py wrote: numpy's and scipy's
// opinion of the tests over many cells.
type manyCells struct {
	Flips []struct {
		Name, Side  string
		Rounds      [][]float64
		P, Adjusted []float64
		StepDown    []float64 `json:"step_down"`
	}
	EValues []struct {
		N             int
		AboveZero     int `json:"above_zero"`
		Either, Above float64
	}
	Bounds, TimeUniform []struct {
		N, Cells, Rank  int
		Level, Attained float64
	}
	Proportions []struct {
		Successes, Trials int
		Level, Low, High  float64
	}
}

func readManyCells(t *testing.T) manyCells {
	t.Helper()
	raw, err := os.ReadFile("testdata/manycells.json")
	if err != nil {
		t.Fatal(err)
	}
	var g manyCells
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Flips) < 60 || len(g.EValues) < 50 || len(g.Bounds) < 100 || len(g.TimeUniform) < 100 || len(g.Proportions) < 30 {
		t.Fatalf("only %d, %d, %d, %d and %d cases", len(g.Flips), len(g.EValues), len(g.Bounds), len(g.TimeUniform), len(g.Proportions))
	}
	return g
}

func TestFlipsAgainstNumpy(t *testing.T) {
	for _, c := range readManyCells(t).Flips {
		side := sides[slices.IndexFunc(sides, func(s Side) bool { return s.String() == c.Side })]
		for i, g := range maxT(t, c.Rounds, side).Cells {
			if g.P != c.P[i] || g.Adjusted != c.Adjusted[i] || g.StepDown != c.StepDown[i] {
				t.Errorf("%s %v cell %d: %+v, numpy has %v, %v, %v", c.Name, side, i, g, c.P[i], c.Adjusted[i], c.StepDown[i])
			}
		}
	}
}

func TestEValuesAgainstScipy(t *testing.T) {
	for _, c := range readManyCells(t).EValues {
		x := signs(c.AboveZero, c.N-c.AboveZero, 0)
		if got := eValue(t, x, Either); math.Abs(got/c.Either-1) > 1e-10 {
			t.Errorf("%d of %d: %v, scipy has %v", c.AboveZero, c.N, got, c.Either)
		}
		if got := eValue(t, x, Above); math.Abs(got/c.Above-1) > 1e-10 {
			t.Errorf("%d of %d above: %v, scipy has %v", c.AboveZero, c.N, got, c.Above)
		}
	}
}

func TestRanksAgainstScipy(t *testing.T) {
	g := readManyCells(t)
	for _, c := range g.Bounds {
		got, err := SimultaneousBounds(counting(c.N, c.Cells), c.Level)
		if (err == nil) != (c.Rank > 0) || got.Rank != c.Rank {
			t.Errorf("n=%d, %d cells at %v: rank %d, %v; scipy has %d", c.N, c.Cells, c.Level, got.Rank, err, c.Rank)
		}
		if err == nil && math.Abs(got.Level-c.Attained) > 1e-12 {
			t.Errorf("n=%d, %d cells at %v: level %v, scipy has %v", c.N, c.Cells, c.Level, got.Level, c.Attained)
		}
	}
	for _, c := range g.TimeUniform {
		got, ok := TimeUniform(ascending(c.N), c.Level, c.Cells)
		if ok != (c.Rank > 0) || ok && got.Low != float64(c.Rank) {
			t.Errorf("n=%d, %d cells at %v: %v, scipy has rank %d", c.N, c.Cells, c.Level, got, c.Rank)
		}
	}
}

func TestProportionsAgainstScipy(t *testing.T) {
	for _, c := range readManyCells(t).Proportions {
		got := proportion(t, c.Successes, c.Trials, c.Level)
		if math.Abs(got.Low-c.Low) > 1e-9*c.Low+1e-15 || math.Abs(got.High-c.High) > 1e-9*c.High {
			t.Errorf("%d of %d at %v: %v, scipy has [%v, %v]", c.Successes, c.Trials, c.Level, got, c.Low, c.High)
		}
	}
}

func FuzzManyCells(f *testing.F) {
	f.Add(1.0, 2.0, -3.0, uint8(9), uint8(3), 0.95)
	f.Add(0.0, math.Copysign(0, -1), 5e-324, uint8(8), uint8(1), 0.5)
	f.Add(math.MaxFloat64, -math.MaxFloat64, 1.0, uint8(12), uint8(2), 0.99)
	f.Add(math.NaN(), 1.0, math.Inf(1), uint8(17), uint8(2), 1.0)
	f.Fuzz(func(t *testing.T, a, b, c float64, n, m uint8, level float64) {
		rounds := make([][]float64, n%20)
		for i := range rounds {
			for j := range int(m % 6) {
				rounds[i] = append(rounds[i], [3]float64{a, b, c}[(i*i+j)%3])
			}
		}
		good := checkRounds(rounds) == nil
		for _, side := range sides {
			test, err := MaxT(rounds, side, FlipSample{Draws: 50, Seed: uint64(n)})
			if (err == nil) != good {
				t.Errorf("MaxT(%v): error %v", rounds, err)
			}
			for _, cell := range test.Cells {
				if !(0 < cell.P && cell.P <= cell.StepDown && cell.StepDown <= cell.Adjusted && cell.Adjusted <= 1) || !finite(cell.Statistic) {
					t.Errorf("MaxT(%v, %v): %+v", rounds, side, cell)
				}
			}
		}
		limits, err := SimultaneousBounds(rounds, level)
		for _, limit := range limits.Cells {
			if err != nil || limit.Lower > limit.Upper || limits.Level < level-1e-15 {
				t.Errorf("SimultaneousBounds(%v, %v): %v, %v", rounds, level, limits, err)
			}
		}
		if !good {
			return
		}
		x := column(rounds, 0)
		if e, err := SignE(x, Either); err != nil || !(e > 0) {
			t.Errorf("SignE(%v): %v, %v", x, e, err)
		}
		if i, ok := TimeUniform(x, level, int(m%6)); ok && level > 0.5 {
			within(t, x, i)
		}
	})
}

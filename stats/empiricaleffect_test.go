package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestEmpiricalEffectTable(t *testing.T) {
	// At 95 % nine rounds have 80 % power where less than 9.0 % of the values are on
	// the wrong side, six where less than 3.6 % are.
	thirty := ascending(30) // the median 15.5, distances 0.5 to 14.5
	for _, c := range []struct {
		x    []float64
		n    int
		want float64
	}{
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 9, 4},    // one of nine is too many
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 30, 2},   // two of nine are few enough
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1000, 0}, // so are four, as soon as the shift is above zero
		{[]float64{0, 0, 0, 0, 0, 0, 0, 0, 100}, 9, 100},
		{thirty, 9, 12.5}, // two of 30 remain
		{thirty, 6, 13.5}, // one of 30 remains
		{[]float64{7}, 9, 0},
		{make([]float64, 5), 9, 0},
		{append(make([]float64, 11), 100), 9, 0}, // one of twelve is few enough
	} {
		if got, ok := EmpiricalEffect(c.x, c.n, 0.95, 0.8); !ok || got != c.want {
			t.Errorf("%v, %d rounds: %v %v, want %v", c.x, c.n, got, ok, c.want)
		}
		negated := mapped(c.x, func(v float64) float64 { return 3 - 2*v })
		if got, ok := EmpiricalEffect(negated, c.n, 0.95, 0.8); !ok || got != 2*c.want {
			t.Errorf("%v, %d rounds, negated, moved and doubled: %v %v, want %v", c.x, c.n, got, ok, 2*c.want)
		}
	}
}

func TestEmpiricalEffectRefuses(t *testing.T) {
	for _, c := range []struct {
		x            []float64
		n            int
		level, power float64
	}{
		{nil, 9, 0.95, 0.8}, {[]float64{1, math.NaN()}, 9, 0.95, 0.8}, {[]float64{1, math.Inf(1)}, 9, 0.95, 0.8},
		{[]float64{1.7e308, 1.7e308, -1.7e308}, 9, 0.95, 0.8},
		{[]float64{1, 2}, 5, 0.95, 0.8}, {[]float64{1, 2}, MaxExactRounds + 1, 0.95, 0.8}, {[]float64{1, 2}, 9, 1, 0.8},
		{[]float64{1, 2}, 9, 0.95, 0}, {[]float64{1, 2}, 9, 0.95, 1}, {[]float64{1, 2}, 9, 0.95, math.NaN()},
	} {
		if got, ok := EmpiricalEffect(c.x, c.n, c.level, c.power); ok || got != 0 {
			t.Errorf("EmpiricalEffect(%v, %v, %v, %v) = %v %v", c.x, c.n, c.level, c.power, got, ok)
		}
	}
}

// With much noise to go by, an effect just above is found in 80 of 100 runs
// whichever way it goes, or in more, whatever the noise. SmallestEffect promises
// the same and keeps it with normal noise only; the package documentation names
// these figures.
func TestPowerByNoise(t *testing.T) {
	const many = 100000
	model := map[string][2]float64{ // the power SmallestEffect has, with 9 and with 30 rounds
		"normal": {0.8, 0.8}, "laplace": {0.68, 0.8}, "t3": {0.72, 0.8}, "two modes": {1, 0.25},
		"difference of exponentials": {0.68, 0.8}, "lognormal": {0.38, 0.5}, "spikes": {0.51, 0.71},
	}
	for _, noise := range roundNoises {
		x := make([]float64, many)
		rng := rand.New(rand.NewPCG(91, 92))
		for i := range x {
			x[i] = noise.draw(rng)
		}
		centred := ordered(x)
		for i, n := range []int{9, 30} {
			effect, ok := EmpiricalEffect(x, n, 0.95, 0.8)
			power, _ := SignPower(shareBeyond(centred, effect), n, 0.95)
			if !ok || power < 0.79 || power > 0.81 && noise.name != "two modes" {
				t.Errorf("%s, n=%d: effect %v %v has the power %v", noise.name, n, effect, ok, power)
			}
			effect, _ = SmallestEffect(RobustSpread(x), n, 0.95, 0.8)
			power, _ = SignPower(shareBeyond(centred, effect), n, 0.95)
			if slack := map[bool]float64{true: 0.25, false: 0.015}[noise.name == "two modes"]; math.Abs(power-model[noise.name][i]) > slack {
				t.Errorf("%s, n=%d: by the model %v with the power %v, documented is %v", noise.name, n, effect, power, model[noise.name][i])
			}
		}
	}
}

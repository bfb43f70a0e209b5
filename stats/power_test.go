package stats

import (
	"math"
	"math/big"
	"math/bits"
	"testing"
)

// The sign family's column of rounds for 80 % power at 95 %; 2 sd need 7 with
// 86 %, and the rounds a plan may have start at 9.
func TestRoundsNeededTable(t *testing.T) {
	for ratio, want := range map[float64]int{2: 9, 1.5: 9, 1: 17, 0.75: 25, 0.5: 51} {
		if got, ok := RoundsNeeded(ratio*0.013, 0.013, 0.95, 0.8); !ok || got != want {
			t.Errorf("effect of %v sd: %d rounds %v, want %d", ratio, got, ok, want)
		}
	}
	if got, ok := RoundsNeeded(0.35, 1, 0.95, 0.8); !ok || got <= 100 || got > 110 {
		t.Errorf("effect of 0.35 sd: %d rounds %v, want just above 100", got, ok)
	}
	for _, c := range []struct {
		n     int
		ratio float64
		want  float64
	}{{7, 2, 0.85}, {9, 1, 0.57}, {11, 1, 0.46}} {
		got, ok := SignPower(normalTail(c.ratio), c.n, 0.95)
		if !ok || math.Abs(got-c.want) > 0.011 {
			t.Errorf("%d rounds, %v sd: power %v %v, want %v", c.n, c.ratio, got, ok, c.want)
		}
	}
}

func TestSignPowerByHand(t *testing.T) {
	for _, c := range []struct {
		below float64
		n     int
		level float64
		want  float64
	}{
		{0, 9, 0.95, 1},
		{0.5, 9, 0.95, 10. / 512},
		{0.25, 6, 0.95, 729. / 4096},                         // all six above zero
		{0.25, 9, 0.95, (19683. + 9*6561) / 262144},          // at most one below
		{0.5, 1000, 0.999999, (1 - attained(1000, 423)) / 2}, // far out, where the first term is 2^-1000
	} {
		if got, ok := SignPower(c.below, c.n, c.level); !ok || !near(got, c.want, 1e-12) {
			t.Errorf("SignPower(%v, %d, %v) = %v %v, want %v", c.below, c.n, c.level, got, ok, c.want)
		}
	}
}

// The twin: every pattern of signs, weighed, and the interval itself on values of
// those signs.
func TestSignPowerAgainstSignPatterns(t *testing.T) {
	for n := 1; n <= 12; n++ {
		for _, level := range []float64{0.5, 0.9, 0.95, 0.99} {
			for _, below := range []float64{0, 0.01, 0.1, 0.3, 0.5} {
				want, x := 0.0, make([]float64, n)
				for pattern := range uint(1) << n {
					for i := range x {
						x[i] = float64(i + 1)
						if pattern>>i&1 == 1 {
							x[i] = -x[i]
						}
					}
					if i, ok := OrderStatistic(x, level); ok && i.Low > 0 {
						negative := bits.OnesCount(pattern)
						want += math.Pow(below, float64(negative)) * math.Pow(1-below, float64(n-negative))
					}
				}
				got, ok := SignPower(below, n, level)
				if _, exists := OrderStatistic(x, level); ok != exists || !near(got, want, 1e-13) {
					t.Errorf("SignPower(%v, %d, %v) = %v %v, the patterns say %v", below, n, level, got, ok, want)
				}
			}
		}
	}
}

func TestSmallestEffectHasThePower(t *testing.T) {
	for n := 6; n <= 60; n++ {
		for _, level := range []float64{0.8, 0.95} {
			last := 0.0
			for _, power := range []float64{0.01, 0.5, 0.8, 0.95, 0.999} {
				effect, ok := SmallestEffect(0.02, n, level, power)
				at, _ := SignPower(normalTail(effect/0.02), n, level)
				if !ok || effect < last || math.Abs(at-power) > 1e-9 && (effect > 0 || at < power) {
					t.Errorf("n=%d level %v power %v: effect %v %v has the power %v", n, level, power, effect, ok, at)
				}
				if twice, _ := SmallestEffect(0.04, n, level, power); twice != 2*effect {
					t.Errorf("n=%d: %v, of twice the spread %v", n, effect, twice)
				}
				last = effect
			}
		}
	}
	if effect, ok := SmallestEffect(0, 9, 0.95, 0.8); !ok || effect != 0 {
		t.Errorf("no spread: %v %v", effect, ok)
	}
}

// RoundsNeeded is the first number of those allowed that has the power.
func TestRoundsNeededIsTheFirst(t *testing.T) {
	for _, level := range []float64{0.9, 0.95, 0.99} {
		for ratio := 0.25; ratio < 3; ratio *= 1.2 {
			got, ok := RoundsNeeded(ratio, 1, level, 0.8)
			if !ok {
				t.Fatalf("no number of rounds for %v sd", ratio)
			}
			for _, n := range []int{9, 12, 17, 20, 25, 30, 31, got - 1, got} {
				power, _ := SignPower(normalTail(ratio), n, level)
				if allowed := n > 30 || n%9 == 0 || n == 12 || n == 17 || n == 20 || n == 25 || n == 30; n < got && allowed && power >= 0.8 || n == got && power < 0.8 {
					t.Errorf("level %v, %v sd: %d rounds, but %d have the power %v", level, ratio, got, n, power)
				}
			}
		}
	}
	// Far out the approximation takes over, and does so without a step.
	exact, _ := RoundsNeeded(0.1135, 1, 0.95, 0.8)
	beyond, ok := RoundsNeeded(0.1, 1, 0.95, 0.8)
	if want := 2.8015852 / (2 * (0.5 - normalTail(0.1))); !ok || beyond != int(math.Ceil(want*want)) {
		t.Errorf("0.1 sd: %d rounds %v, want %v", beyond, ok, want*want)
	}
	if math.Abs(float64(exact)*0.1135*0.1135/(float64(beyond)*0.01)-1) > 0.03 {
		t.Errorf("%d rounds at 0.1135 sd and %d at 0.1 sd", exact, beyond)
	}
}

func TestRoundsForMargins(t *testing.T) {
	for _, ratio := range []float64{0.3, 0.5, 0.75, 1, 1.5, 2} {
		needed, _ := RoundsNeeded(ratio, 1, 0.9, 0.8)
		inferior, ok := RoundsNonInferior(ratio, 1, 0.95, 0.8)
		equivalent, both := RoundsEquivalent(ratio, 1, 0.95, 0.8)
		stricter, _ := RoundsNonInferior(ratio, 1, 0.95, 0.9)
		if !ok || !both || inferior != needed || equivalent != stricter || equivalent < inferior {
			t.Errorf("%v sd: %d and %d rounds, want %d and %d", ratio, inferior, equivalent, needed, stricter)
		}
	}
}

func TestPowerRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		below, level float64
		n            int
	}{{0.6, 0.95, 9}, {-0.1, 0.95, 9}, {nan, 0.95, 9}, {0.1, 0.95, 5}, {0.1, 0.95, 0}, {0.1, 0.95, -1}, {0.1, 0.95, 1001}, {0.1, 1, 9}, {0.1, nan, 9}} {
		if got, ok := SignPower(c.below, c.n, c.level); ok || got != 0 {
			t.Errorf("SignPower(%v, %d, %v) = %v %v", c.below, c.n, c.level, got, ok)
		}
	}
	for _, c := range [][3]float64{{-1, 0.95, 0.8}, {nan, 0.95, 0.8}, {inf, 0.95, 0.8}, {1, 0.95, 0}, {1, 0.95, 1}, {1, 0.95, nan}, {1, 0, 0.8}, {1, nan, 0.8}} {
		if got, ok := SmallestEffect(c[0], 9, c[1], c[2]); ok || got != 0 {
			t.Errorf("SmallestEffect(%v) = %v %v", c, got, ok)
		}
	}
	if got, ok := SmallestEffect(1, 5, 0.95, 0.8); ok || got != 0 {
		t.Errorf("SmallestEffect of five rounds = %v %v", got, ok)
	}
	for _, c := range [][4]float64{{0, 1, 0.95, 0.8}, {-1, 1, 0.95, 0.8}, {nan, 1, 0.95, 0.8}, {inf, 1, 0.95, 0.8}, {1, -1, 0.95, 0.8}, {1, nan, 0.95, 0.8},
		{1, inf, 0.95, 0.8}, {1, 1, 1, 0.8}, {1, 1, nan, 0.8}, {1, 1, 0.95, 0}, {1, 1, 0.95, 1}, {1, 1, 0.95, nan}, {1e-9, 1, 0.95, 0.8}} {
		for name, f := range map[string]func(a, b, c, d float64) (int, bool){"RoundsNeeded": RoundsNeeded, "RoundsNonInferior": RoundsNonInferior, "RoundsEquivalent": RoundsEquivalent} {
			if got, ok := f(c[0], c[1], c[2], c[3]); ok || got != 0 {
				t.Errorf("%s(%v) = %v %v", name, c, got, ok)
			}
		}
	}
	if got, ok := RoundsNeeded(0.1, 0, 0.95, 0.8); !ok || got != 9 {
		t.Errorf("no spread: %d rounds %v", got, ok)
	}
}

// One n after the other is what each n by itself is.
func TestRankAfterRank(t *testing.T) {
	for _, tail := range []*big.Rat{big.NewRat(1, 40), big.NewRat(1, 20), big.NewRat(1, 480), big.NewRat(1, 2), big.NewRat(1, 1_000_000)} {
		r := rankAt(1, tail)
		for n := 1; n <= 300; n++ {
			if want := narrowest(n, tail); r.n != n || r.k != want {
				t.Fatalf("tail %v: rank %d of %d values, want %d of %d", tail, r.k, r.n, want, n)
			}
			r.next()
		}
	}
}

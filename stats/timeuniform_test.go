package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTimeUniformTable(t *testing.T) {
	for _, c := range []struct{ n, k int }{{0, 0}, {1, 0}, {7, 0}, {8, 1}, {11, 1}, {12, 2}, {20, 4}, {30, 7}, {40, 11}} {
		got, ok := TimeUniform(ascending(c.n), 0.95, 1)
		want := Interval{float64(c.k), float64(c.n + 1 - c.k), 0.95}
		if c.k == 0 {
			want = Interval{}
		}
		if got != want || ok != (c.k > 0) {
			t.Errorf("n=%d: %v %v, published rank %d", c.n, got, ok, c.k)
		}
	}
}

// The interval holds exactly the values that the e-process does not exclude,
// also where values are equal; and for several cells at their threshold.
func TestTimeUniformInvertsSignE(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for n := 1; n <= 40; n++ {
		for _, x := range samples(n, rng) {
			for _, cells := range []int{1, 6, 24} {
				for _, level := range []float64{0.5, 0.95, 0.99} {
					threshold, _ := EThreshold(cells, level)
					interval, ok := TimeUniform(x, level, cells)
					for _, m := range append(candidates(x), -1e6, 1e6) {
						excluded := eValue(t, mapped(x, func(v float64) float64 { return v - m }), Either) >= threshold
						inside := !ok || interval.Low <= m && m <= interval.High
						if excluded == inside {
							t.Errorf("n=%d, %d cells at %v: %v excluded %v, inside %v is %v\n%v", n, cells, level, m, excluded, interval, inside, x)
						}
					}
				}
			}
		}
	}
}

// candidates are the values and points between them.
func candidates(x []float64) []float64 {
	sorted := ordered(x)
	var points []float64
	for i, v := range sorted {
		points = append(points, v)
		if i > 0 {
			points = append(points, midpoint(sorted[i-1], v))
		}
	}
	return points
}

func TestTimeUniformRefuses(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x := ascending(30)
		x[4] = v
		if got, ok := TimeUniform(x, 0.95, 1); ok || got != (Interval{}) {
			t.Errorf("%v among the values: %v %v", v, got, ok)
		}
	}
	for _, c := range []struct {
		level float64
		cells int
	}{{0, 1}, {1, 1}, {95, 1}, {math.NaN(), 1}, {0.95, 0}, {0.95, -3}} {
		if got, ok := TimeUniform(ascending(30), c.level, c.cells); ok || got != (Interval{}) {
			t.Errorf("level %v, %d cells: %v %v", c.level, c.cells, got, ok)
		}
	}
}

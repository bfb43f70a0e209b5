package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// every runs a property over data sets of many sizes, for both intervals.
func every(t *testing.T, property func(t *testing.T, x []float64, rng *rand.Rand, interval func([]float64, float64) Interval)) {
	t.Helper()
	intervals := map[string]func([]float64, float64) Interval{
		"bootstrap": func(x []float64, level float64) Interval { return bootstrap(t, x, level) },
		"order":     func(x []float64, level float64) Interval { i, _ := OrderStatistic(x, level); return i },
	}
	for name, interval := range intervals {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(21, 22))
			for n := 1; n <= 24; n++ {
				for _, x := range samples(n, rng) {
					property(t, x, rng, interval)
				}
			}
		})
	}
}

func mapped(x []float64, f func(float64) float64) []float64 {
	y := slices.Clone(x)
	for i, v := range x {
		y[i] = f(v)
	}
	return y
}

func TestOrderOfValuesDoesNotMatter(t *testing.T) {
	every(t, func(t *testing.T, x []float64, rng *rand.Rand, interval func([]float64, float64) Interval) {
		y, before := slices.Clone(x), slices.Clone(x)
		rng.Shuffle(len(y), func(i, j int) { y[i], y[j] = y[j], y[i] })
		if a, b := interval(x, 0.95), interval(y, 0.95); !sameEnds(a, b) {
			t.Errorf("%v gives %v, shuffled %v", x, a, b)
		}
		if Mean(x) != Mean(y) || Median(x) != Median(y) {
			t.Errorf("mean or median of %v depends on the order", x)
		}
		if !slices.Equal(x, before) {
			t.Errorf("the argument became %v, it was %v", x, before)
		}
	})
}

func TestShiftAndScale(t *testing.T) {
	every(t, func(t *testing.T, x []float64, _ *rand.Rand, interval func([]float64, float64) Interval) {
		a := interval(x, 0.95)
		if a == (Interval{}) {
			return // no interval to move
		}
		move := func(v float64) float64 { return 4*v + 37.5 } // exact for these values
		want := Interval{Low: move(a.Low), High: move(a.High)}
		if b := interval(mapped(x, move), 0.95); !sameEnds(b, want) {
			t.Errorf("%v gives %v, moved %v, want %v", x, a, b, want)
		}
	})
}

func TestNegationMirrors(t *testing.T) {
	every(t, func(t *testing.T, x []float64, _ *rand.Rand, interval func([]float64, float64) Interval) {
		for _, level := range nominals {
			a, b := interval(x, level), interval(mapped(x, func(v float64) float64 { return -v }), level)
			if a.Low != -b.High || a.High != -b.Low {
				t.Errorf("level %v: %v gives %v, negated %v", level, x, a, b)
			}
		}
	})
}

func TestHigherLevelIsNoNarrower(t *testing.T) {
	every(t, func(t *testing.T, x []float64, _ *rand.Rand, interval func([]float64, float64) Interval) {
		last, m := Interval{Low: math.Inf(1), High: math.Inf(-1)}, Median(x)
		for _, level := range nominals {
			i := interval(x, level)
			if i == (Interval{}) {
				return // none at this level, and so none above
			}
			if i.Low > last.Low || i.High < last.High || i.Level < last.Level {
				t.Errorf("%v at %v: %v does not hold %v", x, level, i, last)
			}
			if i.Low > m || i.High < m {
				t.Errorf("%v at %v: %v does not hold the median %v", x, level, i, m)
			}
			last = i
		}
	})
}

func FuzzIntervals(f *testing.F) {
	for _, s := range [][4]float64{
		{1, 2, 3, 4}, {0, 0, 0, 0}, {math.NaN(), 1, 2, 3}, {1, math.Inf(1), 2, 3}, {1, 2, math.Inf(-1), 3},
		{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, 1}, {5e-324, -5e-324, 0, 5e-324},
	} {
		for _, level := range []float64{0.95, 5e-324, 1, math.NaN()} {
			f.Add(s[0], s[1], s[2], s[3], uint8(9), level)
		}
	}
	f.Fuzz(func(t *testing.T, a, b, c, d float64, n uint8, level float64) {
		x := make([]float64, n%33)
		for i := range x {
			x[i] = [4]float64{a, b, c, d}[i%4]
		}
		good := len(x) > 0 && firstNonFinite(x) < 0
		if m, md := Mean(x), Median(x); finite(m) != good || finite(md) != good {
			t.Errorf("mean %v and median %v of %v", m, md, x)
		}
		good = good && level > 0 && level < 1
		boot, err := BootstrapMedian(x, level)
		if (err == nil) != good {
			t.Errorf("BootstrapMedian(%v, %v): error %v", x, level, err)
		}
		order, ok := OrderStatistic(x, level)
		if ok && !good || !ok && order != (Interval{}) {
			t.Errorf("OrderStatistic(%v, %v) = %v %v", x, level, order, ok)
		}
		if err == nil {
			within(t, x, boot)
		}
		if ok {
			within(t, x, order)
		}
		pct, ok := PairedReduction(a, b)
		if ok && (!finite(pct) || a == 0) || !ok && pct != 0 {
			t.Errorf("PairedReduction(%v, %v) = %v %v", a, b, pct, ok)
		}
	})
}

// within checks what holds for every interval of finite values.
func within(t *testing.T, x []float64, i Interval) {
	t.Helper()
	m := Median(x)
	if !(slices.Min(x) <= i.Low && i.Low <= m && m <= i.High && i.High <= slices.Max(x)) {
		t.Errorf("%v: interval %v, median %v", x, i, m)
	}
	if i.Level < 0 || i.Level >= 1 {
		t.Errorf("%v: level %v", x, i.Level)
	}
}

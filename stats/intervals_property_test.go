package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSignedRankProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 82))
	for n := 1; n <= 24; n++ {
		for _, x := range samples(n, rng) {
			before, estimate := slices.Clone(x), HodgesLehmann(x)
			for _, level := range nominals {
				i, ok := SignedRank(x, level)
				if !slices.Equal(x, before) {
					t.Fatalf("the argument became %v, it was %v", x, before)
				}
				if !ok {
					continue
				}
				if !(i.Low <= estimate && estimate <= i.High) || i.Level < level {
					t.Errorf("%v at %v: %v, estimate %v", x, level, i, estimate)
				}
				shuffled := slices.Clone(x)
				rng.Shuffle(n, func(a, b int) { shuffled[a], shuffled[b] = shuffled[b], shuffled[a] })
				if got, _ := SignedRank(shuffled, level); got != i || HodgesLehmann(shuffled) != estimate {
					t.Errorf("%v gives %v, shuffled %v", x, i, got)
				}
				negated := mapped(x, func(v float64) float64 { return -v })
				if got, _ := SignedRank(negated, level); got.Low != -i.High || got.High != -i.Low || HodgesLehmann(negated) != -estimate {
					t.Errorf("%v gives %v, negated %v", x, i, got)
				}
				move := func(v float64) float64 { return 4*v + 37.5 } // exact for these values
				if got, _ := SignedRank(mapped(x, move), level); got.Low != move(i.Low) || got.High != move(i.High) || HodgesLehmann(mapped(x, move)) != move(estimate) {
					t.Errorf("%v gives %v, moved %v", x, i, got)
				}
			}
		}
	}
}

func TestSignedRankOfHigherLevelIsNoNarrower(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 84))
	for n := 1; n <= 24; n++ {
		for _, x := range samples(n, rng) {
			last := Interval{Low: math.Inf(1), High: math.Inf(-1)}
			for _, level := range nominals {
				if i, ok := SignedRank(x, level); ok {
					if i.Low > last.Low || i.High < last.High || i.Level < last.Level {
						t.Errorf("%v at %v: %v does not hold %v", x, level, i, last)
					}
					last = i
				}
			}
		}
	}
}

func TestBoundProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(85, 86))
	for n := 1; n <= 24; n++ {
		for _, x := range samples(n, rng) {
			for _, level := range nominals {
				upper, ok := UpperBound(x, level)
				lower, also := LowerBound(x, level)
				if ok != also || upper.Level != lower.Level || ok && !(lower.Value <= Median(x) && Median(x) <= upper.Value && upper.Level >= level) {
					t.Errorf("%v at %v: %v %v and %v %v", x, level, lower, also, upper, ok)
				}
				shuffled := slices.Clone(x)
				rng.Shuffle(n, func(a, b int) { shuffled[a], shuffled[b] = shuffled[b], shuffled[a] })
				if got, _ := UpperBound(shuffled, level); got != upper {
					t.Errorf("%v at %v: %v, shuffled %v", x, level, upper, got)
				}
				if got, _ := LowerBound(mapped(x, func(v float64) float64 { return -v }), level); got.Value != -upper.Value {
					t.Errorf("%v at %v: upper %v, of the negated lower %v", x, level, upper, got)
				}
				if got, _ := UpperBound(mapped(x, func(v float64) float64 { return 4*v + 37.5 }), level); ok && got.Value != 4*upper.Value+37.5 {
					t.Errorf("%v at %v: %v, moved %v", x, level, upper, got)
				}
			}
		}
	}
}

func TestSpreadAndPositionMoveWithTheValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(87, 88))
	for n := 2; n <= 24; n++ {
		for _, x := range samples(n, rng) {
			first := make([]bool, n)
			for i := range first {
				first[i] = i%2 == 0
			}
			move := func(v float64) float64 { return 4*v + 37.5 }
			if got, want := RobustSpread(mapped(x, move)), 4*RobustSpread(x); !near(got, want, 1e-15) {
				t.Errorf("%v: spread %v, moved %v", x, want, got)
			}
			if a, b := RobustSpread(x), RobustSpread(mapped(x, func(v float64) float64 { return -v })); a != b {
				t.Errorf("%v: spread %v, negated %v", x, a, b)
			}
			a, _ := PositionEffect(x, first)
			b, _ := PositionEffect(mapped(x, move), first)
			if b != (Position{4 * a.Shift, a.P}) {
				t.Errorf("%v: position %v, moved %v", x, a, b)
			}
			order := rng.Perm(n)
			y, coins := make([]float64, n), make([]bool, n)
			for to, from := range order {
				y[to], coins[to] = x[from], first[from]
			}
			if got, _ := PositionEffect(y, coins); got != a {
				t.Errorf("%v: position %v, rounds shuffled %v", x, a, got)
			}
		}
	}
}

// Whatever comes in, what comes out is finite and ok, or nothing.
func FuzzLogRatioStatistics(f *testing.F) {
	for _, s := range [][4]float64{
		{1, 2, 3, 4}, {0, 0, 0, 0}, {math.NaN(), 1, 2, 3}, {1, math.Inf(1), 2, 3}, {1, 2, math.Inf(-1), 3},
		{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, 1}, {5e-324, -5e-324, 0, 5e-324},
	} {
		for _, level := range []float64{0.95, 5e-324, 1, math.NaN()} {
			f.Add(s[0], s[1], s[2], s[3], uint8(9), level)
		}
	}
	f.Fuzz(func(t *testing.T, a, b, c, d float64, n uint8, level float64) {
		x, first := make([]float64, n%33), make([]bool, n%33)
		for i := range x {
			x[i], first[i] = [4]float64{a, b, c, d}[i%4], i%3 == 0
		}
		good := len(x) > 0 && firstNonFinite(x) < 0 && level > 0 && level < 1
		check := func(name string, ok bool, figures ...float64) {
			t.Helper()
			if i := firstNonFinite(figures); i >= 0 || !ok && slices.ContainsFunc(figures, func(v float64) bool { return v != 0 }) {
				t.Errorf("%s of %v, %v: %v %v", name, x, level, figures, ok)
			}
		}
		rank, ok := SignedRank(x, level)
		check("SignedRank", ok, rank.Low, rank.High, rank.Level)
		if h := HodgesLehmann(x); ok && !(good && rank.Low <= h && h <= rank.High) {
			t.Errorf("%v: %v does not hold %v", x, rank, h)
		}
		equal, ok := Equivalent(x, a, level)
		check("Equivalent", ok, equal.Lower.Value, equal.Lower.Level, equal.Upper.Value, equal.Upper.Level)
		if ok && !(good && a > 0) || equal.Within && !ok {
			t.Errorf("Equivalent(%v, %v, %v) = %v %v", x, a, level, equal, ok)
		}
		lag, ok := Autocorrelation(x, level)
		check("Autocorrelation", ok, lag.R, lag.Low, lag.High)
		if math.Abs(lag.R) > 1 || ok && !good {
			t.Errorf("Autocorrelation(%v, %v) = %v %v", x, level, lag, ok)
		}
		position, ok := PositionEffect(x, first)
		check("PositionEffect", ok, position.Shift, position.P)
		if ok && !(position.P > 0 && position.P <= 1) {
			t.Errorf("PositionEffect(%v) = %v", x, position)
		}
		power, ok := SignPower(a, len(x), level)
		check("SignPower", ok, power)
		effect, ok := SmallestEffect(a, len(x), level, b)
		check("SmallestEffect", ok, effect)
		ratio, ok := LogRatio(a, b)
		check("LogRatio", ok, ratio)
		if rounds, ok := RoundsNeeded(a, b, level, c); ok != (rounds >= 9) {
			t.Errorf("RoundsNeeded(%v, %v, %v, %v) = %v %v", a, b, level, c, rounds, ok)
		}
	})
}

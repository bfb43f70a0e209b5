package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

func TestRobustSpreadTable(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 1.107 * 1.4826022185056018 * 2},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 900}, 1.107 * 1.4826022185056018 * 2},
		{[]float64{0, 1}, 1.196 * 1.4826022185056018 * 0.5},
		{ascending(10), 10 / 9.2 * 1.4826022185056018 * 2.5},
		{[]float64{5, 5, 5, 5, 9, 1}, 0},
	} {
		if got := RobustSpread(c.x); !near(got, c.want, 1e-15) {
			t.Errorf("RobustSpread(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	for _, x := range [][]float64{nil, {1}, {1, math.NaN(), 2}, {1, 2, math.Inf(1)}, {math.MaxFloat64, -math.MaxFloat64, 0}} {
		if got := RobustSpread(x); !math.IsNaN(got) {
			t.Errorf("RobustSpread(%v) = %v, want NaN", x, got)
		}
	}
}

// Over many normal samples the mean is the standard deviation, within 1.5 %, for
// every size: the small-sample factors do what they are for.
func TestRobustSpreadIsUnbiased(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for _, n := range []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 17, 30} {
		x, sum, sets := make([]float64, n), 0.0, simulations(20000, 200000)
		for range sets {
			for i := range x {
				x[i] = 3 * rng.NormFloat64()
			}
			sum += RobustSpread(x)
		}
		if mean := sum / float64(sets) / 3; math.Abs(mean-1) > 0.015+4*0.8/math.Sqrt(float64(sets)) {
			t.Errorf("n=%d: on average %v of the standard deviation", n, mean)
		}
	}
}

func TestAutocorrelationTable(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, 0.25}, // (-1.5)(-.5) + (-.5)(.5) + (.5)(1.5) = 1.25 of 5
		{[]float64{1, -1, 1, -1, 1, -1}, -5. / 6},
		{[]float64{0, 0, 4, 0, 0}, (0.64 - 2.56 - 2.56 + 0.64) / 12.8},
	} {
		if got, ok := Autocorrelation(c.x, 0.95); !ok || !near(got.R, c.want, 1e-15) {
			t.Errorf("%v: %v %v, want %v", c.x, got, ok, c.want)
		}
	}
	got, _ := Autocorrelation([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 0.95)
	sd := 7 / (9 * math.Sqrt(8))
	if !near(got.Low, -1./9-1.959963984540054*sd, 1e-12) || !near(got.High, -1./9+1.959963984540054*sd, 1e-12) {
		t.Errorf("nine values: %v", got)
	}
	if got.R <= got.High {
		t.Errorf("a straight line: %v is within %v", got.R, got)
	}
}

func TestAutocorrelationRefuses(t *testing.T) {
	for _, x := range [][]float64{nil, {1, 2, 3}, {2, 2, 2, 2}, {1, 2, math.NaN(), 4}, {1, 2, 3, math.Inf(-1)}, {math.MaxFloat64, -math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64, -math.MaxFloat64}} {
		if got, ok := Autocorrelation(x, 0.95); ok || got != (Lag1{}) {
			t.Errorf("%v: %v %v", x, got, ok)
		}
	}
	for _, level := range []float64{0, 1, math.NaN()} {
		if got, ok := Autocorrelation(ascending(9), level); ok || got != (Lag1{}) {
			t.Errorf("level %v: %v %v", level, got, ok)
		}
	}
}

func TestAutocorrelationProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	for n := 4; n < 30; n++ {
		for _, x := range samples(n, rng)[:3] {
			want, ok := Autocorrelation(x, 0.95)
			for name, f := range map[string]func(float64) float64{
				"moved":    func(v float64) float64 { return v + 3 },
				"negated":  func(v float64) float64 { return -v },
				"scaled":   func(v float64) float64 { return v * 0x1p300 },
				"squeezed": func(v float64) float64 { return v * 0x1p-900 },
			} {
				if got, also := Autocorrelation(mapped(x, f), 0.95); ok != also || !near(got.R, want.R, 1e-12) {
					t.Errorf("%v: %v, %s %v", x, want, name, got)
				}
			}
		}
	}
}

// The share of R outside the range, of independent values and of a series whose
// neighbours share a state.
func TestAutocorrelationOutside(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 56))
	outside := func(n int, share float64) float64 {
		count, sets := 0, simulations(4000, 40000)
		x := make([]float64, n)
		for range sets {
			state := rng.NormFloat64()
			for i := range x {
				state = share*state + math.Sqrt(1-share*share)*rng.NormFloat64()
				x[i] = state
			}
			if got, _ := Autocorrelation(x, 0.95); got.R < got.Low || got.R > got.High {
				count++
			}
		}
		return float64(count) / float64(sets)
	}
	for _, n := range []int{9, 30} {
		if got := outside(n, 0); got > 0.05+4*math.Sqrt(0.05*0.95/4000) || got < 0.025 {
			t.Errorf("n=%d, independent: %v outside", n, got)
		}
	}
	if got := outside(30, 0.6); got < 0.7 {
		t.Errorf("n=30, neighbours at 0.6: only %v outside", got)
	}
}

func TestPositionEffectTable(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		x     []float64
		first []bool
		want  Position
	}{
		{[]float64{1, 2, 3, 4}, []bool{no, no, yes, yes}, Position{2, 1. / 3}}, // 2 of 6: ranks 3+4 and 1+2
		{[]float64{1, 2, 3, 4}, []bool{yes, no, no, yes}, Position{0, 1}},      // differences -2 -1 2 1
		{[]float64{5, 7, 1}, []bool{no, yes, no}, Position{4, 2. / 3}},         // rank 3 of 1 2 3: 1 and 3 are as far
		{[]float64{0, 0, 1}, []bool{no, no, yes}, Position{1, 1. / 3}},         // ranks 1.5 1.5 3, mean 2: only 3 is as far
		{[]float64{2, 2, 2, 2}, []bool{no, yes, no, yes}, Position{0, 1}},
		{[]float64{0, math.Copysign(0, -1), 1, 1}, []bool{no, no, yes, yes}, Position{1, 1. / 3}},
	} {
		if got, ok := PositionEffect(c.x, c.first); !ok || got != c.want {
			t.Errorf("%v %v: %v %v, want %v", c.x, c.first, got, ok, c.want)
		}
	}
	for _, c := range []struct {
		x     []float64
		first []bool
	}{
		{nil, nil}, {[]float64{1, 2}, []bool{yes}}, {[]float64{1, 2}, []bool{yes, yes}}, {[]float64{1, 2}, []bool{no, no}},
		{[]float64{1, math.NaN()}, []bool{yes, no}}, {[]float64{1, math.Inf(1)}, []bool{yes, no}}, {[]float64{math.MaxFloat64, -math.MaxFloat64}, []bool{yes, no}},
	} {
		if got, ok := PositionEffect(c.x, c.first); ok || got != (Position{}) {
			t.Errorf("%v %v: %v %v", c.x, c.first, got, ok)
		}
	}
}

// The twin: every choice of as many rounds.
func TestPositionEffectAgainstAllChoices(t *testing.T) {
	rng := rand.New(rand.NewPCG(57, 58))
	for n := 2; n <= 12; n++ {
		for _, x := range samples(n, rng) {
			ranks := doubledRanks(x)
			m := 1 + rng.IntN(n-1)
			first := make([]bool, n)
			for _, i := range rng.Perm(n)[:m] {
				first[i] = true
			}
			far := func(chosen func(i int) bool) int {
				sum := -m * (n + 1)
				for i, r := range ranks {
					if chosen(i) {
						sum += r
					}
				}
				return max(sum, -sum)
			}
			ours, count, all := far(func(i int) bool { return first[i] }), 0, 0
			for pattern := range uint(1) << n {
				if bits.OnesCount(pattern) == m {
					all++
					if far(func(i int) bool { return pattern>>i&1 == 1 }) >= ours {
						count++
					}
				}
			}
			got, ok := PositionEffect(x, first)
			if want := float64(count) / float64(all); !ok || got.P != want {
				t.Errorf("%v %v: %v %v, all choices say %v", x, first, got, ok, want)
			}
			other, _ := PositionEffect(x, mappedBool(first))
			negated, _ := PositionEffect(mapped(x, func(v float64) float64 { return -v }), first)
			if other != (Position{0 - got.Shift, got.P}) || negated != other {
				t.Errorf("%v: %v, kinds swapped %v, negated %v", x, got, other, negated)
			}
		}
	}
}

func mappedBool(x []bool) []bool {
	y := make([]bool, len(x))
	for i, v := range x {
		y[i] = !v
	}
	return y
}

// Where counting ends, the approximation is close to it.
func TestPositionEffectOfManyRounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(59, 60))
	for _, shift := range []float64{0, 0.3, 0.6} {
		x, first := make([]float64, MaxExactPosition), make([]bool, MaxExactPosition)
		for i := range x {
			first[i] = rng.IntN(2) == 1
			x[i] = math.Round(4*rng.NormFloat64()) / 4
			if first[i] {
				x[i] += shift
			}
		}
		exact, ok := PositionEffect(x, first)
		ranks, m, sum := doubledRanks(x), 0, 0
		for i, r := range ranks {
			if first[i] {
				m++
				sum += r - len(x) - 1
			}
		}
		if got := approximateRankSum(ranks, m, max(sum, -sum)); !ok || math.Abs(got-exact.P) > 0.01 {
			t.Errorf("shift %v: %v %v, approximated %v", shift, exact, ok, got)
		}
		if again, ok := PositionEffect(append(x, x...), append(first, first...)); !ok || again.P > exact.P {
			t.Errorf("shift %v: %v, of all rounds twice %v %v", shift, exact, again, ok)
		}
	}
	if got, ok := PositionEffect(make([]float64, 200), append(make([]bool, 199), true)); !ok || got != (Position{0, 1}) {
		t.Errorf("200 equal values: %v %v", got, ok)
	}
}

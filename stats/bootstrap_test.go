package stats

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

var nominals = []float64{0.01, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999999}

func bootstrap(t *testing.T, x []float64, nominal float64) Interval {
	t.Helper()
	got, err := BootstrapMedian(x, nominal)
	if err != nil {
		t.Fatalf("BootstrapMedian(%v, %v): %v", x, nominal, err)
	}
	return got
}

// sameEnds compares the ends as numbers, and says nothing of Level.
func sameEnds(a, b Interval) bool { return a.Low == b.Low && a.High == b.High }

func TestIntervalEqualsAllResamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 7; n++ {
		for range 5 {
			for _, x := range samples(n, rng) {
				for _, nominal := range nominals {
					tail, _ := tailOf(nominal)
					low, high := twinInterval(x, tail)
					if got := bootstrap(t, x, nominal); got.Low != low || got.High != high {
						t.Errorf("BootstrapMedian(%v, %v) = [%v, %v], all %d^%d resamples give [%v, %v]",
							x, nominal, got.Low, got.High, n, n, low, high)
					}
				}
			}
		}
	}
}

func TestCountsEqualAllResamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := 1; n <= 7; n++ {
		for k := 0; k <= n; k++ {
			var want int64
			for pair, c := range rankPairs()[n] {
				if pair[n%2] < k { // odd: the middle draw; even: the lower of the two
					want += c
				}
			}
			if got := atLeast(n, k, (n+1)/2); got.Int64() != want {
				t.Errorf("atLeast(%d, %d, %d) = %v, the resamples are %d", n, k, (n+1)/2, got, want)
			}
		}
		if n%2 == 1 {
			continue
		}
		for _, x := range samples(n, rng) {
			counts, d := twin(x), newEvenMedian(ordered(x))
			for v := range counts {
				for _, v := range []float64{v, v - 1.0/4096, v + 1.0/4096} {
					if got, want := d.atMost(v).Int64(), twinAtMost(counts, v); got != want {
						t.Errorf("%v: %d resamples with a median of at most %v, want %d", x, got, v, want)
					}
				}
			}
		}
	}
}

// A nominal level chosen so that alpha/2 is a probability of the distribution:
// P(med* <= x(1)) is 181/3125 at n = 5, and reaching the cut is enough.
func TestCutIsExact(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5}
	for _, c := range []struct {
		nominal float64
		want    Interval
	}{
		{0.88416, Interval{1, 5, 0.9375}}, // alpha/2 = 181/3125
		{0.88415999, Interval{2, 4, 0.625}},
		{0.88416001, Interval{1, 5, 0.9375}},
	} {
		if got := bootstrap(t, x, c.nominal); got != c.want {
			t.Errorf("nominal %v: %v, want %v", c.nominal, got, c.want)
		}
	}
}

// The published table: attained coverage in percent of the bootstrap at nominal
// 90, 95 and 99 %.
func TestAttainedLevels(t *testing.T) {
	for _, c := range []struct {
		n    int
		want [3]float64
	}{
		{5, [3]float64{93.75, 93.75, 93.75}},
		{7, [3]float64{87.5, 87.5, 98.4}},
		{9, [3]float64{82.0, 96.1, 96.1}},
		{11, [3]float64{93.5, 93.5, 98.8}},
		{13, [3]float64{90.8, 90.8, 97.8}},
		{15, [3]float64{88.2, 96.5, 96.5}},
		{21, [3]float64{92.2, 92.2, 97.3}},
	} {
		x := ascending(c.n)
		for i, nominal := range []float64{0.90, 0.95, 0.99} {
			got := bootstrap(t, x, nominal)
			if math.Abs(100*got.Level-c.want[i]) > 0.0501 {
				t.Errorf("n=%d nominal %v: attained %.4f %%, published %v %%", c.n, nominal, 100*got.Level, c.want[i])
			}
			if covers := coverage(c.n, int(got.Low)); covers != got.Level {
				t.Errorf("n=%d: Level %v of [x(%v), x(%v)], whose coverage is %v", c.n, got.Level, got.Low, got.High, covers)
			}
		}
	}
	if got, want := bootstrap(t, ascending(9), 0.95), (Interval{2, 8, 0.9609375}); got != want {
		t.Errorf("nine values: %v, want %v", got, want)
	}
	// A Bonferroni level for six cells changes nothing at nine values.
	if got := bootstrap(t, ascending(9), 1-0.05/6); got.Level != 0.9609375 {
		t.Errorf("nine values at 99.17 %%: attained %v, want 0.9609375", got.Level)
	}
}

// ascending is 1..n, so that a value is its own rank.
func ascending(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i + 1)
	}
	return x
}

// The binomial tail is the regularised incomplete beta function:
// P(Bin(n,p) >= m) = I_p(m, n-m+1).
func TestBinomialTailAgainstBetaFunction(t *testing.T) {
	for _, c := range []struct {
		n         int
		tolerance float64
	}{{5, 1e-12}, {9, 1e-12}, {16, 1e-12}, {21, 1e-12}, {100, 1e-12}, {999, 1e-11}, {1000, 1e-11}} {
		total := resamples(c.n)
		for k := 1; k < c.n; k += 1 + c.n/40 {
			m := (c.n + 1) / 2
			got, _ := new(big.Rat).SetFrac(atLeast(c.n, k, m), total).Float64()
			want := mathext.RegIncBeta(float64(m), float64(c.n-m+1), float64(k)/float64(c.n))
			if want < 1e-290 { // the beta function itself runs out of exponent
				continue
			}
			if math.Abs(got/want-1) > c.tolerance {
				t.Errorf("P(Bin(%d,%d/%d) >= %d) = %v, the beta function says %v", c.n, k, c.n, m, got, want)
			}
		}
	}
}

// For even n no level is exact, but two order-statistic intervals bracket the
// interval whatever the values.
func TestEvenBracket(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{2, 4, 6, 8, 10, 12, 20, 50} {
		for _, x := range samples(n, rng) {
			for _, nominal := range nominals {
				got, tail := bootstrap(t, x, nominal), tailFor(t, nominal)
				outer, inner := rankReaching(n, n/2, tail), rankReaching(n, n/2+1, tail)
				s := ordered(x)
				if got.Low < s[outer-1] || got.High > s[n-outer] {
					t.Errorf("n=%d %v: [%v, %v] leaves the outer ranks %d", n, nominal, got.Low, got.High, outer)
				}
				if inner <= n/2 && (got.Low > s[inner-1] || got.High < s[n-inner]) {
					t.Errorf("n=%d %v: [%v, %v] does not hold the inner ranks %d", n, nominal, got.Low, got.High, inner)
				}
				if !math.IsNaN(got.Level) {
					t.Errorf("n=%d: Level %v, want NaN", n, got.Level)
				}
			}
		}
	}
	tail := tailFor(t, 0.95)
	if outer, inner := rankReaching(10, 5, tail), rankReaching(10, 6, tail); outer != 2 || inner != 3 {
		t.Errorf("n=10: outer and inner ranks %d and %d, the documentation says 2 and 3", outer, inner)
	}
}

// Where the values have one wide gap, the even distribution is a binomial tail at
// each side of it, at any size: all of the middle two draws below it, or one.
func TestEvenDistributionAtAGap(t *testing.T) {
	for _, n := range []int{2, 8, 100, 1000} {
		for k := 1; k < n; k += 1 + n/20 {
			x := ascending(n)
			for i := k; i < n; i++ {
				x[i] += 1e6
			}
			d := newEvenMedian(x)
			if got, want := d.atMost(float64(n)), atLeast(n, k, n/2+1); got.Cmp(want) != 0 {
				t.Errorf("n=%d, gap after %d: below the gap %v, want %v", n, k, got, want)
			}
			if got, want := d.atMost(0.75e6), atLeast(n, k, n/2); got.Cmp(want) != 0 {
				t.Errorf("n=%d, gap after %d: up to its middle %v, want %v", n, k, got, want)
			}
			if got := d.atMost(2e6); got.Cmp(d.total) != 0 {
				t.Errorf("n=%d: at most the largest value: %v, want all %v", n, got, d.total)
			}
		}
	}
}

func tailFor(t *testing.T, level float64) *big.Rat {
	t.Helper()
	tail, ok := tailOf(level)
	if !ok {
		t.Fatalf("tailOf(%v) is not ok", level)
	}
	return tail
}

func TestBootstrapSizes(t *testing.T) {
	for _, n := range []int{1, 2, 3, 99, 100, 511, 512, 999, 1000} {
		rng := rand.New(rand.NewPCG(uint64(n), 7))
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		got, m := bootstrap(t, x, 0.95), Median(x)
		if !(got.Low <= m && m <= got.High) {
			t.Errorf("n=%d: [%v, %v] does not hold the median %v", n, got.Low, got.High, m)
		}
		// About 1.96 standard errors of a normal median to each side.
		if want := 2 * 1.96 * 1.2533 / math.Sqrt(float64(n)); n >= 99 && (got.High-got.Low < want/1.7 || got.High-got.Low > want*1.7) {
			t.Errorf("n=%d: width %v, expected about %v", n, got.High-got.Low, want)
		}
	}
	if got, want := bootstrap(t, []float64{4}, 0.95), (Interval{4, 4, 0}); got != want {
		t.Errorf("one value: %v, want %v", got, want)
	}
}

func TestBootstrapErrors(t *testing.T) {
	for _, c := range []struct {
		x       []float64
		nominal float64
		want    string
	}{
		{nil, 0.95, "bootstrap of the median: got 0 values, expected 1 to 1000"},
		{make([]float64, 1001), 0.95, "bootstrap of the median: got 1001 values, expected 1 to 1000"},
		{[]float64{1, math.NaN()}, 0.95, "bootstrap of the median: value 1 is NaN, expected a finite number"},
		{[]float64{math.Inf(-1), 2}, 0.95, "bootstrap of the median: value 0 is -Inf, expected a finite number"},
		{[]float64{1, 2, 3}, 95, "bootstrap of the median: nominal level is 95, expected a number between 0 and 1"},
		{[]float64{1}, 0, "bootstrap of the median: nominal level is 0, expected a number between 0 and 1"},
		{[]float64{1}, 1, "bootstrap of the median: nominal level is 1, expected a number between 0 and 1"},
		{[]float64{1}, math.NaN(), "bootstrap of the median: nominal level is NaN, expected a number between 0 and 1"},
	} {
		got, err := BootstrapMedian(c.x, c.nominal)
		if err == nil || err.Error() != c.want || got != (Interval{}) {
			t.Errorf("level %v: %v and error %v, want %q", c.nominal, got, err, c.want)
		}
	}
}

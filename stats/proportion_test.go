package stats

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

func proportion(t *testing.T, successes, trials int, level float64) Interval {
	t.Helper()
	got, err := BinomialInterval(successes, trials, level)
	if err != nil {
		t.Fatalf("BinomialInterval(%d, %d, %v): %v", successes, trials, level, err)
	}
	return got
}

func TestBinomialIntervalByHand(t *testing.T) {
	for _, c := range []struct {
		successes, trials int
		level, low, high  float64
	}{
		{0, 1, 0.9, 0, 0.95},                              // 1-p = 0.05
		{1, 1, 0.9, 0.05, 1},                              // p = 0.05
		{0, 59, 0.9, 0, 1 - math.Pow(0.05, 1./59)},        // the rule of 59
		{0, 10, 0.95, 0, 1 - math.Pow(0.025, 0.1)},        //
		{1, 2, 0.5, 1 - math.Sqrt(0.75), math.Sqrt(0.75)}, // 1-(1-p)^2 = 1/4
		{2, 2, 0.75, math.Sqrt(0.125), 1},                 // p^2 = 1/8
	} {
		got := proportion(t, c.successes, c.trials, c.level)
		if math.Abs(got.Low-c.low) > 1e-15 || math.Abs(got.High-c.high) > 1e-15 || got.Level != c.level {
			t.Errorf("%d of %d at %v: %v, by hand [%v, %v]", c.successes, c.trials, c.level, got, c.low, c.high)
		}
	}
}

// dumbBinomialTail is P(Bin(n,p) >= s), term by term.
func dumbBinomialTail(n, s int, p float64) float64 {
	sum := 0.0
	for j := s; j <= n; j++ {
		term := 1.0
		for i := range j {
			term *= float64(n-i) / float64(i+1) * p
		}
		sum += term * math.Pow(1-p, float64(n-j))
	}
	return sum
}

func TestBinomialIntervalByDefinition(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 8, 13, 30} {
		for s := 0; s <= n; s++ {
			for _, level := range []float64{0.5, 0.9, 0.95, 0.99} {
				got, mirror := proportion(t, s, n, level), proportion(t, n-s, n, level)
				tail := (1 - level) / 2
				if s > 0 && math.Abs(dumbBinomialTail(n, s, got.Low)/tail-1) > 1e-9 {
					t.Errorf("%d of %d at %v: the tail at %v is %v", s, n, level, got.Low, dumbBinomialTail(n, s, got.Low))
				}
				if s < n && math.Abs(dumbBinomialTail(n, n-s, 1-got.High)/tail-1) > 1e-9 {
					t.Errorf("%d of %d at %v: the tail at %v is %v", s, n, level, got.High, dumbBinomialTail(n, n-s, 1-got.High))
				}
				if math.Abs(got.Low-(1-mirror.High)) > 1e-15 || math.Abs(got.High-(1-mirror.Low)) > 1e-15 {
					t.Errorf("%d of %d at %v: %v, failures %v", s, n, level, got, mirror)
				}
				if share := float64(s) / float64(n); got.Low > share || got.High < share {
					t.Errorf("%d of %d at %v: %v does not hold the share", s, n, level, got)
				}
			}
		}
	}
}

// Both ends are rounded outwards, to the last bit: the tail there is at most the
// cut, and one number further in it is above. By fractions.
func TestBinomialIntervalRoundsOutwards(t *testing.T) {
	for _, level := range []float64{0.5, 0.9, 0.95} {
		tail, _ := tailOf(level)
		above := func(n, s int, p *big.Rat) bool { return exactBinomialTail(n, s, p).Cmp(tail) > 0 }
		for n := 1; n <= 9; n++ {
			for s := 1; s <= n; s++ {
				low := proportion(t, s, n, level).Low
				if above(n, s, fraction(low)) || !above(n, s, fraction(math.Nextafter(low, 1))) {
					t.Errorf("%d of %d at %v: low end %v is not the last below the cut", s, n, level, low)
				}
				high := proportion(t, n-s, n, level).High
				if above(n, s, failures(high)) || !above(n, s, failures(math.Nextafter(high, 0))) {
					t.Errorf("%d of %d at %v: high end %v is not the first below the cut", n-s, n, level, high)
				}
			}
		}
	}
}

func fraction(p float64) *big.Rat { return new(big.Rat).SetFloat64(p) }

func failures(p float64) *big.Rat { return new(big.Rat).Sub(big.NewRat(1, 1), fraction(p)) }

// exactBinomialTail is P(Bin(n,p) >= s) in fractions.
func exactBinomialTail(n, s int, p *big.Rat) *big.Rat {
	if s <= 0 {
		return big.NewRat(1, 1)
	}
	if n < s {
		return new(big.Rat)
	}
	hit := new(big.Rat).Mul(p, exactBinomialTail(n-1, s-1, p))
	q := new(big.Rat).Sub(big.NewRat(1, 1), p)
	return hit.Add(hit, q.Mul(q, exactBinomialTail(n-1, s, p)))
}

// The ends are quantiles of beta distributions, which gonum computes another way.
func TestBinomialIntervalAgainstBeta(t *testing.T) {
	for _, c := range []struct{ s, n int }{{1, 450}, {22, 450}, {180, 4000}, {3999, 4000}, {50, 20000}, {10400, 20000}} {
		got := proportion(t, c.s, c.n, 0.95)
		low := mathext.InvRegIncBeta(float64(c.s), float64(c.n-c.s+1), 0.025)
		high := mathext.InvRegIncBeta(float64(c.s+1), float64(c.n-c.s), 0.975)
		if math.Abs(got.Low/low-1) > 1e-8 || math.Abs(got.High/high-1) > 1e-8 {
			t.Errorf("%d of %d: %v, beta quantiles [%v, %v]", c.s, c.n, got, low, high)
		}
	}
}

func TestBinomialIntervalRefuses(t *testing.T) {
	for _, c := range []struct {
		s, n  int
		level float64
		want  string
	}{{0, 0, 0.95, "0 trials"}, {0, MaxBinomialTrials + 1, 0.95, "1000001 trials"}, {-1, 5, 0.95, "-1 successes"}, {6, 5, 0.95, "6 successes, expected 0 to 5"},
		{1, 5, 1, "level is 1"}, {1, 5, 0, "level is 0"}, {1, 5, math.NaN(), "level is NaN"}} {
		if got, err := BinomialInterval(c.s, c.n, c.level); err == nil || got != (Interval{}) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d of %d at %v: %v %v, want an error with %q", c.s, c.n, c.level, got, err, c.want)
		}
	}
}

package stats

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestHodgesLehmannTable(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{1, 2}, 1.5},          // 1 1.5 2
		{[]float64{4, 1, 2}, 2.25},      // 1 1.5 2 2.5 3 4
		{[]float64{0, 0, 0, 10}, 0},     // six zeros, three fives, ten
		{[]float64{-1, 0, 1, 20}, 0.75}, // -1 -.5 0 0 .5 1 9.5 10 10.5 20
	} {
		if got := HodgesLehmann(c.x); got != c.want {
			t.Errorf("HodgesLehmann(%v) = %v, want %v", c.x, got, c.want)
		}
	}
	large := make([]float64, MaxHodgesLehmann+1)
	for _, x := range [][]float64{nil, {}, {math.NaN()}, {1, math.Inf(1), 2}, large} {
		if got := HodgesLehmann(x); !math.IsNaN(got) {
			t.Errorf("HodgesLehmann of %d values = %v, want NaN", len(x), got)
		}
	}
}

func TestSignedRankTable(t *testing.T) {
	for _, c := range []struct {
		n     int
		level float64
		want  Interval
	}{
		{6, 0.95, Interval{1, 6, 1 - 2.0/64}},      // one of 64 has T = 0
		{9, 0.95, Interval{2.5, 7.5, 1 - 20./512}}, // 1 1 1 2 2 3 = 10 of 512 have T <= 5: w(6) of 1 1.5 2 2 2.5 2.5
		{9, 0.99, Interval{1.5, 8.5, 1 - 4./512}},  // T <= 1: w(2)
		{3, 0.5, Interval{1.5, 2.5, 0.5}},          // T <= 1: 2 of 8 a side, and the cut is met exactly
	} {
		if got, ok := SignedRank(ascending(c.n), c.level); !ok || got != c.want {
			t.Errorf("n=%d level %v: %v %v, want %v", c.n, c.level, got, ok, c.want)
		}
	}
	for n := range 6 {
		if got, ok := SignedRank(ascending(n), 0.95); ok || got != (Interval{}) {
			t.Errorf("n=%d: %v %v, want none", n, got, ok)
		}
	}
}

func TestSignedRankRefuses(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x := ascending(9)
		x[4] = v
		if got, ok := SignedRank(x, 0.95); ok || got != (Interval{}) {
			t.Errorf("%v among the values: %v %v", v, got, ok)
		}
	}
	for _, level := range []float64{0, 1, -1, 95, math.NaN(), math.Inf(1)} {
		if got, ok := SignedRank(ascending(9), level); ok || got != (Interval{}) {
			t.Errorf("level %v: %v %v", level, got, ok)
		}
	}
	if got, ok := SignedRank(ascending(MaxHodgesLehmann+1), 0.95); ok || got != (Interval{}) {
		t.Errorf("too many values: %v %v", got, ok)
	}
}

// signedRankTwin is P(T <= t) by all 2^n sign vectors.
func signedRankTwin(n, t int) float64 {
	count := 0
	for signs := range uint(1) << n {
		sum := 0
		for s := signs; s != 0; s &= s - 1 {
			sum += bits.TrailingZeros(s) + 1
		}
		if sum <= t {
			count++
		}
	}
	return float64(count) / float64(uint(1)<<n)
}

func TestSignedRankTailsAgainstSignVectors(t *testing.T) {
	for n := range 13 {
		for i, got := range signedRankTails(n) {
			if want := signedRankTwin(n, i); got != want {
				t.Errorf("P(T <= %d) of %d values: %v, the sign vectors say %v", i, n, got, want)
			}
		}
	}
}

// By whole numbers, where those in float64 are no longer exact.
func TestSignedRankTailsAgainstWholeNumbers(t *testing.T) {
	for _, n := range []int{53, 54, 90} {
		counts := []*big.Int{big.NewInt(1)}
		for r := 1; r <= n; r++ {
			longer := make([]*big.Int, len(counts)+r)
			for s := range longer {
				longer[s] = new(big.Int)
				if s < len(counts) {
					longer[s].Set(counts[s])
				}
				if s >= r {
					longer[s].Add(longer[s], counts[s-r])
				}
			}
			counts = longer
		}
		sum, all := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(n))
		for i, got := range signedRankTails(n) {
			want, exact := new(big.Rat).SetFrac(sum.Add(sum, counts[i]), all).Float64()
			if n <= 53 && (!exact || got != want) || math.Abs(got-want) > 1e-13*want {
				t.Fatalf("P(T <= %d) of %d values: %v, want %v", i, n, got, want)
			}
		}
	}
}

// The interval is what the test does not reject: between Walsh averages, ask the
// test itself, by all sign vectors of the ranks of |x-shift|.
func TestSignedRankInvertsTheTest(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for n := 4; n <= 10; n++ {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		w := walshAverages(x)
		for _, level := range []float64{0.5, 0.8, 0.9, 0.95, 0.99} {
			got, ok := SignedRank(x, level)
			for i := range len(w) + 1 {
				shift := 0.0
				switch i {
				case 0:
					shift = w[0] - 1
				case len(w):
					shift = w[i-1] + 1
				default:
					shift = midpoint(w[i-1], w[i])
				}
				kept := wilcoxonTwin(x, shift) > 1-level+1e-12
				if inside := ok && got.Low <= shift && shift <= got.High; ok && kept != inside {
					t.Errorf("n=%d level %v: shift %v kept %v, interval %v", n, level, shift, kept, got)
				} else if !ok && (i == 0 || i == len(w)) && !kept {
					t.Errorf("n=%d level %v: no interval, but the test rejects %v", n, level, shift)
				}
			}
		}
	}
}

// wilcoxonTwin is the two-sided p of the signed-rank test without ties.
func wilcoxonTwin(x []float64, shift float64) float64 {
	d := mapped(x, func(v float64) float64 { return v - shift })
	slices.SortFunc(d, func(a, b float64) int { return int(math.Copysign(1, math.Abs(a)-math.Abs(b))) })
	plus := 0
	for i, v := range d {
		if v > 0 {
			plus += i + 1
		}
	}
	n := len(x)
	return 2 * signedRankTwin(n, min(plus, n*(n+1)/2-plus))
}

// T is close to normal here, with sd sqrt(n(n+1)(2n+1)/24).
func TestSignedRankOfManyValues(t *testing.T) {
	const n, level = MaxHodgesLehmann, 0.9999
	x := ascending(n)
	got, ok := SignedRank(x, level)
	if !ok || got.Level < level || got.Level > level+1e-6 {
		t.Errorf("%v %v, want a level just above %v", got, ok, level)
	}
	k := n*(n+1)/4 - normalQuantile((1+level)/2)*math.Sqrt(n*(n+1)*(2*n+1)/24.)
	if low := walshAverages(x)[int(k)]; math.Abs(got.Low-low) > 1 || got.Low+got.High != n+1 {
		t.Errorf("%v, the normal approximation starts at %v", got, low)
	}
}

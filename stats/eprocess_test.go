package stats

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func signs(above, below, zeros int) []float64 {
	x := slices.Repeat([]float64{0.5}, above)
	x = append(x, slices.Repeat([]float64{-3}, below)...)
	return append(x, make([]float64, zeros)...)
}

func eValue(t *testing.T, x []float64, side Side) float64 {
	t.Helper()
	e, err := SignE(x, side)
	if err != nil {
		t.Fatalf("SignE(%v, %v): %v", x, side, err)
	}
	return e
}

// mixture is the mean of (2p)^s (2-2p)^(n-s) over p between low and 1, by the
// midpoint rule.
func mixture(n, s int, low float64) float64 {
	const steps = 20000
	sum := 0.0
	for i := range steps {
		p := low + (1-low)*(float64(i)+0.5)/steps
		sum += math.Pow(2*p, float64(s)) * math.Pow(2-2*p, float64(n-s))
	}
	return sum / steps
}

func TestSignEIsTheMixture(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 7, 8, 9, 12, 20, 31} {
		for s := 0; s <= n; s++ {
			x := signs(s, n-s, 0)
			for _, c := range []struct {
				side Side
				want float64
			}{{Either, mixture(n, s, 0)}, {Above, mixture(n, s, 0.5)}, {Below, mixture(n, n-s, 0.5)}} {
				if got := eValue(t, x, c.side); math.Abs(got/c.want-1) > 1e-5 {
					t.Errorf("%d of %d above, %v: %v, the integral is %v", s, n, c.side, got, c.want)
				}
			}
		}
	}
}

func TestSignEByHand(t *testing.T) {
	for _, c := range []struct {
		above, below int
		side         Side
		want         float64
	}{
		{0, 0, Either, 1},
		{0, 0, Above, 1},
		{1, 0, Either, 1},        // 2/2
		{1, 0, Above, 1.5},       // 2 * 1 * 3/4
		{0, 1, Above, 0.5},       // 2 * 1 * 1/4
		{1, 1, Either, 2. / 3},   // 4/(3*2)
		{7, 0, Either, 16},       // 128/8: not yet
		{8, 0, Either, 256. / 9}, // 28.4: stops
		{0, 8, Either, 256. / 9}, // and the other way
		{11, 1, Either, 4096. / (13 * 12)},
		{6, 0, Above, 2 * 64. / 7 * 127 / 128}, // 18.1
		{7, 0, Above, 2 * 128. / 8 * 255 / 256},
	} {
		if got := eValue(t, signs(c.above, c.below, 0), c.side); math.Abs(got/c.want-1) > 1e-15 {
			t.Errorf("%d above, %d below, %v: %v, by hand %v", c.above, c.below, c.side, got, c.want)
		}
	}
}

// The expectation of the next value, given this one, is this one under a fair
// coin; for one side and an unfair coin against it, no more. By whole numbers.
func TestSignEIsAMartingale(t *testing.T) {
	half := big.NewRat(1, 2)
	for n := range 40 {
		for s := 0; s <= n; s++ {
			next := new(big.Rat).Add(signE(n+1, s), signE(n+1, s+1))
			if next.Mul(next, half).Cmp(signE(n, s)) != 0 {
				t.Errorf("n=%d s=%d: %v is expected after %v", n, s, next, signE(n, s))
			}
			up, down := oneSidedE(n+1, s+1), oneSidedE(n+1, s)
			next = new(big.Rat).Add(up, down)
			if next.Mul(next, half).Cmp(oneSidedE(n, s)) != 0 {
				t.Errorf("above, n=%d s=%d: %v is expected after %v", n, s, next, oneSidedE(n, s))
			}
			if up.Cmp(down) < 0 {
				t.Errorf("above, n=%d s=%d: a round above lowers the value", n, s)
			}
			// Both sides together are the whole mixture.
			both := new(big.Rat).Add(oneSidedE(n, s), oneSidedE(n, n-s))
			if both.Mul(both, half).Cmp(signE(n, s)) != 0 {
				t.Errorf("n=%d s=%d: the mean of both sides is %v, not %v", n, s, both, signE(n, s))
			}
		}
	}
}

// A zero counts for whichever sign makes the value smallest: the dumb way, all
// of them.
func TestSignEZeros(t *testing.T) {
	for above := range 7 {
		for below := range 7 {
			for zeros := range 6 {
				for _, side := range sides {
					smallest := math.Inf(1)
					for up := 0; up <= zeros; up++ {
						smallest = min(smallest, eValue(t, signs(above+up, below+zeros-up, 0), side))
					}
					if got := eValue(t, signs(above, below, zeros), side); got != smallest {
						t.Errorf("%d above, %d below, %d zeros, %v: %v, the smallest is %v", above, below, zeros, side, got, smallest)
					}
				}
			}
		}
	}
	if got := eValue(t, []float64{math.Copysign(0, -1), 0}, Either); got != 2./3 {
		t.Errorf("two zeros of either sign: %v, want 2/3", got)
	}
}

func TestSignESymmetry(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	for n := range 30 {
		for _, x := range samples(n, rng) {
			mirror := mapped(x, func(v float64) float64 { return -v })
			y := slices.Clone(x)
			rng.Shuffle(n, func(i, j int) { y[i], y[j] = y[j], y[i] })
			for _, side := range sides {
				e := eValue(t, x, side)
				if eValue(t, y, side) != e || eValue(t, mapped(x, func(v float64) float64 { return 3 * v }), side) != e {
					t.Errorf("%v, %v: the order or scale of rounds changes %v", x, side, e)
				}
				if other := eValue(t, mirror, map[Side]Side{Either: Either, Above: Below, Below: Above}[side]); other != e {
					t.Errorf("%v, %v: %v, mirrored %v", x, side, e, other)
				}
			}
		}
	}
}

func TestSignERounding(t *testing.T) {
	for n := range 80 {
		for s := 0; s <= n; s++ {
			for _, exact := range []*big.Rat{signE(n, s), oneSidedE(n, s)} {
				down := roundedDown(exact)
				if new(big.Rat).SetFloat64(down).Cmp(exact) > 0 || new(big.Rat).SetFloat64(math.Nextafter(down, math.Inf(1))).Cmp(exact) <= 0 {
					t.Errorf("n=%d s=%d: %v is rounded to %v", n, s, exact, down)
				}
			}
		}
	}
	for _, side := range []Side{Either, Above} {
		if got := eValue(t, signs(3000, 0, 0), side); got != math.MaxFloat64 {
			t.Errorf("3000 unanimous rounds, %v: %v, want the largest number", side, got)
		}
	}
}

func TestEThreshold(t *testing.T) {
	for _, c := range []struct {
		cells int
		level float64
		want  float64
	}{{1, 0.95, 20}, {6, 0.95, 120}, {24, 0.95, 480}, {1, 0.9, 10}, {2, 0.99, 200}} {
		if got, err := EThreshold(c.cells, c.level); err != nil || got != c.want {
			t.Errorf("%d cells at %v: %v %v, want %v", c.cells, c.level, got, err, c.want)
		}
	}
	for _, c := range []struct {
		cells int
		level float64
		want  string
	}{{0, 0.95, "0 cells"}, {-1, 0.95, "-1 cells"}, {1, 1, "level is 1"}, {1, 95, "level is 95"}, {1, math.NaN(), "NaN"}} {
		if got, err := EThreshold(c.cells, c.level); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d cells at %v: %v %v, want an error with %q", c.cells, c.level, got, err, c.want)
		}
	}
}

func TestMergedE(t *testing.T) {
	for _, c := range []struct {
		e             []float64
		mean, product float64
	}{{[]float64{4}, 4, 4}, {[]float64{28, 2, 0}, 10, 0}, {[]float64{0.5, 3.5, 8}, 4, 14},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64, math.MaxFloat64},
		{[]float64{math.MaxFloat64, 4, 0.25, 0.125}, math.MaxFloat64 / 4, math.MaxFloat64 / 8}} {
		mean, err := MeanE(c.e)
		if err != nil || math.Abs(mean/c.mean-1) > 1e-15 {
			t.Errorf("mean of %v: %v %v, want %v", c.e, mean, err, c.mean)
		}
		product, err := ProductE(c.e)
		if err != nil || product != c.product {
			t.Errorf("product of %v: %v %v, want %v", c.e, product, err, c.product)
		}
	}
	for _, c := range []struct {
		e    []float64
		want string
	}{{nil, "none"}, {[]float64{1, -1}, "value 1 is -1"}, {[]float64{math.NaN()}, "value 0 is NaN"}, {[]float64{1, 2, math.Inf(1)}, "value 2 is +Inf"}} {
		_, err := MeanE(c.e)
		_, err2 := ProductE(c.e)
		for _, err := range []error{err, err2} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v, want an error with %q", c.e, err, c.want)
			}
		}
	}
}

func TestSignERefuses(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		side Side
		want string
	}{{[]float64{1, math.NaN()}, Either, "round 1 is NaN"}, {[]float64{math.Inf(1)}, Above, "round 0 is +Inf"}, {[]float64{1}, Side(-1), "Side(-1)"}} {
		if got, err := SignE(c.x, c.side); err == nil || got != 0 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("SignE(%v, %v): %v %v, want an error with %q", c.x, c.side, got, err, c.want)
		}
	}
}

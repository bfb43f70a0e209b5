package kernels

import (
	"math"
	"slices"
	"testing"
)

// lengths are around the eights and sixteens of the assembly.
var lengths = []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 128, 1000}

func TestDotIsMultiplysProduct(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(5)
		for _, n := range append([]int{0}, lengths...) {
			a, b := normal(r, n), normal(r, n)
			got := Dot(a, b)
			if n == 0 {
				if got != 0 {
					t.Errorf("Dot of nothing is %v, want 0", got)
				}
				continue
			}
			var in Input
			in.Set(F32, b, 1, n)
			if want := product(matrix(t, F32, 1, n, a), &in)[0]; !sameBits(got, want) {
				t.Errorf("Dot of %d numbers is %v, want %v", n, got, want)
			}
		}
	})
}

func TestAddScaled(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(6)
		for _, n := range lengths {
			y, x, a := normal(r, n), normal(r, n), float32(r.NormFloat64())
			want := slices.Clone(y)
			for i := range want {
				want[i] = step(a, x[i], want[i])
			}
			if AddScaled(y, a, x); !slices.EqualFunc(y, want, sameBits) {
				t.Errorf("AddScaled of %d numbers is %v, want %v", n, y, want)
			}
		}
	})
}

func TestRMSNorm(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(7)
		for _, n := range lengths {
			x, weight, out := normal(r, n), normal(r, n), make([]float32, n)
			var squares float64
			for _, v := range x {
				squares += float64(v) * float64(v)
			}
			scale := 1 / math.Sqrt(squares/float64(n)+1e-3)
			RMSNorm(out, x, weight, 1e-3)
			for i, got := range out {
				if want := float64(x[i]) * scale * float64(weight[i]); math.Abs(float64(got)-want) > 2e-6*math.Abs(want) {
					t.Fatalf("%d numbers: the one at %d is %v, want %v", n, i, got, want)
				}
			}
			if RMSNorm(x, x, weight, 1e-3); !slices.EqualFunc(x, out, sameBits) {
				t.Errorf("RMSNorm of %d numbers in place differs from that into others", n)
			}
		}
	})
}

// off is how many units in the last place of want's float32 got is from it. Below the
// normal numbers the unit is the smallest denormal.
func off(got float32, want float64) float64 {
	if math.IsInf(want, 0) || want > math.MaxFloat32+math.Ldexp(1, 103) {
		if math.IsInf(float64(got), 1) {
			return 0
		}
		return math.Inf(1)
	}
	_, exponent := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(exponent-24, -149))
}

// Exp's error over numbers that lie close enough together to be all of interest, the
// denormal and infinite ends included.
func TestExpErrorIsSmall(t *testing.T) {
	each(t, func(t *testing.T) {
		const most = 2.0
		var worst float64
		x := make([]float32, 0, 1<<16)
		check := func() {
			e := slices.Clone(x)
			Exp(e)
			for i, got := range e {
				far := off(got, math.Exp(float64(x[i])))
				worst = max(worst, far)
				if far > most {
					t.Fatalf("e^%v is %v, want %v within %v units in the last place, not %v", x[i], got, math.Exp(float64(x[i])), most, far)
				}
			}
			x = x[:0]
		}
		// Every 997th of all float32 from -110 to 95, from the largest magnitude down.
		for _, end := range []float32{-110, 95} {
			for bits := math.Float32bits(end); bits&^(1<<31) > 997; bits -= 997 {
				if x = append(x, math.Float32frombits(bits)); len(x) == cap(x) {
					check()
				}
			}
			check()
		}
		t.Logf("at most %.3f units in the last place", worst)
	})
}

func TestExpOfSpecialNumbers(t *testing.T) {
	each(t, func(t *testing.T) {
		inf := float32(math.Inf(1))
		for _, test := range []struct{ x, want float32 }{
			{0, 1}, {float32(math.Copysign(0, -1)), 1}, {inf, inf}, {-inf, 0}, {float32(math.NaN()), float32(math.NaN())},
			{200, inf}, {-200, 0}, {math.MaxFloat32, inf}, {-math.MaxFloat32, 0}, {1e-42, 1}, {88.8, inf}, {-103.9, 1e-45},
		} {
			for _, n := range []int{1, 8, 13} {
				x := slices.Repeat([]float32{test.x}, n)
				if Exp(x); !slices.EqualFunc(x, slices.Repeat([]float32{test.want}, n), sameBits) {
					t.Errorf("e^%v is %v of %d, want %v", test.x, x, n, test.want)
				}
			}
		}
	})
}

func TestSoftmax(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(8)
		Softmax(nil)
		for _, n := range lengths {
			x := normal(r, n)
			for i := range x {
				x[i] *= 20
			}
			want, sum := make([]float64, n), 0.0
			for i, v := range x {
				want[i] = math.Exp(float64(v - slices.Max(x))) // the difference is rounded
				sum += want[i]
			}
			Softmax(x)
			for i, got := range x {
				if w := want[i] / sum; math.Abs(float64(got)-w) > 1e-6*w+1e-37 {
					t.Fatalf("%d numbers: the one at %d is %v, want %v", n, i, got, w)
				}
			}
		}
	})
}

// What is not finite makes NaNs of all, wherever it stands, but for a -Inf beside others.
func TestSoftmaxOfSpecialNumbers(t *testing.T) {
	each(t, func(t *testing.T) {
		nan, inf := float32(math.NaN()), float32(math.Inf(1))
		for _, n := range []int{1, 5, 8, 21} {
			for at := range n {
				for _, bad := range []float32{nan, inf, -inf} {
					x := slices.Repeat([]float32{1}, n)
					x[at] = bad
					Softmax(x)
					want := slices.Repeat([]float32{nan}, n)
					if bad == -inf && n > 1 {
						want = slices.Repeat([]float32{1 / float32(n-1)}, n)
						want[at] = 0
					}
					if !slices.EqualFunc(x, want, sameBits) {
						t.Errorf("%v at %d of %d: %v, want %v", bad, at, n, x, want)
					}
				}
			}
		}
	})
}

func TestSiLUMul(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(9)
		for _, n := range lengths {
			gate, up := normal(r, n), normal(r, n)
			gate[0] = -90 // e^90 is infinite: the result is zero
			want := make([]float64, n)
			for i, g := range gate {
				want[i] = float64(g) / (1 + math.Exp(-float64(g))) * float64(up[i])
			}
			SiLUMul(gate, up)
			for i, got := range gate {
				if math.Abs(float64(got)-want[i]) > 1e-6*math.Abs(want[i])+1e-36 {
					t.Fatalf("%d numbers: the one at %d is %v, want %v", n, i, got, want[i])
				}
			}
		}
	})
}

// What is done to each number does not depend on its place: a vector's bits are those of
// its parts.
func TestPlaceDoesNotMatter(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(10)
		x, y := normal(r, 100), normal(r, 100)
		for name, do := range map[string]func(x, y []float32){
			"Exp":       func(x, _ []float32) { Exp(x) },
			"SiLUMul":   SiLUMul,
			"AddScaled": func(x, y []float32) { AddScaled(x, 0.3, y) },
		} {
			whole, parts := slices.Clone(x), slices.Clone(x)
			do(whole, y)
			for from := 0; from < len(x); {
				to := min(len(x), from+1+r.IntN(20))
				do(parts[from:to], y[from:to])
				from = to
			}
			if !slices.EqualFunc(whole, parts, sameBits) {
				t.Errorf("%s of a whole vector is %v, of its parts %v", name, whole, parts)
			}
		}
	})
}

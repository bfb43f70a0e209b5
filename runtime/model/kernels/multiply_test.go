package kernels

import (
	"math"
	"testing"
)

// shape is a random one that the format can have, now and then tiny.
func shape(r interface{ IntN(int) int }, f Format) (rows, cols, tokens int) {
	rows, cols, tokens = 1+r.IntN(13), 1+r.IntN(150), 1+r.IntN(8)
	if f == Q8 {
		cols = blockCols * (1 + r.IntN(6))
	}
	return rows, cols, tokens
}

// exact is the product in float64 of what the kernel is given, and the sum of the
// products' magnitudes, of which a kernel may be some float32 roundings off.
func exact(w *Matrix, row int, in *Input, x []float32, token int) (product, magnitude float64) {
	wide, activation := make([]float32, w.Cols), make([]float32, w.Cols)
	Row(wide, w, row)
	copy(activation, x[token*w.Cols:])
	if w.Format == Q8 {
		for i := range activation {
			at := token*w.Cols + i
			activation[i] = float32(in.ints[at]) * in.scales[at/blockCols]
		}
	}
	for i, a := range activation {
		p := float64(wide[i]) * float64(a)
		product += p
		magnitude += math.Abs(p)
	}
	return product, magnitude
}

func TestMultiplyIsTheProduct(t *testing.T) {
	r := random(1)
	for _, f := range formats {
		for range 200 {
			rows, cols, tokens := shape(r, f)
			w, x := matrix(t, f, rows, cols, normal(r, rows*cols)), normal(r, tokens*cols)
			var in Input
			in.Set(f, x, tokens, cols)
			out := make([]float32, tokens*rows)
			Multiply(out, rows, w, &in, 0, rows)
			for token := range tokens {
				for row := range rows {
					want, magnitude := exact(w, row, &in, x, token)
					if got := float64(out[token*rows+row]); math.Abs(got-want) > 1e-6*magnitude+1e-30 {
						t.Fatalf("%v [%d, %d]: row %d times token %d is %v, want %v", f, rows, cols, row, token, got, want)
					}
				}
			}
		}
	}
}

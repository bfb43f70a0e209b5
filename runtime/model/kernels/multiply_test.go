package kernels

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// shape is a random one that the format can have, now and then tiny.
func shape(r *rand.Rand, f Format) (rows, cols, tokens int) {
	rows, cols, tokens = 1+r.IntN(13), 1+r.IntN(150), 1+r.IntN(8)
	if f == Q8 {
		cols = blockCols * (1 + r.IntN(6))
	}
	return rows, cols, tokens
}

// product multiplies a whole matrix with all tokens.
func product(w *Matrix, in *Input) []float32 {
	out := make([]float32, in.tokens*w.Rows)
	Multiply(out, w.Rows, w, in, 0, w.Rows)
	return out
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
	each(t, func(t *testing.T) {
		r := random(1)
		for _, f := range formats {
			for range 200 {
				rows, cols, tokens := shape(r, f)
				w, x := matrix(t, f, rows, cols, normal(r, rows*cols)), normal(r, tokens*cols)
				var in Input
				in.Set(f, x, tokens, cols)
				out := product(w, &in)
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
	})
}

// column is the column that the sum j takes at its nth turn.
func column(f Format, j, n int) int {
	if f == BF16 {
		return n/2*16 + 2*j + n%2
	}
	return 8*n + j
}

// documented is the product of a row and a token as the package's documentation says that
// it is summed, with steps of the chosen implementation.
func documented(w *Matrix, row int, in *Input, x []float32, token int) float32 {
	var s lanes
	if w.Format == Q8 {
		data, cols := w.row(row), w.Cols
		for b := range cols / blockCols {
			block := data[b*blockBytes:]
			d, scale := tensor.Half(binary.LittleEndian.Uint16(block)), in.scales[(token*cols)/blockCols+b]
			for j := range s {
				var sum int
				for i := 4 * j; i < 4*j+4; i++ {
					sum += int(int8(block[2+i])) * int(in.ints[token*cols+b*blockCols+i])
				}
				s[j] = step(scale, d*float32(sum), s[j])
			}
		}
		return s.total()
	}
	wide, x := make([]float32, w.Cols), x[token*w.Cols:]
	Row(wide, w, row)
	whole := w.Cols &^ 7
	if w.Format == BF16 {
		whole = w.Cols &^ 15
	}
	for j := range s {
		for n := range whole / 8 {
			c := column(w.Format, j, n)
			s[j] = step(wide[c], x[c], s[j])
		}
	}
	total := s.total()
	for c := whole; c < w.Cols; c++ {
		total += float32(wide[c] * x[c])
	}
	return total
}

// Every product has the bits that the documentation's order gives, for numbers of any
// size, NaNs, infinities and denormals among them: bits drawn at random.
func TestMultiplyKeepsTheDocumentedOrder(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(2)
		for _, f := range formats {
			for n := range 150 {
				rows, cols, tokens := shape(r, f)
				w, x := matrix(t, f, rows, cols, normal(r, rows*cols)), normal(r, tokens*cols)
				switch n % 3 {
				case 1:
					for i := range w.Data {
						w.Data[i] = byte(r.Uint32())
					}
				case 2:
					for range 3 {
						x[r.IntN(len(x))] = math.Float32frombits(r.Uint32())
						x[r.IntN(len(x))] = []float32{float32(math.NaN()), float32(math.Inf(1)), 1e-42, -3e38, 0}[r.IntN(5)]
					}
				}
				checkDocumented(t, w, x, tokens)
			}
		}
	})
}

func checkDocumented(t *testing.T, w *Matrix, x []float32, tokens int) {
	t.Helper()
	var in Input
	in.Set(w.Format, x, tokens, w.Cols)
	out := product(w, &in)
	for token := range tokens {
		for row := range w.Rows {
			want := documented(w, row, &in, x, token)
			if got := out[token*w.Rows+row]; !sameBits(got, want) {
				t.Fatalf("%v [%d, %d]: row %d times token %d of %d is %v, want %v", w.Format, w.Rows, w.Cols, row, token, tokens, got, want)
			}
		}
	}
}

// A product has the same bits for a token alone and among others, and for a row alone and
// with others; nothing but what is asked for is written.
func TestMultiplyDoesNotDependOnTheBatch(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(3)
		for _, f := range formats {
			for range 40 {
				rows, cols, tokens := shape(r, f)
				tokens, rows = tokens+r.IntN(30), rows+r.IntN(100)
				w, x := matrix(t, f, rows, cols, normal(r, rows*cols)), normal(r, tokens*cols)
				var in, alone Input
				in.Set(f, x, tokens, cols)
				all := product(w, &in)
				from := r.IntN(rows + 1)
				to := from + r.IntN(rows-from+1)
				checkPart(t, all, w, &in, rows+r.IntN(3), from, to)
				token := r.IntN(tokens)
				alone.Set(f, x[token*cols:][:cols], 1, cols)
				if got := product(w, &alone); !slices.EqualFunc(got, all[token*rows:][:rows], sameBits) {
					t.Fatalf("%v [%d, %d]: token %d of %d alone is %v, with the others %v", f, rows, cols, token, tokens, got, all[token*rows:][:rows])
				}
			}
		}
	})
}

// checkPart asks for some rows and compares them with those of all.
func checkPart(t *testing.T, all []float32, w *Matrix, in *Input, ldo, from, to int) {
	t.Helper()
	const untouched = -7.25
	part := slices.Repeat([]float32{untouched}, in.tokens*ldo)
	Multiply(part, ldo, w, in, from, to)
	for i, got := range part {
		token, row := i/ldo, i%ldo
		want := float32(untouched)
		if row >= from && row < to {
			want = all[token*w.Rows+row]
		}
		if !sameBits(got, want) {
			t.Fatalf("%v [%d, %d], rows %d to %d of %d tokens: row %d of token %d is %v, want %v", w.Format, w.Rows, w.Cols, from, to, in.tokens, row, token, got, want)
		}
	}
}

// Matrices larger than a panel: all rows at once are what each is alone.
func TestMultiplyOfManyRows(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(4)
		for _, f := range formats {
			const rows, cols = 411, 640
			w, x := matrix(t, f, rows, cols, normal(r, rows*cols)), normal(r, 9*cols)
			for _, tokens := range []int{1, 4, 9} {
				var in Input
				in.Set(f, x[:tokens*cols], tokens, cols)
				alone := make([]float32, tokens*rows)
				for row := range rows {
					Multiply(alone, rows, w, &in, row, row+1)
				}
				if all := product(w, &in); !slices.EqualFunc(all, alone, sameBits) {
					t.Errorf("%v: %d rows at once with %d tokens differ from one by one", f, rows, tokens)
				}
			}
		}
	})
}

// FuzzMultiply holds the assembly to the documented order with whatever bytes.
func FuzzMultiply(f *testing.F) {
	f.Add(uint8(3), uint8(5), uint16(40), uint8(4), []byte("weights and activations"))
	f.Add(uint8(4), uint8(4), uint16(64), uint8(3), []byte{0x7c, 0x80, 0x7f, 0xff})
	f.Fuzz(func(t *testing.T, format, rows uint8, cols uint16, tokens uint8, data []byte) {
		w := Matrix{Format: F32 + Format(format%4), Rows: 1 + int(rows%9), Cols: 1 + int(cols%200)}
		if w.Format == Q8 {
			w.Cols = blockCols * (1 + w.Cols/blockCols)
		}
		if len(data) == 0 {
			data = []byte{0}
		}
		w.Data = make([]byte, w.Rows*w.Format.rowBytes(w.Cols))
		for i := range w.Data {
			w.Data[i] = data[i%len(data)] + byte(i/len(data))
		}
		n := 1 + int(tokens%7)
		x := make([]float32, n*w.Cols)
		for i := range x {
			var word [4]byte
			for j := range word {
				word[j] = data[(4*i+j)%len(data)] ^ byte(i)
			}
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(word[:]))
		}
		checkDocumented(t, &w, x, n)
	})
}

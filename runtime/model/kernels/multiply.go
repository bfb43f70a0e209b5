package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Multiply sets out[t*ldo + r] for the rows r of from..to (not including to) and every
// token t of the input to row r times the token's activation, and nothing else of out.
// The bits of a product depend on the row and the activation alone; see the package's
// documentation. Different goroutines may do different rows.
//
// Rows are done four at a time, so that to - from is best a multiple of four.
func Multiply(out []float32, ldo int, w *Matrix, in *Input, from, to int) {
	if err := w.check(); err != nil {
		panic("kernels: " + err.Error())
	}
	if w.Format != in.format || w.Cols != in.cols {
		panic(fmt.Sprintf("kernels: %v matrix [%d, %d] times an input for %v of [%d, %d]", w.Format, w.Rows, w.Cols, in.format, in.tokens, in.cols))
	}
	if from < 0 || from > to || to > w.Rows {
		panic(fmt.Sprintf("kernels: rows %d to %d of %d", from, to, w.Rows))
	}
	if from == to || in.tokens == 0 {
		return
	}
	if ldo < to || len(out) < (in.tokens-1)*ldo+to {
		panic(fmt.Sprintf("kernels: rows to %d of %d tokens into %d numbers, %d apart", to, in.tokens, len(out), ldo))
	}
	multiplyPlain(out, ldo, w, in, from, to)
}

// multiplyPlain widens each row once and takes it to the tokens one after the other.
func multiplyPlain(out []float32, ldo int, w *Matrix, in *Input, from, to int) {
	if w.Format == Q8 {
		multiplyBlocks(out, ldo, w, in, from, to)
		return
	}
	whole := w.Format.whole(w.Cols)
	natural, row := make([]float32, w.Cols), make([]float32, w.Cols)
	for r := from; r < to; r++ {
		widen(natural, w.Format, w.row(r))
		copy(row, natural)
		if w.Format == BF16 {
			apart(row, natural)
		}
		for t := range in.tokens {
			out[t*ldo+r] = dotPlain(row, in.floats[t*w.Cols:][:w.Cols], whole)
		}
	}
}

// lanes are the eight sums.
type lanes [8]float32

// total adds them in the order that all kernels have.
func (s *lanes) total() float32 {
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// dotPlain adds the first whole products, a multiple of eight, in eight sums, the others
// behind them. Products are converted so that no compiler joins them with the addition.
func dotPlain(a, b []float32, whole int) float32 {
	var s lanes
	b = b[:len(a)]
	for i := 0; i < whole; i += 8 {
		x, y := a[i:i+8:i+8], b[i:i+8:i+8]
		s[0] += float32(x[0] * y[0])
		s[1] += float32(x[1] * y[1])
		s[2] += float32(x[2] * y[2])
		s[3] += float32(x[3] * y[3])
		s[4] += float32(x[4] * y[4])
		s[5] += float32(x[5] * y[5])
		s[6] += float32(x[6] * y[6])
		s[7] += float32(x[7] * y[7])
	}
	total := s.total()
	for i := whole; i < len(a); i++ {
		total += float32(a[i] * b[i])
	}
	return total
}

// multiplyBlocks is multiplyPlain of Q8.
func multiplyBlocks(out []float32, ldo int, w *Matrix, in *Input, from, to int) {
	blocks := w.Cols / blockCols
	factors := make([]float32, blocks)
	for r := from; r < to; r++ {
		row := w.row(r)
		for b := range factors {
			factors[b] = fromHalf(binary.LittleEndian.Uint16(row[b*blockBytes:]))
		}
		for t := range in.tokens {
			out[t*ldo+r] = dotBlocks(row, factors, in.ints[t*w.Cols:][:w.Cols], in.scales[t*blocks:][:blocks])
		}
	}
}

func dotBlocks(row []byte, factors []float32, ints []int8, scales []float32) float32 {
	var s lanes
	for b, d := range factors {
		scale := d * scales[b]
		q, x := row[b*blockBytes+2:][:blockCols], ints[b*blockCols:][:blockCols]
		for j := range s {
			q, x := q[4*j:4*j+4:4*j+4], x[4*j:4*j+4:4*j+4]
			sum := int32(int8(q[0]))*int32(x[0]) + int32(int8(q[1]))*int32(x[1]) + int32(int8(q[2]))*int32(x[2]) + int32(int8(q[3]))*int32(x[3])
			s[j] += float32(scale * float32(sum))
		}
	}
	return s.total()
}

// Dot is the sum of the products of two vectors of one length, in the order that
// [Multiply] has for F32.
func Dot(a, b []float32) float32 {
	if len(a) != len(b) {
		panic(fmt.Sprintf("kernels: Dot of %d and %d numbers", len(a), len(b)))
	}
	return dotPlain(a, b, F32.whole(len(a)))
}

// AddScaled adds a·x to y, which has its length.
func AddScaled(y []float32, a float32, x []float32) {
	if len(y) != len(x) {
		panic(fmt.Sprintf("kernels: AddScaled of %d numbers to %d", len(x), len(y)))
	}
	for i, v := range x {
		y[i] += float32(a * v)
	}
}

// RMSNorm sets out to x / √(mean of squares + eps) · weight, the squares added in Dot's
// order. All three have one length; out may be x.
func RMSNorm(out, x, weight []float32, eps float64) {
	if len(out) != len(x) || len(weight) != len(x) {
		panic(fmt.Sprintf("kernels: RMSNorm of %d numbers with %d weights into %d", len(x), len(weight), len(out)))
	}
	mean := float64(Dot(x, x)) / float64(len(x))
	scale := float32(1 / math.Sqrt(mean+eps))
	for i, v := range x {
		out[i] = v * scale * weight[i]
	}
}

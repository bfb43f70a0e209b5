package kernels

import (
	"encoding/binary"

	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

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
			apartPlain(row, natural)
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
			factors[b] = tensor.Half(binary.LittleEndian.Uint16(row[b*blockBytes:]))
		}
		for t := range in.tokens {
			out[t*ldo+r] = dotBlocks(row, factors, in.ints[t*w.Cols:][:w.Cols], in.scales[t*blocks:][:blocks])
		}
	}
}

func dotBlocks(row []byte, factors []float32, ints []int8, scales []float32) float32 {
	var s lanes
	for b, d := range factors {
		scale := scales[b]
		q, x := row[b*blockBytes+2:][:blockCols], ints[b*blockCols:][:blockCols]
		for j := range s {
			q, x := q[4*j:4*j+4:4*j+4], x[4*j:4*j+4:4*j+4]
			sum := int32(int8(q[0]))*int32(x[0]) + int32(int8(q[1]))*int32(x[1]) + int32(int8(q[2]))*int32(x[2]) + int32(int8(q[3]))*int32(x[3])
			s[j] += float32(scale * float32(d*float32(sum)))
		}
	}
	return s.total()
}

package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Quantize is the values, one or more rows whose length is a multiple of 32, as Q8:
// what GGML's quantize_row_q8_0_ref and Python's gguf make of them, bit for bit. A
// block's d is its largest magnitude / 127, its q are the numbers divided by d and
// rounded, halves away from zero. A block of magnitudes below 3.8e-37 is zeros. One of magnitudes from 8.3e6 on has an infinite
// d, as d is an F16; one with a NaN or an infinity has d NaN, and q 0.
func Quantize(values []float32) []byte {
	if len(values)%blockCols != 0 {
		panic(fmt.Sprintf("kernels: Quantize of %d numbers, expected a multiple of %d", len(values), blockCols))
	}
	out := make([]byte, len(values)/blockCols*blockBytes)
	for block := out; len(block) > 0; block, values = block[blockBytes:], values[blockCols:] {
		var q [blockCols]int8
		binary.LittleEndian.PutUint16(block, toHalf(quantizeBlock(&q, values)))
		for i, v := range q {
			block[2+i] = byte(v)
		}
	}
	return out
}

// quantizeBlock sets q for 32 values and gives d, before it becomes an F16.
func quantizeBlock(q *[blockCols]int8, values []float32) float32 {
	values = values[:blockCols]
	var top float32
	for _, v := range values {
		if v-v != 0 { // a NaN or an infinity
			*q = [blockCols]int8{}
			return float32(math.NaN())
		}
		top = max(top, float32(math.Abs(float64(v))))
	}
	d := top / 127
	inverse := 1 / d
	if inverse > math.MaxFloat32 {
		*q = [blockCols]int8{}
		return 0
	}
	for i, v := range values {
		q[i] = int8(roundAway(v * inverse))
	}
	return d
}

// roundAway is the nearest integer, of two the one farther from zero: adding a half and
// cutting off rounds 0.49999997 to 1, which this must not.
func roundAway(x float32) int32 {
	n := int32(x)
	switch rest := x - float32(n); {
	case rest >= 0.5:
		return n + 1
	case rest <= -0.5:
		return n - 1
	}
	return n
}

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
		d, inverse := factor(values[:blockCols])
		binary.LittleEndian.PutUint16(block, toHalf(d))
		if inverse == 0 {
			continue
		}
		for i, v := range values[:blockCols] {
			block[2+i] = byte(roundAway(float32(v * inverse)))
		}
	}
	return out
}

// factor is a block's d before it becomes an F16, and what its numbers are multiplied
// with: 0 where all q are 0.
func factor(block []float32) (d, inverse float32) {
	const infinity = 255 << 23 // magnitudes are in the order of their bits
	var top uint32
	for _, v := range block {
		top = max(top, math.Float32bits(v)&^(1<<31))
	}
	if top >= infinity { // or a NaN
		return float32(math.NaN()), 0
	}
	d = math.Float32frombits(top) / 127
	if inverse = 1 / d; inverse > math.MaxFloat32 {
		return 0, 0
	}
	return d, inverse
}

// roundAway is the nearest integer, of two the one farther from zero. What is added is
// the largest number below a half: the sum of it and a half is rounded up to one, that of
// it and itself stays below.
func roundAway(x float32) int32 {
	const belowHalf = 0x3effffff
	return int32(x + math.Float32frombits(belowHalf|math.Float32bits(x)&(1<<31)))
}

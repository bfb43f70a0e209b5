package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Encode is the values in a format: to F16 and BF16 rounded to the nearest, of two the
// one with an even fraction, and beyond the largest an infinity; to Q8 as [Quantize]. A
// NaN stays one.
func Encode(f Format, values []float32) []byte {
	switch f {
	case F32:
		out := make([]byte, 4*len(values))
		for i, v := range values {
			binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v))
		}
		return out
	case F16:
		out := make([]byte, 2*len(values))
		for i, v := range values {
			binary.LittleEndian.PutUint16(out[2*i:], toHalf(v))
		}
		return out
	case BF16:
		out := make([]byte, 2*len(values))
		for i, v := range values {
			binary.LittleEndian.PutUint16(out[2*i:], toBF16(v))
		}
		return out
	case Q8:
		return Quantize(values)
	}
	panic(fmt.Sprintf("kernels: Encode as %v", f))
}

// Beyond finds a finite number that would become an infinity in a format, from half a step
// above the largest number on, or, of Q8, from 127 times that of its factor. It gives 0 where
// there is none.
func Beyond(f Format, values []float32) float32 {
	limit, known := map[Format]float32{F16: 65520, BF16: 0x1.FFp127, Q8: 127 * 65520}[f]
	if !known {
		return 0
	}
	for _, v := range values {
		if v >= limit && v <= math.MaxFloat32 || v <= -limit && v >= -math.MaxFloat32 {
			return v
		}
	}
	return 0
}

// RoundBF16 rounds the values to BF16, as [Encode] does.
func RoundBF16(values []float32) {
	for i, v := range values {
		values[i] = math.Float32frombits(uint32(toBF16(v)) << 16)
	}
}

func toBF16(x float32) uint16 {
	bits := math.Float32bits(x)
	if x != x {
		return uint16(bits>>16) | 0x40 // quiet, and not what rounding could make an infinity of
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

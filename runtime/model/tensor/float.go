package tensor

import (
	"encoding/binary"
	"math"
)

// Float32 has t's numbers in memory of their own.
func (t Tensor) Float32() []float32 {
	out := make([]float32, t.Len())
	t.Read(out)
	return out
}

// Read sets out, Len numbers, to t's.
func (t Tensor) Read(out []float32) {
	out, data := out[:t.Len()], t.Data
	switch t.DType {
	case F32:
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	case F16:
		for i := range out {
			out[i] = half(data[2*i:])
		}
	case BF16:
		for i := range out {
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(data[2*i:])) << 16)
		}
	default:
		t.readBlocks(out)
	}
}

// readBlocks reads the dtypes whose numbers lie in blocks.
func (t Tensor) readBlocks(out []float32) {
	f, data := formats[t.DType], t.Data
	for ; len(data) > 0; out, data = out[f.values:], data[f.bytes:] {
		block, values := data[:f.bytes], out[:f.values]
		switch t.DType {
		case Q8_0:
			d := half(block)
			for i, q := range block[2:] {
				values[i] = d * float32(int8(q))
			}
		case Q4_0:
			d := half(block)
			nibbles(values, block[2:], func(q float32) float32 { return d * (q - 8) })
		case Q4_1:
			d, m := half(block), half(block[2:])
			nibbles(values, block[4:], func(q float32) float32 { return d*q + m })
		}
	}
}

// nibbles sets the first half of values from the bytes' low halves, the second from
// the high ones.
func nibbles(values []float32, packed []byte, value func(q float32) float32) {
	for i, b := range packed {
		values[i], values[i+len(packed)] = value(float32(b&15)), value(float32(b>>4))
	}
}

// half is the F16 at the start of b.
func half(b []byte) float32 { return Half(binary.LittleEndian.Uint16(b)) }

// Half is the F16 as a float32, exactly.
func Half(h uint16) float32 {
	sign, exponent, fraction := uint32(h)>>15<<31, uint32(h)>>10&31, uint32(h)&1023
	switch exponent {
	case 0: // the fraction alone, in units of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	case 31: // infinities, and NaNs with what they carry
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

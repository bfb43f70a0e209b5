package kernels

import "math"

// toHalf is the F16 nearest to x, of two the one with an even fraction; beyond the
// largest, an infinity.
func toHalf(x float32) uint16 {
	bits := math.Float32bits(x)
	sign, magnitude := uint16(bits>>16&0x8000), bits&^(1<<31)
	switch {
	case magnitude > 255<<23: // a NaN; quiet, with the upper part of what it carries
		return sign | 0x7e00 | uint16(magnitude>>13&0x1ff)
	case magnitude >= (127+16)<<23: // from 2^16 on
		return sign | 0x7c00
	case magnitude < (127-14)<<23:
		// In units of 2^-24, which is what adding 1/2 leaves of a float32's fraction.
		return sign | uint16(math.Float32bits(math.Float32frombits(magnitude)+0.5)-math.Float32bits(0.5))
	}
	// Half of what is cut off, and one more where the last bit kept is odd. A carry goes
	// into the exponent, up to the infinity.
	magnitude += 0xfff + magnitude>>13&1
	return sign | uint16((magnitude-(127-15)<<23)>>13)
}

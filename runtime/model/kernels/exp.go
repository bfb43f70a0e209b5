package kernels

import (
	"fmt"
	"math"
)

// The exponential, as in Cephes' expf: x = n·ln 2 + r with |r| <= ln 2 / 2, and
// e^x = 2^n · (1 + r + r²·P(r)). ln 2 is cut in two so that n·ln 2 is exact enough.
const (
	log2e    = float32(1.44269504088896341)
	ln2High  = float32(0.693359375)
	ln2Low   = float32(-2.12194440e-4)
	expP0    = float32(1.9875691500e-4)
	expP1    = float32(1.3981999507e-3)
	expP2    = float32(8.3334519073e-3)
	expP3    = float32(4.1665795894e-2)
	expP4    = float32(1.6666665459e-1)
	expP5    = float32(5.0000001201e-1)
	expLeast = float32(-104) // e^x rounds to 0 from here down
	expMost  = float32(89)   // and is infinite from here up
	// Added to a number below 2^22 and taken away again, it leaves the nearest integer.
	roundingBias = float32(3 << 22)
)

// expPlain is e^x. The kernels do the same, but for products that they do not round
// before they add them.
func expPlain(x float32) float32 {
	if x != x {
		return x
	}
	x = min(max(x, expLeast), expMost)
	n := float32(x*log2e) + roundingBias - roundingBias
	r := x - float32(n*ln2High)
	r -= float32(n * ln2Low)
	p := expP0
	for _, c := range [...]float32{expP1, expP2, expP3, expP4, expP5} {
		p = float32(p*r) + c
	}
	p = float32(p*float32(r*r)) + r + 1
	// 2^n by two factors: one alone cannot be had for the denormal and infinite ends.
	half := int32(n) >> 1
	return p * power(half) * power(int32(n)-half)
}

// power is 2^n, n from -126 to 127.
func power(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// Exp sets each number to e to it: within 2 units in the last place, denormal results
// and infinities included. A NaN stays one.
func Exp(x []float32) { chosen.exp(x) }

func expEach(x []float32) {
	for i, v := range x {
		x[i] = expPlain(v)
	}
}

// Softmax sets x to e^x over the sum of them all; nothing where x is empty. One NaN, or
// an infinity above zero, makes NaNs of all.
func Softmax(x []float32) {
	if len(x) > 0 {
		chosen.softmax(x)
	}
}

func softmaxPlain(x []float32) {
	top := largest(x)
	var s lanes
	for i, v := range x {
		x[i] = expPlain(v - top)
		s[i&7] += x[i]
	}
	share := 1 / s.total()
	for i := range x {
		x[i] *= share
	}
}

// SiLUMul sets gate to gate / (1 + e^-gate) · up.
func SiLUMul(gate, up []float32) {
	if len(gate) != len(up) {
		panic(fmt.Sprintf("kernels: SiLUMul of %d and %d numbers", len(gate), len(up)))
	}
	chosen.siluMul(gate, up)
}

func siluMulPlain(gate, up []float32) {
	for i, v := range gate {
		gate[i] = v / (1 + expPlain(-v)) * up[i]
	}
}

// largest is the greatest of x; a NaN where one is in it.
func largest(x []float32) float32 {
	top := float32(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	return top
}

package kernels

import (
	"fmt"
	"math"
)

// Dot is the sum of the products of two vectors of one length, in the order that
// [Multiply] has for F32.
func Dot(a, b []float32) float32 {
	if len(a) != len(b) {
		panic(fmt.Sprintf("kernels: Dot of %d and %d numbers", len(a), len(b)))
	}
	return chosen.dot(a, b)
}

// AddScaled adds a·x to y, which has its length.
func AddScaled(y []float32, a float32, x []float32) {
	if len(y) != len(x) {
		panic(fmt.Sprintf("kernels: AddScaled of %d numbers to %d", len(x), len(y)))
	}
	chosen.addScaled(y, a, x)
}

func addScaledPlain(y []float32, a float32, x []float32) {
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
	chosen.scaleMul(out, x, weight, scale)
}

func scaleMulPlain(out, x, weight []float32, scale float32) {
	for i, v := range x {
		out[i] = v * scale * weight[i]
	}
}

package kernels

import "math"

// The assembly takes eights; what is left of a vector is done in Go, or, where that would
// not give the same bits, by the assembly as a vector of eight of its own.

func dotAVX2(a, b []float32) float32 {
	var sum float32
	whole := len(a) &^ 7
	if whole > 0 {
		sum = dot(&a[0], &b[0], whole)
	}
	for i := whole; i < len(a); i++ {
		sum += float32(a[i] * b[i])
	}
	return sum
}

func addScaledAVX2(y []float32, a float32, x []float32) {
	whole := len(y) &^ 7
	if whole > 0 {
		addScaled(&y[0], a, &x[0], whole)
	}
	if rest := y[whole:]; len(rest) > 0 {
		var yy, xx [8]float32
		copy(yy[:], rest)
		copy(xx[:], x[whole:])
		addScaled(&yy[0], a, &xx[0], 8)
		copy(rest, yy[:])
	}
}

func scaleMulAVX2(out, x, weight []float32, scale float32) {
	whole := len(out) &^ 7
	if whole > 0 {
		scaleMul(&out[0], &x[0], &weight[0], scale, whole)
	}
	scaleMulPlain(out[whole:], x[whole:], weight[whole:], scale)
}

func expAVX2(x []float32) {
	whole := len(x) &^ 7
	if whole > 0 {
		exp(&x[0], whole)
	}
	if rest := x[whole:]; len(rest) > 0 {
		var e [8]float32
		copy(e[:], rest)
		exp(&e[0], 8)
		copy(rest, e[:])
	}
}

func siluMulAVX2(gate, up []float32) {
	whole := len(gate) &^ 7
	if whole > 0 {
		siluMul(&gate[0], &up[0], whole)
	}
	if rest := gate[whole:]; len(rest) > 0 {
		var g, u [8]float32
		copy(g[:], rest)
		copy(u[:], up[whole:])
		siluMul(&g[0], &u[0], 8)
		copy(rest, g[:])
	}
}

// softmaxAVX2 fills the last eight up with what adds nothing. A NaN that the maximum does
// not see is in the sum.
func softmaxAVX2(x []float32) {
	whole := len(x) &^ 7
	var sums, tops, rest lanes
	for i := range tops {
		tops[i], rest[i] = float32(math.Inf(-1)), float32(math.Inf(-1))
	}
	copy(rest[:], x[whole:])
	if whole > 0 {
		maxima(&tops[0], &x[0], whole)
	}
	maxima(&tops[0], &rest[0], 8)
	top := largest(tops[:])
	if whole > 0 {
		expSum(&sums[0], &x[0], top, whole)
	}
	if whole < len(x) {
		expSum(&sums[0], &rest[0], top, 8)
		copy(x[whole:], rest[:])
	}
	share := 1 / sums.total()
	if whole > 0 {
		scaled(&x[0], &x[0], share, whole)
	}
	for i := whole; i < len(x); i++ {
		x[i] *= share
	}
}

func apartAVX2(dst, src []float32) {
	whole := len(src) &^ 15
	if whole > 0 {
		apart16(&dst[0], &src[0], whole)
	}
	copy(dst[whole:], src[whole:])
}

func quantizeInputAVX2(ints []int8, scales, x []float32) {
	quantizeBlocks(&ints[0], &scales[0], &x[0], len(x)/blockCols)
}

package kernels

// implementation is one way to compute everything; see the exported functions.
type implementation struct {
	name          string
	multiply      func(out []float32, ldo int, w *Matrix, in *Input, from, to int)
	dot           func(a, b []float32) float32
	addScaled     func(y []float32, a float32, x []float32)
	scaleMul      func(out, x, weight []float32, scale float32)
	exp           func(x []float32)
	softmax       func(x []float32)
	siluMul       func(gate, up []float32)
	apart         func(dst, src []float32)
	quantizeInput func(ints []int8, scales, x []float32)
	attend        func(a *Attention, out, q []float32, ld, tokens, heads, first int)
}

// plain is Go alone: everywhere, and the twin that assembly is compared with.
var plain = implementation{
	name:          "go",
	multiply:      multiplyPlain,
	dot:           func(a, b []float32) float32 { return dotPlain(a, b, F32.whole(len(a))) },
	addScaled:     addScaledPlain,
	scaleMul:      scaleMulPlain,
	exp:           expEach,
	softmax:       softmaxPlain,
	siluMul:       siluMulPlain,
	apart:         apartPlain,
	quantizeInput: quantizeInputPlain,
	attend:        attendPlain,
}

// chosen is what the exported functions use.
var chosen = choose()

// Implementation is the name of the one chosen: avx2, or go for the plain loops.
func Implementation() string { return chosen.name }

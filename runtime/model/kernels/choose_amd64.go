package kernels

import "golang.org/x/sys/cpu"

//go:generate go -C avogen run .

// avx2 is the assembly.
var avx2 = implementation{
	name:          "avx2",
	multiply:      multiplyAVX2,
	dot:           dotAVX2,
	addScaled:     addScaledAVX2,
	scaleMul:      scaleMulAVX2,
	exp:           expAVX2,
	softmax:       softmaxAVX2,
	siluMul:       siluMulAVX2,
	apart:         apartAVX2,
	quantizeInput: quantizeInputAVX2,
	attend:        attendAVX2,
}

func hasAVX2() bool { return cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C }

func choose() implementation {
	if hasAVX2() {
		return avx2
	}
	return plain
}

package main

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// apart emits the order that BF16's tiles want.
func apart(c *build.Context) {
	function(c, "apart16", "func(dst, src *float32, n int)", "Of every 16 numbers first the even ones, then the odd ones; n a multiple of 16 and above 0.")
	dst, src, n := load(c, "dst"), load(c, "src"), load(c, "n")
	c.Label("sixteen")
	a, b, v := c.YMM(), c.YMM(), c.YMM()
	c.VMOVUPS(operand.Mem{Base: src}, a)
	c.VMOVUPS(operand.Mem{Base: src, Disp: 32}, b)
	for i, pick := range []uint8{0x88, 0xdd} { // the even, the odd ones of each half
		c.VSHUFPS(operand.U8(pick), b, a, v)
		c.VPERMPD(operand.U8(0xd8), v, v)
		c.VMOVUPS(v, operand.Mem{Base: dst, Disp: 32 * i})
	}
	c.ADDQ(operand.Imm(64), src)
	c.ADDQ(operand.Imm(64), dst)
	c.SUBQ(operand.Imm(16), n)
	c.JNZ(operand.LabelRef("sixteen"))
	end(c)
}

// quantize emits the blocks of Q8's activations.
func quantize(c *build.Context) {
	function(c, "quantizeBlocks", "func(ints *int8, scales, x *float32, blocks int)", "Blocks of 32 numbers, as quantizeInputPlain makes them; blocks above 0.")
	ints, scales, x, blocks := load(c, "ints"), load(c, "scales"), load(c, "x"), load(c, "blocks")
	order := c.StaticGlobal("order")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, from := range []uint32{0, 4, 1, 5, 2, 6, 3, 7} {
		c.AddDatum(4*i, operand.U32(from))
	}
	d, packed := c.XMM(), c.YMM()

	c.Label("block")
	c.VPXOR(packed, packed, packed)
	v := make([]reg.VecVirtual, 4)
	for i := range v {
		v[i] = c.YMM()
		c.VMOVUPS(operand.Mem{Base: x, Disp: 32 * i}, v[i])
	}
	unfinite(c, v, d)
	c.JNE(operand.LabelRef("store"))
	inverse, bits := c.XMM(), c.GP32()
	c.VMOVAPS(magnitude(c, v), d)
	c.VDIVSS(word(c, "q127", 127), d, d)
	c.VMOVSS(word(c, "one", 1), inverse)
	c.VDIVSS(d, inverse, inverse)
	c.VMOVD(inverse, bits)
	c.CMPL(bits, operand.U32(math.Float32bits(float32(math.Inf(1)))))
	c.JEQ(operand.LabelRef("nothing"))
	pack(c, v, inverse, order, packed)

	c.Label("store")
	c.VMOVDQU(packed, operand.Mem{Base: ints})
	c.VMOVSS(d, operand.Mem{Base: scales})
	c.SUBQ(operand.I8(-128), x)
	c.ADDQ(operand.Imm(32), ints)
	c.ADDQ(operand.Imm(4), scales)
	c.DECQ(blocks)
	c.JNZ(operand.LabelRef("block"))
	end(c)

	c.Label("nothing")
	c.VXORPS(d, d, d)
	c.JMP(operand.LabelRef("store"))
}

// unfinite makes d a NaN and says not equal where one of v is a NaN or an infinity: what
// is finite, less itself, has no bit set.
func unfinite(c *build.Context, v []reg.VecVirtual, d reg.VecVirtual) {
	any, less := c.YMM(), c.YMM()
	c.VSUBPS(v[0], v[0], any)
	for _, y := range v[1:] {
		c.VSUBPS(y, y, less)
		c.VORPS(less, any, any)
	}
	c.VBROADCASTSS(word(c, "nan", float32(math.NaN())), d.AsY())
	c.VPTEST(any, any)
}

// magnitude is the largest of v's, in the lowest lane.
func magnitude(c *build.Context, v []reg.VecVirtual) reg.Register {
	all := make([]reg.VecVirtual, len(v))
	for i := range v {
		all[i] = c.YMM()
		c.VANDPS(bytesOnce(c, "unsigned", 1<<31-1), v[i], all[i])
	}
	c.VMAXPS(all[1], all[0], all[0])
	c.VMAXPS(all[3], all[2], all[2])
	c.VMAXPS(all[2], all[0], all[0])
	top, other := all[0].AsX(), c.XMM()
	c.VEXTRACTF128(operand.Imm(1), all[0], other)
	c.VMAXPS(other, top, top)
	c.VMOVHLPS(top, top, other)
	c.VMAXPS(other, top, top)
	c.VMOVSHDUP(top, other)
	c.VMAXSS(other, top, top)
	return top
}

// pack makes v's quotients bytes. The packing instructions work on halves: the order puts
// what they give right.
func pack(c *build.Context, v []reg.VecVirtual, inverse reg.VecVirtual, order operand.Mem, packed reg.VecVirtual) {
	factor, places := c.YMM(), c.YMM()
	c.VBROADCASTSS(inverse, factor)
	for i := range v {
		c.VMULPS(factor, v[i], v[i])
		c.VCVTPS2DQ(v[i], v[i])
	}
	c.VPACKSSDW(v[1], v[0], v[0])
	c.VPACKSSDW(v[3], v[2], v[2])
	c.VPACKSSWB(v[2], v[0], v[0])
	c.VMOVDQU(order, places)
	c.VPERMD(v[0], places, packed)
}

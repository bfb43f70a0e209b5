package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// function begins one that keeps nothing of its pointers.
func function(c *build.Context, name, signature, doc string) {
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.SignatureExpr(signature)
	c.Pragma("noescape")
	c.Doc(doc)
}

func load(c *build.Context, name string) reg.GPVirtual {
	r := c.GP64()
	c.Load(c.Param(name), r)
	return r
}

// broadcast is a float32 argument in all eight lanes.
func broadcast(c *build.Context, name string) reg.VecVirtual {
	x, y := c.XMM(), c.YMM()
	c.Load(c.Param(name), x)
	c.VBROADCASTSS(x, y)
	return y
}

func zeros(c *build.Context, n int) []reg.VecVirtual {
	all := make([]reg.VecVirtual, n)
	for i := range all {
		all[i] = c.YMM()
		c.VXORPS(all[i], all[i], all[i])
	}
	return all
}

// end returns to Go code, which has no use for the upper halves.
func end(c *build.Context) {
	c.VZEROUPPER()
	c.RET()
}

// totals are the sums of each of four registers' eight lanes, in the order that package
// kernels documents: ((0+1)+(2+3)) + ((4+5)+(6+7)). It uses the registers up.
func totals(c *build.Context, s []reg.VecVirtual) reg.Register {
	high := c.XMM()
	c.VHADDPS(s[1], s[0], s[0])
	c.VHADDPS(s[3], s[2], s[2])
	c.VHADDPS(s[2], s[0], s[0])
	c.VEXTRACTF128(operand.Imm(1), s[0], high)
	c.VADDPS(high, s[0].AsX(), high)
	return high
}

// bytes8 is eight copies of a 32-bit word in memory.
func bytes8(c *build.Context, name string, word uint32) operand.Mem {
	m := c.StaticGlobal(name)
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 8 {
		c.AddDatum(4*i, operand.U32(word))
	}
	return m
}

// float8 is eight copies of a float32 in memory.
func float8(c *build.Context, name string, x float32) operand.Mem {
	return bytes8(c, name, math.Float32bits(x))
}

// at is base + n·step, n from 0 to 3, where triple is 3·step.
func at(base, step, triple reg.Register, n, disp int) operand.Mem {
	switch n {
	case 0:
		return operand.Mem{Base: base, Disp: disp}
	case 3:
		return operand.Mem{Base: base, Index: triple, Scale: 1, Disp: disp}
	}
	return operand.Mem{Base: base, Index: step, Scale: uint8(n), Disp: disp}
}

func imm(n int) operand.Op {
	if n < 128 {
		return operand.U8(n)
	}
	return operand.U32(n)
}

func named(name string, tokens int) string { return fmt.Sprintf("%sx%d", name, tokens) }

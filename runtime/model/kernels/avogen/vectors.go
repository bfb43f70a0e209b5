package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// eights emits a loop over n numbers, a multiple of eight and above 0, eight at a time; i
// counts them.
func eights(c *build.Context, body func(i reg.GPVirtual)) {
	n, i := load(c, "n"), c.GP64()
	c.XORQ(i, i)
	c.Label("eight")
	body(i)
	c.ADDQ(operand.Imm(8), i)
	c.CMPQ(i, n)
	c.JLT(operand.LabelRef("eight"))
}

// element is the eight numbers from the ith on.
func element(base, i reg.GPVirtual) operand.Mem {
	return operand.Mem{Base: base, Index: i, Scale: 4}
}

// vectors emits what is done to vectors, but for exponentials. n is a multiple of eight
// and above 0 in all of them.
func vectors(c *build.Context) {
	function(c, "dot", "func(a, b *float32, n int) float32", "The sum of products.")
	a, b := load(c, "a"), load(c, "b")
	s := zeros(c, 1)
	eights(c, func(i reg.GPVirtual) {
		v := c.YMM()
		c.VMOVUPS(element(a, i), v)
		c.VFMADD231PS(element(b, i), v, s[0])
	})
	// The same register four times: one result is wanted.
	zero := zeros(c, 3)
	c.Store(totals(c, append(s, zero...)), c.ReturnIndex(0))
	end(c)

	function(c, "addScaled", "func(y *float32, a float32, x *float32, n int)", "y += a·x.")
	y, x, factor := load(c, "y"), load(c, "x"), broadcast(c, "a")
	eights(c, func(i reg.GPVirtual) {
		v := c.YMM()
		c.VMOVUPS(element(y, i), v)
		c.VFMADD231PS(element(x, i), factor, v)
		c.VMOVUPS(v, element(y, i))
	})
	end(c)

	function(c, "scaleMul", "func(out, x, weight *float32, scale float32, n int)", "out = x·scale·weight.")
	out, x, weight, scale := load(c, "out"), load(c, "x"), load(c, "weight"), broadcast(c, "scale")
	eights(c, func(i reg.GPVirtual) {
		v := c.YMM()
		c.VMULPS(element(x, i), scale, v)
		c.VMULPS(element(weight, i), v, v)
		c.VMOVUPS(v, element(out, i))
	})
	end(c)

	function(c, "scaled", "func(out, x *float32, scale float32, n int)", "out = x·scale.")
	out, x, scale = load(c, "out"), load(c, "x"), broadcast(c, "scale")
	eights(c, func(i reg.GPVirtual) {
		v := c.YMM()
		c.VMULPS(element(x, i), scale, v)
		c.VMOVUPS(v, element(out, i))
	})
	end(c)

	function(c, "maxima", "func(top *float32, x *float32, n int)", "The eight numbers of top become the greatest of theirs and every eighth of x; a NaN of x may be lost.")
	top, x := load(c, "top"), load(c, "x")
	greatest := c.YMM()
	c.VMOVUPS(operand.Mem{Base: top}, greatest)
	eights(c, func(i reg.GPVirtual) { c.VMAXPS(element(x, i), greatest, greatest) })
	c.VMOVUPS(greatest, operand.Mem{Base: top})
	end(c)
}

// exponential has the constants of e^x; see package kernels' exp.go.
type exponential struct {
	*build.Context
	most, least reg.VecVirtual
}

// words are constants in memory, made once.
var words = map[string]operand.Mem{}

func word(c *build.Context, name string, x float32) operand.Mem {
	m, made := words[name]
	if !made {
		m = float8(c, name, x)
		words[name] = m
	}
	return m
}

func newExponential(c *build.Context) exponential {
	e := exponential{c, c.YMM(), c.YMM()}
	c.VMOVUPS(word(c, "expMost", 89), e.most)
	c.VMOVUPS(word(c, "expLeast", -104), e.least)
	return e
}

// of makes x e^x. The second operand of a minimum or maximum is the result where one is
// a NaN, so that a NaN goes through.
func (e exponential) of(x reg.VecVirtual) {
	e.VMINPS(x, e.most, x)
	e.VMAXPS(x, e.least, x)
	n, p, square, half := e.YMM(), e.YMM(), e.YMM(), e.YMM()
	e.VMULPS(word(e.Context, "log2e", 1.44269504088896341), x, n)
	e.VROUNDPS(operand.Imm(0), n, n)
	e.VFNMADD231PS(word(e.Context, "ln2High", 0.693359375), n, x)
	e.VFNMADD231PS(word(e.Context, "ln2Low", -2.12194440e-4), n, x)
	e.VMOVUPS(word(e.Context, "expP0", 1.9875691500e-4), p)
	for _, c := range []struct {
		name string
		of   float32
	}{{"expP1", 1.3981999507e-3}, {"expP2", 8.3334519073e-3}, {"expP3", 4.1665795894e-2}, {"expP4", 1.6666665459e-1}, {"expP5", 5.0000001201e-1}} {
		e.VFMADD213PS(word(e.Context, c.name, c.of), x, p)
	}
	e.VMULPS(x, x, square)
	e.VFMADD213PS(x, square, p)
	e.VADDPS(word(e.Context, "one", 1), p, p)
	// 2^n by two factors, made as bits.
	e.VCVTPS2DQ(n, n)
	e.VPSRAD(operand.Imm(1), n, half)
	e.VPSUBD(half, n, n)
	bias := bytesOnce(e.Context, "bias", 127)
	e.VPADDD(bias, half, half)
	e.VPADDD(bias, n, n)
	e.VPSLLD(operand.Imm(23), half, half)
	e.VPSLLD(operand.Imm(23), n, n)
	e.VMULPS(half, p, p)
	e.VMULPS(n, p, x)
}

func bytesOnce(c *build.Context, name string, w uint32) operand.Mem {
	m, made := words[name]
	if !made {
		m = bytes8(c, name, w)
		words[name] = m
	}
	return m
}

// exponentials emits what has an e^x in it. n is a multiple of eight and above 0.
func exponentials(c *build.Context) {
	function(c, "exp", "func(x *float32, n int)", "x = e^x.")
	x, e := load(c, "x"), newExponential(c)
	eights(c, func(i reg.GPVirtual) {
		v := c.YMM()
		c.VMOVUPS(element(x, i), v)
		e.of(v)
		c.VMOVUPS(v, element(x, i))
	})
	end(c)

	function(c, "expSum", "func(sums, x *float32, top float32, n int)", "x = e^(x - top); the eight sums grow by theirs.")
	sums, x, top, e := load(c, "sums"), load(c, "x"), broadcast(c, "top"), newExponential(c)
	s := c.YMM()
	c.VMOVUPS(operand.Mem{Base: sums}, s)
	eights(c, func(i reg.GPVirtual) {
		v := c.YMM()
		c.VMOVUPS(element(x, i), v)
		c.VSUBPS(top, v, v)
		e.of(v)
		c.VADDPS(v, s, s)
		c.VMOVUPS(v, element(x, i))
	})
	c.VMOVUPS(s, operand.Mem{Base: sums})
	end(c)

	function(c, "siluMul", "func(gate, up *float32, n int)", "gate = gate/(1 + e^-gate) · up.")
	gate, up, e := load(c, "gate"), load(c, "up"), newExponential(c)
	eights(c, func(i reg.GPVirtual) {
		v, g := c.YMM(), c.YMM()
		c.VMOVUPS(element(gate, i), g)
		c.VXORPS(bytesOnce(c, "sign", 1<<31), g, v)
		e.of(v)
		c.VADDPS(word(c, "one", 1), v, v)
		c.VDIVPS(v, g, g)
		c.VMULPS(element(up, i), g, g)
		c.VMOVUPS(g, element(gate, i))
	})
	end(c)
}

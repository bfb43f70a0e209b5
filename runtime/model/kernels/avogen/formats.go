package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// multiply adds a row's vector times each token's to their sums.
func multiply(p *place, r int, w reg.VecVirtual, x []reg.VecVirtual) {
	for t, v := range x {
		p.VFMADD231PS(w, v, p.sums[t][r])
	}
}

// activations are eight of each token.
func activations(p *place, disp int) []reg.VecVirtual {
	x := make([]reg.VecVirtual, p.tokens)
	for t := range x {
		x[t] = p.YMM()
		p.VMOVUPS(p.token(t, disp), x[t])
	}
	return x
}

// F32: eight numbers a step.
type f32 struct{}

func (f32) name() string              { return "F32" }
func (f32) doc() string               { return "Four rows of F32 at a time; cols a multiple of 8." }
func (f32) cols() int                 { return 8 }
func (f32) sizes() (w, x int)         { return 32, 32 }
func (f32) prepare(*place)            {}
func (f f32) advance(p *place, n int) { advance(p, f, n) }

func (f32) unroll(tokens int) int {
	if tokens == 1 {
		return 2
	}
	return 1
}

func (f32) step(p *place, n int) {
	x := activations(p, 32*n)
	for r := range rows {
		w := p.YMM()
		p.VMOVUPS(p.row(r, 32*n), w)
		multiply(p, r, w, x)
	}
}

// F16: eight numbers a step, which the processor widens.
type f16 struct{}

func (f16) name() string              { return "F16" }
func (f16) doc() string               { return "Four rows of F16 at a time; cols a multiple of 8." }
func (f16) cols() int                 { return 8 }
func (f16) sizes() (w, x int)         { return 16, 32 }
func (f16) prepare(*place)            {}
func (f f16) advance(p *place, n int) { advance(p, f, n) }

func (f16) unroll(tokens int) int {
	if tokens == 1 {
		return 4
	}
	return 1
}

func (f16) step(p *place, n int) {
	x := activations(p, 32*n)
	for r := range rows {
		w := p.YMM()
		p.VCVTPH2PS(p.row(r, 16*n), w)
		multiply(p, r, w, x)
	}
}

// BF16: sixteen numbers a step, the even ones and then the odd ones: the lower and the
// upper halves of eight words.
type bf16 struct {
	tokens int
	mask   operand.Op
}

func (*bf16) name() string { return "BF16" }
func (*bf16) doc() string {
	return "Four rows of BF16 at a time; cols a multiple of 16, x with the even numbers before the odd ones."
}
func (*bf16) cols() int                 { return 16 }
func (*bf16) sizes() (w, x int)         { return 32, 64 }
func (f *bf16) advance(p *place, n int) { advance(p, f, n) }

func (*bf16) unroll(tokens int) int {
	if tokens == 1 {
		return 2
	}
	return 1
}

// prepare has the mask of the upper halves, in a register where one is left.
func (f *bf16) prepare(p *place) {
	if f.tokens == 3 {
		f.mask = bytes8(p.Context, "upper", 0xffff0000)
		return
	}
	mask := p.YMM()
	p.VPCMPEQD(mask, mask, mask)
	p.VPSLLD(operand.Imm(16), mask, mask)
	f.mask = mask
}

func (f *bf16) step(p *place, n int) {
	if f.tokens == 3 {
		f.narrow(p)
		return
	}
	even, odd := activations(p, 64*n), activations(p, 64*n+32)
	for r := range rows {
		w, v := p.YMM(), p.YMM()
		p.VMOVDQU(p.row(r, 32*n), w)
		p.VPSLLD(operand.Imm(16), w, v)
		p.VPAND(f.mask, w, w)
		multiply(p, r, v, even)
		multiply(p, r, w, odd)
	}
}

// narrow is a step with one register for weights: it loads them twice.
func (f *bf16) narrow(p *place) {
	x := activations(p, 0)
	for r := range rows {
		w := p.YMM()
		p.VMOVDQU(p.row(r, 0), w)
		p.VPSLLD(operand.Imm(16), w, w)
		multiply(p, r, w, x)
	}
	x = activations(p, 32)
	for r := range rows {
		w := p.YMM()
		p.VMOVDQU(p.row(r, 0), w)
		p.VPAND(f.mask, w, w)
		multiply(p, r, w, x)
	}
}

// Q8: a block a step. Bytes are multiplied as magnitude times signed number, which is what
// there is an instruction for: two neighbours' sum is at most 2·128·127, within 16 bits.
type q8 struct {
	ones operand.Mem // of 16 bits
}

func (*q8) name() string      { return "Q8" }
func (*q8) doc() string       { return "Four rows of Q8 at a time; cols a multiple of 32." }
func (*q8) cols() int         { return 32 }
func (*q8) sizes() (w, x int) { return 34, 32 }
func (*q8) unroll(tokens int) int {
	if tokens == 1 {
		return 2
	}
	return 1
}

func (f *q8) prepare(p *place) { f.ones = bytesOnce(p.Context, "ones16", 0x00010001) }

func (f *q8) advance(p *place, n int) {
	advance(p, f, n)
	p.ADDQ(imm(4*n), p.scales)
}

func (f *q8) step(p *place, n int) {
	x, scale := make([]reg.VecVirtual, p.tokens), make([]reg.VecVirtual, p.tokens)
	for t := range p.tokens {
		x[t], scale[t] = p.YMM(), p.YMM()
		p.VMOVDQU(p.token(t, 32*n), x[t])
		p.VBROADCASTSS(at(p.scales, p.lds, nil, t, 4*n), scale[t])
	}
	for r := range rows {
		d, w, magnitude, sum := p.YMM(), p.YMM(), p.YMM(), p.YMM()
		p.VPBROADCASTW(p.row(r, 34*n), d.AsX())
		p.VCVTPH2PS(d.AsX(), d)
		p.VMOVDQU(p.row(r, 34*n+2), w)
		p.VPABSB(w, magnitude)
		for t := range x {
			p.VPSIGNB(w, x[t], sum)
			p.VPMADDUBSW(sum, magnitude, sum)
			p.VPMADDWD(f.ones, sum, sum)
			p.VCVTDQ2PS(sum, sum)
			p.VMULPS(d, sum, sum)
			p.VFMADD231PS(scale[t], sum, p.sums[t][r])
		}
	}
}

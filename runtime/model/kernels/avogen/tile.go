package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rows is how many rows of the matrix a tile has. With up to three tokens that makes
// twelve sums of eight lanes; the other four registers hold what is multiplied. Three
// loads of activations and four of weights then feed twelve multiplications: the
// arithmetic, and not the loads, is what bounds it.
const rows = 4

// tile emits the function of one format and number of tokens.
type tile struct {
	*build.Context
	tokens int
	format format
}

// format says how a step of a row is multiplied.
type format interface {
	name() string
	doc() string
	cols() int             // of one step
	sizes() (w, x int)     // bytes that a step takes of a row, and of a token
	unroll(tokens int) int // steps of an unrolled loop; 1 for a plain one
	prepare(p *place)      // what stays the same
	step(p *place, n int)  // the nth of an unrolled loop's
	advance(p *place, n int)
}

// place is where a tile stands: all that a format's step needs.
type place struct {
	*build.Context
	tokens             int
	w, stride, stride3 reg.GPVirtual
	ahead              reg.GPVirtual // of the next four rows, where they are fetched early
	x, ldx             reg.GPVirtual
	scales, lds        reg.GPVirtual      // Q8
	sums               [][]reg.VecVirtual // [tokens][rows]
}

func (p *place) row(r, disp int) operand.Mem { return at(p.w, p.stride, p.stride3, r, disp) }

func (p *place) token(t, disp int) operand.Mem { return at(p.x, p.ldx, nil, t, disp) }

// emit writes
//
//	func tileFORMATtokens(out *float32, ldo int, w *byte, stride int, x *float32, ldx, cols, groups int)
//
// which does groups of four rows with the tokens: all sizes but cols and groups in bytes,
// cols a multiple of a step's and above 0, groups above 0.
func (k tile) emit() {
	q8 := k.format.name() == "Q8"
	parameters := "x *float32, ldx, cols, groups int"
	if q8 {
		parameters = "x *int8, ldx int, scales *float32, lds, cols, groups int"
	}
	function(k.Context, named("tile"+k.format.name(), k.tokens),
		"func(out *float32, ldo int, w *byte, stride int, "+parameters+")", k.format.doc())
	out, ldo := load(k.Context, "out"), load(k.Context, "ldo")
	base, groups := load(k.Context, "w"), load(k.Context, "groups")
	p := &place{Context: k.Context, tokens: k.tokens, w: k.GP64(), stride: load(k.Context, "stride"), stride3: k.GP64(), x: k.GP64()}
	if k.tokens > 1 {
		p.ldx = load(k.Context, "ldx")
		if q8 {
			p.lds = load(k.Context, "lds")
		}
	}
	p.ahead = k.GP64()
	k.LEAQ(operand.Mem{Base: p.stride, Index: p.stride, Scale: 2}, p.stride3)
	k.format.prepare(p)

	k.Label("group")
	k.MOVQ(base, p.w)
	k.LEAQ(operand.Mem{Base: base, Index: p.stride, Scale: rows}, base)
	k.MOVQ(base, p.ahead)
	k.Load(k.Param("x"), p.x)
	if q8 {
		p.scales = load(k.Context, "scales")
	}
	p.sums = nil
	for range k.tokens {
		p.sums = append(p.sums, zeros(k.Context, rows))
	}
	k.walk(p)
	for t, s := range p.sums {
		c := totals(k.Context, s)
		if t < 3 {
			k.VMOVUPS(c, at(out, ldo, nil, t, 0))
		}
	}
	k.ADDQ(operand.Imm(4*rows), out)
	k.DECQ(groups)
	k.JNZ(operand.LabelRef("group"))
	end(k.Context)
}

// walk goes through the columns.
func (k tile) walk(p *place) {
	n := load(k.Context, "cols")
	unroll := k.format.unroll(k.tokens)
	stride := unroll * k.format.cols()
	if unroll > 1 {
		k.SUBQ(imm(stride), n)
		k.JLT(operand.LabelRef("rest"))
		k.Label("steps")
		k.fetch(p, unroll)
		for i := range unroll {
			k.format.step(p, i)
		}
		k.format.advance(p, unroll)
		k.SUBQ(imm(stride), n)
		k.JGE(operand.LabelRef("steps"))
		k.Label("rest")
		k.ADDQ(imm(stride), n)
		k.JZ(operand.LabelRef("done"))
	}
	k.Label("step")
	if unroll == 1 {
		k.fetch(p, 1)
	}
	k.format.step(p, 0)
	k.format.advance(p, 1)
	k.SUBQ(imm(k.format.cols()), n)
	k.JNZ(operand.LabelRef("step"))
	k.Label("done")
}

// fetch asks for what stands in the next four rows. A row of a few KiB is too short for
// the processor to see by itself where the reads go. Nothing is read: behind the matrix's
// end it is without effect.
func (k tile) fetch(p *place, steps int) {
	w, _ := k.format.sizes()
	for disp := 0; disp < rows*steps*w; disp += 64 {
		k.PREFETCHT0(operand.Mem{Base: p.ahead, Disp: disp})
	}
	k.ADDQ(imm(rows*steps*w), p.ahead)
}

// advance goes n steps on.
func advance(p *place, f format, n int) {
	w, x := f.sizes()
	p.ADDQ(imm(n*w), p.w)
	p.ADDQ(imm(n*x), p.x)
}

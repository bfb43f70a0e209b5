package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// slotAddress sets place to base + slots[index + n]·stride.
func slotAddress(c *build.Context, place, base, slots reg.GPVirtual, disp int) {
	stride := load(c, "stride")
	c.MOVLQSX(operand.Mem{Base: slots, Disp: disp}, place)
	c.IMULQ(stride, place)
	c.ADDQ(base, place)
}

// scores emits the products of queries with the keys of groups of four positions: a tile
// of F32 whose rows lie wherever their slots are.
func scores(c *build.Context, tokens int) {
	function(c, named("scores", tokens), "func(out *float32, ldo int, keys *float32, stride int, slots *int32, q *float32, ldq, bytes, groups int)",
		"Products of queries with the keys of four positions at a time; bytes of a head, a multiple of 32; sizes in bytes.")
	out, ldo, keys, slots := load(c, "out"), load(c, "ldo"), load(c, "keys"), load(c, "slots")
	q := []reg.GPVirtual{load(c, "q")}
	for range tokens - 1 {
		next := load(c, "ldq")
		c.ADDQ(q[len(q)-1], next)
		q = append(q, next)
	}
	groups := load(c, "groups")
	var k [rows]reg.GPVirtual

	c.Label("group")
	for r := range k {
		k[r] = c.GP64()
		slotAddress(c, k[r], keys, slots, 4*r)
	}
	var sums [][]reg.VecVirtual
	for range tokens {
		sums = append(sums, zeros(c, rows))
	}
	i := c.GP64()
	c.XORQ(i, i)
	c.Label("step")
	x := make([]reg.VecVirtual, tokens)
	for t := range x {
		x[t] = c.YMM()
		c.VMOVUPS(operand.Mem{Base: q[t], Index: i, Scale: 1}, x[t])
	}
	for r := range k {
		w := c.YMM()
		c.VMOVUPS(operand.Mem{Base: k[r], Index: i, Scale: 1}, w)
		for t := range x {
			c.VFMADD231PS(w, x[t], sums[t][r])
		}
	}
	c.ADDQ(operand.Imm(32), i)
	size := load(c, "bytes")
	c.CMPQ(i, size)
	c.JLT(operand.LabelRef("step"))
	for t, s := range sums {
		c.VMOVUPS(totals(c, s), at(out, ldo, nil, t, 0))
	}
	c.ADDQ(operand.Imm(4*rows), out)
	c.ADDQ(operand.Imm(4*rows), slots)
	c.DECQ(groups)
	c.JNZ(operand.LabelRef("group"))
	end(c)
}

// weigh emits the addition of n positions' values, each times its share, to each query's
// result: in the positions' order, some vectors of the head at a time.
func weigh(c *build.Context, tokens int) {
	function(c, named("weigh", tokens), "func(out *float32, ldo int, shares *float32, lds int, values *float32, stride int, slots *int32, n, bytes int)",
		"Adds n positions' values times their shares to the results; bytes of a head, a multiple of 32; sizes in bytes.")
	w := weighing{Context: c, out: load(c, "out"), ldo: load(c, "ldo"), values: load(c, "values"), slots: load(c, "slots"), left: load(c, "bytes")}
	w.shares = []reg.GPVirtual{load(c, "shares")}
	for range tokens - 1 {
		next := load(c, "lds")
		c.ADDQ(w.shares[len(w.shares)-1], next)
		w.shares = append(w.shares, next)
	}
	wide := 4
	if tokens == 1 {
		wide = 8
	}
	c.Label("wide")
	c.CMPQ(w.left, operand.U32(32*wide))
	c.JLT(operand.LabelRef("narrow"))
	w.vectors("wide", wide)
	c.JMP(operand.LabelRef("wide"))
	c.Label("narrow")
	c.CMPQ(w.left, operand.Imm(0))
	c.JEQ(operand.LabelRef("done"))
	w.vectors("narrow", 1)
	c.JMP(operand.LabelRef("narrow"))
	c.Label("done")
	end(c)
}

type weighing struct {
	*build.Context
	out, ldo, values, slots, left reg.GPVirtual
	shares                        []reg.GPVirtual
}

// vectors does so many vectors of the head and goes on behind them.
func (w *weighing) vectors(name string, wide int) {
	var sums [][]reg.VecVirtual
	for t := range w.shares {
		sums = append(sums, nil)
		for v := range wide {
			y := w.YMM()
			w.VMOVUPS(at(w.out, w.ldo, nil, t, 32*v), y)
			sums[t] = append(sums[t], y)
		}
	}
	i := w.GP64()
	w.XORQ(i, i)
	w.Label(name + "position")
	value, stride := w.GP64(), load(w.Context, "stride")
	w.MOVLQSX(operand.Mem{Base: w.slots, Index: i, Scale: 4}, value)
	w.IMULQ(stride, value)
	w.ADDQ(w.values, value)
	share := make([]reg.VecVirtual, len(w.shares))
	for t, s := range w.shares {
		share[t] = w.YMM()
		w.VBROADCASTSS(operand.Mem{Base: s, Index: i, Scale: 4}, share[t])
	}
	for v := range wide {
		y := w.YMM()
		w.VMOVUPS(operand.Mem{Base: value, Disp: 32 * v}, y)
		for t := range share {
			w.VFMADD231PS(y, share[t], sums[t][v])
		}
	}
	w.INCQ(i)
	n := load(w.Context, "n")
	w.CMPQ(i, n)
	w.JLT(operand.LabelRef(name + "position"))
	for t := range sums {
		for v, y := range sums[t] {
			w.VMOVUPS(y, at(w.out, w.ldo, nil, t, 32*v))
		}
	}
	w.ADDQ(imm(32*wide), w.out)
	w.ADDQ(imm(32*wide), w.values)
	w.SUBQ(imm(32*wide), w.left)
}

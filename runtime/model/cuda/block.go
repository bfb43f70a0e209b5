//go:build cuda

package cuda

import (
	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

// token is one of a block's.
type token struct {
	id       int64
	position int
	slot     int32
	start    int // of its work's slots in the block's table
}

// ask is what a token's position is to say.
type ask struct {
	qwen3.Asked
	decode      bool
	row         int     // among the decodes, or among the others
	k           int     // largest logits that are enough; 0: all are wanted
	temperature float64 // for their sum
}

// block is tokens that go through the layers together: works of one token first, then the
// others, each in the batch's order.
type block struct {
	room             room
	decodes, extends []token
	table            []int32
	longest          int // context of a decode
	asks             []ask
}

func newBlock(r room) block {
	return block{
		room: r, decodes: make([]token, 0, r.tokens), extends: make([]token, 0, r.tokens),
		table: make([]int32, 0, r.table), asks: make([]ask, 0, r.tokens),
	}
}

func (b *block) reset() {
	b.decodes, b.extends, b.table, b.asks, b.longest = b.decodes[:0], b.extends[:0], b.table[:0], b.asks[:0], 0
}

func (b *block) tokens() int { return len(b.decodes) + len(b.extends) }

// add takes tokens of a work, from the ith on, as many as there is room for, and says how
// many those are.
func (b *block) add(batch *model.Batch, work, i int) int {
	w := &batch.Work[work]
	n := min(len(w.IDs)-i, b.room.tokens-b.tokens(), b.room.table-len(b.table)-w.Start-i)
	decode := len(w.IDs) == 1 && kernels.Splits(len(w.Slots)) <= b.room.splits
	if decode && (len(b.decodes)+1)*kernels.Splits(max(b.longest, len(w.Slots))) > b.room.splits {
		n = 0
	}
	if n <= 0 {
		return 0
	}
	start, to := len(b.table), &b.extends
	b.table = append(b.table, w.Slots[:w.Start+i+n]...)
	if decode {
		b.longest = max(b.longest, len(w.Slots))
		to = &b.decodes
	}
	for j := i; j < i+n; j++ {
		position := w.Start + j
		if asked := qwen3.Asks(batch, work, j); !asked.Nothing() {
			b.asks = append(b.asks, ask{Asked: asked, decode: decode, row: len(*to)})
		}
		*to = append(*to, token{w.IDs[j], position, w.Slots[position], start})
	}
	return n
}

// row is the ask's among all tokens.
func (b *block) rowOf(a *ask) int {
	if a.decode {
		return a.row
	}
	return len(b.decodes) + a.row
}

// inPlace says whether each token is asked something, in its order: then no row need move.
func (b *block) inPlace() bool {
	if len(b.asks) != b.tokens() {
		return false
	}
	for i := range b.asks {
		if b.rowOf(&b.asks[i]) != i {
			return false
		}
	}
	return true
}

// stage lays out the block's arrays.
func (b *block) stage(s *staging) numbers {
	var n numbers
	s.reset()
	n.ids = s.here()
	b.each(func(t *token) { s.long(int(t.id)) })
	n.starts = s.here()
	b.each(func(t *token) { s.long(t.start) })
	n.rows = s.here()
	for i := range b.asks {
		s.long(b.rowOf(&b.asks[i]))
	}
	n.positions = s.here()
	b.each(func(t *token) { s.short(t.position) })
	n.slots = s.here()
	b.each(func(t *token) { s.short(int(t.slot)) })
	n.lengths = s.here()
	for i := range b.decodes {
		s.short(b.decodes[i].position + 1)
	}
	n.table = s.here()
	for _, slot := range b.table {
		s.short(int(slot))
	}
	return n
}

func (b *block) each(do func(t *token)) {
	for _, tokens := range [][]token{b.decodes, b.extends} {
		for i := range tokens {
			do(&tokens[i])
		}
	}
}

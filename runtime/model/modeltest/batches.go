package modeltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// part is a request as it goes through batches, and where it has got to.
type part struct {
	rid    string
	tokens []int64
	slots  []int32
	done   int
	logits [][]float32 // of each position from the first computed on
	first  int
}

// next makes a work of the request's next n tokens. Each position is asked for.
func (p *part) next(n int) model.Work {
	end := p.done + n
	w := model.Work{
		RID: p.rid, IDs: p.tokens[p.done:end], Start: p.done, Slots: p.slots[:end], Next: -1,
		Sample: end == len(p.tokens), Logprobs: model.Logprobs{Want: true},
	}
	if !w.Sample {
		w.Next = p.tokens[end]
	}
	return w
}

// drawParts draws requests of different lengths over a pool of slots in no order.
func drawParts(r *rand.Rand, n, longest, vocab int) ([]*part, int) {
	var parts []*part
	used := 0
	slots := ShuffledSlots(n*longest, r.Uint64())
	for i := range n {
		p := &part{rid: fmt.Sprintf("r%d", i)}
		for range 1 + r.IntN(longest) {
			p.tokens = append(p.tokens, r.Int64N(int64(vocab)))
			p.slots = append(p.slots, slots[used])
			used++
		}
		parts = append(parts, p)
	}
	return parts, len(slots)
}

// share lets a request that has not begun take over what another has computed of
// a prefix: tokens and slots, all but its last token.
func share(r *rand.Rand, to, from *part) bool {
	n := min(from.done, len(to.tokens)-1)
	if to.done > 0 || n == 0 {
		return false
	}
	n = 1 + r.IntN(n)
	copy(to.tokens, from.tokens[:n])
	copy(to.slots, from.slots[:n])
	to.done, to.first = n, n
	return true
}

// pick draws who takes part in a batch, and with how many tokens.
func pick(r *rand.Rand, parts []*part) (works []model.Work, who []*part) {
	for _, i := range r.Perm(len(parts)) {
		p, chance := parts[i], 2
		if p.done == 0 { // begin at different times
			chance = 6
		}
		if p.done < len(p.tokens) && r.IntN(chance) == 0 {
			n := 1 + r.IntN(min(len(p.tokens)-p.done, []int{1, 5, len(p.tokens)}[r.IntN(3)]))
			works, who = append(works, p.next(n)), append(who, p)
		}
	}
	return works, who
}

// Draws counts what the batches of a test had in them.
type Draws struct{ Batches, Shared, Cut int }

// TestBatches draws up to six requests of at most so many tokens, and computes them in
// batches drawn anyhow: cut anywhere, in any slots, with a prefix computed or found.
// The logits are to be those of each request alone: bit for bit, or within the subject's bound.
func (s Subject) TestBatches(t *testing.T, seed uint64, longest int, d *Draws) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 8))
	parts, slots := drawParts(r, 1+r.IntN(6), longest, s.VocabSize)
	k := &Keeper{}
	m := s.New(t, slots, k)
	for slices.ContainsFunc(parts, func(p *part) bool { return p.done < len(p.tokens) }) {
		if share(r, parts[r.IntN(len(parts))], parts[r.IntN(len(parts))]) {
			d.Shared++
		}
		works, who := pick(r, parts)
		if len(works) == 0 {
			continue
		}
		d.Batches++
		k.Logits = nil
		Forward(t, m, works...)
		for i, p := range who {
			n := len(works[i].IDs)
			p.logits = append(p.logits, k.Logits[:n]...)
			k.Logits = k.Logits[n:]
			p.done += n
			if !works[i].Sample {
				d.Cut++
			}
		}
	}
	for _, p := range parts {
		s.compareAlone(t, p)
	}
}

func (s Subject) compareAlone(t *testing.T, p *part) {
	t.Helper()
	alone := s
	if s.Twin != nil {
		alone = *s.Twin
	}
	want := alone.whole(t, p.tokens, inOrder(len(p.tokens)))[p.first:]
	if len(p.logits) != len(want) {
		t.Fatalf("rid %q: logits of %d positions, want %d", p.rid, len(p.logits), len(want))
	}
	for i := range want {
		if !s.same(p.logits[i], want[i]) {
			t.Fatalf("rid %q: position %d of %d has other logits than alone", p.rid, p.first+i, len(p.tokens))
		}
	}
}

func (s Subject) same(got, want []float32) bool {
	if s.Within == 0 {
		return slices.Equal(got, want)
	}
	return slices.EqualFunc(got, want, func(a, b float32) bool {
		return a == b || math.Abs(float64(a)-float64(b)) <= s.Within
	})
}

package qwen3

import (
	"fmt"
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
func drawParts(r *rand.Rand, n, vocab int) ([]*part, int) {
	var parts []*part
	used := 0
	slots := shuffledSlots(n*60, r.Uint64())
	for i := range n {
		p := &part{rid: fmt.Sprintf("r%d", i)}
		for range 1 + r.IntN(60) {
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
func pick(r *rand.Rand, parts []*part) (*model.Batch, []*part) {
	b, who := &model.Batch{}, []*part(nil)
	for _, i := range r.Perm(len(parts)) {
		p, chance := parts[i], 2
		if p.done == 0 { // begin at different times
			chance = 6
		}
		if p.done < len(p.tokens) && r.IntN(chance) == 0 {
			n := 1 + r.IntN(min(len(p.tokens)-p.done, []int{1, 5, 60}[r.IntN(3)]))
			b.Work = append(b.Work, p.next(n))
			who = append(who, p)
		}
	}
	return b, who
}

// In any batch, cut anyhow, in any slots, with a prefix computed or found: logits
// are equal bit for bit to those of the request alone.
func TestLogitsDependOnOwnTokensOnly(t *testing.T) {
	batches, shared, cut := 0, 0, 0
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 8))
		c := []Config{odd(), small()}[seed%2]
		w := seeded(t, c, seed)
		parts, slots := drawParts(r, 1+r.IntN(6), c.VocabSize)
		seen := &keeper{}
		m := newModel(t, c, w, slots, seen)
		for slices.ContainsFunc(parts, func(p *part) bool { return p.done < len(p.tokens) }) {
			if share(r, parts[r.IntN(len(parts))], parts[r.IntN(len(parts))]) {
				shared++
			}
			b, who := pick(r, parts)
			if len(b.Work) == 0 {
				continue
			}
			batches++
			seen.logits = nil
			if _, err := m.Forward(b); err != nil {
				t.Fatal(err)
			}
			for i, p := range who {
				n := len(b.Work[i].IDs)
				p.logits = append(p.logits, seen.logits[:n]...)
				seen.logits = seen.logits[n:]
				p.done += n
				if !b.Work[i].Sample {
					cut++
				}
			}
		}
		for _, p := range parts {
			compareAlone(t, c, w, p)
		}
	}
	if batches < 50 || shared < 5 || cut < 50 {
		t.Errorf("%d batches, %d shared prefixes, %d cuts: the draw tests too little", batches, shared, cut)
	}
}

func compareAlone(t *testing.T, c Config, w *Weights, p *part) {
	t.Helper()
	seen := &keeper{}
	m := newModel(t, c, w, len(p.tokens), seen)
	whole := part{tokens: p.tokens}
	for i := range p.tokens {
		whole.slots = append(whole.slots, int32(i))
	}
	if _, err := m.Forward(&model.Batch{Work: []model.Work{whole.next(len(p.tokens))}}); err != nil {
		t.Fatal(err)
	}
	want := seen.logits[p.first:]
	if len(p.logits) != len(want) {
		t.Fatalf("rid %q: logits of %d positions, want %d", p.rid, len(p.logits), len(want))
	}
	for i := range want {
		if !slices.Equal(p.logits[i], want[i]) {
			t.Fatalf("rid %q: position %d of %d has other logits than alone", p.rid, p.first+i, len(p.tokens))
		}
	}
}

// The small model's tokens are worth comparing: they differ with the prompt and
// the seed, and do not stand still.
func TestSmallModelIsLively(t *testing.T) {
	c := small()
	var all []string
	for seed := range uint64(2) {
		w := seeded(t, c, seed)
		for _, prompt := range []string{"a", "b", "Hello, world", "Hello, World"} {
			var ids []int64
			for _, b := range []byte(prompt) {
				ids = append(ids, int64(b))
			}
			tokens, _ := alone(t, c, w, ids, 64)
			text := fmt.Sprint(tokens)
			if slices.Contains(all, text) {
				t.Errorf("seed %d, prompt %q: the same tokens as another prompt's or seed's", seed, prompt)
			}
			all = append(all, text)
			kinds := slices.Clone(tokens)
			slices.Sort(kinds)
			if n := len(slices.Compact(kinds)); n < 12 {
				t.Errorf("seed %d, prompt %q: %d different tokens among 64", seed, prompt, n)
			}
		}
	}
}

func BenchmarkSeeded(b *testing.B) {
	for b.Loop() {
		if _, err := Seeded(Small(), 1); err != nil {
			b.Fatal(err)
		}
	}
}

package kernels

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// prompt is random attention of some tokens from a position on, with its queries [tokens, ld].
type prompt struct {
	Attention
	q                        []float32
	ld, tokens, heads, first int
}

func newPrompt(r *rand.Rand, dim int) prompt {
	p := prompt{tokens: 1 + r.IntN(9), heads: 1 + r.IntN(4), first: r.IntN(40)}
	a := &p.Attention
	a.Dim, a.Offset, a.Scale = dim, r.IntN(20), 1/float32(math.Sqrt(float64(dim)))
	a.Stride = a.Offset + dim + r.IntN(20)
	positions := p.first + p.tokens
	places := positions + 10
	for _, s := range r.Perm(places)[:positions] {
		a.Slots = append(a.Slots, int32(s))
	}
	a.Keys, a.Values = normal(r, places*a.Stride), normal(r, places*a.Stride)
	p.ld = p.heads*dim + r.IntN(9)
	p.q = normal(r, p.tokens*p.ld)
	return p
}

func (p *prompt) attend() []float32 {
	out := make([]float32, len(p.q))
	p.Attend(out, p.q, p.ld, p.tokens, p.heads, p.first)
	return out
}

// result is what one query takes, in float64.
func (p *prompt) result(t, h int) []float64 {
	q := p.q[t*p.ld+h*p.Dim:][:p.Dim]
	out, sum := make([]float64, p.Dim), 0.0
	for _, s := range p.Slots[:p.first+t+1] {
		var score float64
		for i, k := range p.Keys[int(s)*p.Stride+p.Offset:][:p.Dim] {
			score += float64(q[i]) * float64(k)
		}
		e := math.Exp(score * float64(p.Scale))
		sum += e
		for i, v := range p.Values[int(s)*p.Stride+p.Offset:][:p.Dim] {
			out[i] += e * float64(v)
		}
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

var dims = []int{1, 5, 8, 16, 24, 32, 40, 64, 80, 96, 128}

func TestAttendIsAttention(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(13)
		for n := range 300 {
			p := newPrompt(r, dims[n%len(dims)])
			out := p.attend()
			for token := range p.tokens {
				for h := range p.heads {
					got := out[token*p.ld+h*p.Dim:][:p.Dim]
					for i, want := range p.result(token, h) {
						if math.Abs(float64(got[i])-want) > 3e-6 {
							t.Fatalf("token %d of %d from %d, head %d of %d, %d numbers: the one at %d is %v, want %v", token, p.tokens, p.first, h, p.heads, p.Dim, i, got[i], want)
						}
					}
				}
				for i := p.heads * p.Dim; i < p.ld; i++ {
					if out[token*p.ld+i] != 0 {
						t.Fatalf("what is behind the heads of token %d is set", token)
					}
				}
			}
		}
	})
}

// The bits are the same for tokens in chunks, for heads one by one, for other slots with
// the same keys and values, and in place.
func TestAttendDoesNotDependOnTheBatch(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(14)
		for n := range 300 {
			p := newPrompt(r, dims[n%len(dims)])
			all := p.attend()
			chunk := 1 + r.IntN(p.tokens)
			parts := make([]float32, len(all))
			for from := 0; from < p.tokens; from += chunk {
				for h := range p.heads {
					at, n := from*p.ld+h*p.Dim, min(chunk, p.tokens-from)
					p.Attend(parts[at:], p.q[at:], p.ld, n, 1, p.first+from)
				}
			}
			if !slices.EqualFunc(all, parts, sameBits) {
				t.Fatalf("%d tokens of %d numbers in chunks of %d differ from all at once", p.tokens, p.Dim, chunk)
			}
			if moved := p.moved(r); !slices.EqualFunc(all, moved.attend(), sameBits) {
				t.Fatalf("%d tokens of %d numbers differ in other slots", p.tokens, p.Dim)
			}
			place := slices.Clone(p.q)
			p.Attend(place, place, p.ld, p.tokens, p.heads, p.first)
			for token := range p.tokens {
				from, to := token*p.ld, token*p.ld+p.heads*p.Dim
				if !slices.EqualFunc(all[from:to], place[from:to], sameBits) {
					t.Fatalf("token %d differs in place", token)
				}
			}
		}
	})
}

// moved is the same with every position in another slot, its head elsewhere in it.
func (p *prompt) moved(r *rand.Rand) prompt {
	m := *p
	m.Attention = Attention{Dim: p.Dim, Stride: p.Dim + 3, Offset: 2, Scale: p.Scale}
	places := len(p.Slots) + 5
	m.Keys, m.Values = normal(r, places*m.Stride), normal(r, places*m.Stride)
	for position, s := range r.Perm(places)[:len(p.Slots)] {
		from, to := int(p.Slots[position])*p.Stride+p.Offset, s*m.Stride+m.Offset
		copy(m.Keys[to:to+p.Dim], p.Keys[from:])
		copy(m.Values[to:to+p.Dim], p.Values[from:])
		m.Slots = append(m.Slots, int32(s))
	}
	return m
}

// The assembly and the plain loops say the same, but for roundings.
func TestAttendTwins(t *testing.T) {
	r := random(15)
	for n := range 100 {
		p := newPrompt(r, dims[n%len(dims)])
		var results [][]float32
		each(t, func(*testing.T) { results = append(results, p.attend()) })
		for i, got := range results[len(results)-1] {
			if math.Abs(float64(got-results[0][i])) > 2e-6 {
				t.Fatalf("%d numbers: %v, by the plain loops %v", p.Dim, got, results[0][i])
			}
		}
	}
}

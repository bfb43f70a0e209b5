package kernels

import "fmt"

// Attention is one head's keys and values, and where they lie. It is reused, by one
// goroutine at a time.
type Attention struct {
	// Keys and Values have the numbers of slot s from s·Stride + Offset on, Dim of them.
	// A Stride of Dim, with an array a head, is best: the keys of all heads beside each
	// other are a power of two apart, and then share few places of a cache.
	Keys, Values        []float32
	Stride, Offset, Dim int
	// Slots has the slot of each position, from 0 on.
	Slots []int32
	// Scale multiplies the queries: 1/√Dim in every model served.
	Scale float32

	queries, scores, results []float32 // of the queries that are at work
}

// Attend sets out to what queries of tokens at positions first, first+1, ... take from the
// values: the values of the positions up to its token's, weighted by the softmax of their
// keys' products with the query. heads queries share the keys; that of token t and head h
// is q[t·ld + h·Dim:], its result the same place of out. Nothing else of out is set; it
// may be q. Where Dim is no multiple of eight the plain loops do it.
//
// A result's bits depend on the query, the keys and the values up to its position alone:
// not on first, tokens, heads, nor the slots.
func (a *Attention) Attend(out, q []float32, ld, tokens, heads, first int) {
	a.check(out, q, ld, tokens, heads, first)
	chosen.attend(a, out, q, ld, tokens, heads, first)
}

func attendPlain(a *Attention, out, q []float32, ld, tokens, heads, first int) {
	for t := range tokens {
		for h := range heads {
			at := t*ld + h*a.Dim
			a.query(out[at:at+a.Dim], q[at:at+a.Dim], a.Slots[:first+t+1])
		}
	}
}

func (a *Attention) check(out, q []float32, ld, tokens, heads, first int) {
	if tokens < 0 || heads < 1 || a.Dim < 1 || ld < heads*a.Dim || first < 0 || first+tokens > len(a.Slots) {
		panic(fmt.Sprintf("kernels: Attend of %d tokens from position %d with %d heads of %d numbers, %d apart, in %d slots", tokens, first, heads, a.Dim, ld, len(a.Slots)))
	}
	if tokens > 0 && min(len(out), len(q)) < (tokens-1)*ld+heads*a.Dim {
		panic(fmt.Sprintf("kernels: Attend of %d numbers into %d, expected %d tokens %d apart", len(q), len(out), tokens, ld))
	}
	if a.Offset < 0 || a.Stride < a.Offset+a.Dim {
		panic(fmt.Sprintf("kernels: heads of %d numbers at %d of slots of %d", a.Dim, a.Offset, a.Stride))
	}
	places := min(len(a.Keys), len(a.Values)) / a.Stride
	for _, s := range a.Slots[:first+tokens] {
		if s < 0 || int(s) >= places {
			panic(fmt.Sprintf("kernels: slot %d of %d", s, places))
		}
	}
}

// query does one, in plain loops.
func (a *Attention) query(out, q []float32, slots []int32) {
	a.scores, a.queries = grown(a.scores, len(slots)), grown(a.queries, a.Dim)
	for i, v := range q {
		a.queries[i] = v * a.Scale
	}
	for p, s := range slots {
		a.scores[p] = dotPlain(a.queries, a.Keys[int(s)*a.Stride+a.Offset:][:a.Dim], F32.whole(a.Dim))
	}
	softmaxPlain(a.scores)
	clear(out)
	for p, s := range slots {
		addScaledPlain(out, a.scores[p], a.Values[int(s)*a.Stride+a.Offset:][:a.Dim])
	}
}

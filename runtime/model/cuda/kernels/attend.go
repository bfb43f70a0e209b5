//go:build cuda

package kernels

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
)

// QKV is the products of some tokens with the three matrices, [Tokens, Heads+2·KVHeads, Dim]:
// queries, keys, values.
type QKV struct {
	QKV              uint64
	QWeight, KWeight uint64 // of the heads' norms [Dim], or 0
	KCache, VCache   uint64 // [slots, KVHeads, Dim], in the format
	Slots, Positions uint64 // int32 of each token
	Frequencies      uint64 // of the pairs [Dim/2]
	Tokens           int
	HeadShape
	Interleaved bool // pairs lie side by side, not half a head apart
	Eps         float32
}

// QKVStore normalizes and rotates queries and keys; queries are written back, keys and values
// into their slots of the cache.
func (s *Set) QKVStore(t *driver.Thread, f Format, q QKV) error {
	interleaved := uint64(0)
	if q.Interleaved {
		interleaved = 1
	}
	l := launch{
		name: "qkv_store_" + f.String(), grid: dim(q.Tokens, blocks(q.Heads+2*q.KVHeads, 4)), block: dim(128),
		args: []uint64{
			q.QKV, q.QWeight, q.KWeight, q.KCache, q.VCache, q.Slots, q.Positions, q.Frequencies,
			uint64(q.Heads), uint64(q.KVHeads), uint64(q.Dim), interleaved, driver.F32(q.Eps),
		},
	}
	l.some("tokens", q.Tokens)
	l.heads(q.HeadShape)
	return s.put(t, &l)
}

// Decode is attention of one query of each work to the positions before it and its own.
type Decode struct {
	Out                   uint64 // [Works, Heads, Dim]
	Partial, Maxima, Sums uint64 // room for [Works, Heads, Splits] times Dim, 1, 1
	QKV                   uint64 // as QKVStore left it, a token a work
	KCache, VCache        uint64
	Table                 uint64 // slots (int32) of the works' positions
	Starts                uint64 // int64 of each work: where in Table its positions begin
	Lengths               uint64 // int32 of each work: how many there are, at least 1
	Works, Splits         int    // Splits of the longest
	HeadShape
	Scale float32 // of the products of queries and keys
}

// AttendSplit does the parts of SplitPositions positions each, [Set.AttendJoin] joins them.
func (s *Set) AttendSplit(t *driver.Thread, f Format, d Decode) error {
	l := launch{block: dim(128), args: []uint64{
		d.Partial, d.Maxima, d.Sums, d.QKV, d.KCache, d.VCache, d.Table, d.Starts, d.Lengths,
		uint64(d.Heads), uint64(d.KVHeads), uint64(d.Dim), uint64(d.Splits), driver.F32(d.Scale),
	}}
	l.some("works", d.Works)
	l.some("splits", d.Splits)
	l.heads(d.HeadShape)
	group, together := d.Heads/max(d.KVHeads, 1), 4
	if group < 3 {
		together = max(group, 1)
	}
	l.name = fmt.Sprintf("attend_split%d_%v", together, f)
	l.grid = dim(d.Splits, d.KVHeads*blocks(group, together), d.Works)
	return s.put(t, &l)
}

// AttendJoin sets Out to what the parts make together.
func (s *Set) AttendJoin(t *driver.Thread, d Decode) error {
	l := launch{
		name: "attend_join", grid: dim(d.Heads, d.Works), block: dim(128),
		args: []uint64{d.Out, d.Partial, d.Maxima, d.Sums, d.Lengths, uint64(d.Heads), uint64(d.Dim), uint64(d.Splits)},
	}
	l.some("works", d.Works)
	l.some("splits", d.Splits)
	l.heads(d.HeadShape)
	return s.put(t, &l)
}

// Prefill is attention of every token's queries to the positions up to its own.
type Prefill struct {
	Out            uint64 // [Tokens, Heads, Dim]
	QKV            uint64 // as QKVStore left it
	KCache, VCache uint64
	Table          uint64 // slots (int32) of the works' positions
	Tables         uint64 // int64 of each token: where in Table its work's positions begin
	Positions      uint64 // int32 of each token
	Tokens         int
	HeadShape
	Scale float32
}

// Attend does it. It is quickest where the tokens of a work follow each other.
func (s *Set) Attend(t *driver.Thread, f Format, p Prefill) error {
	l := launch{
		name: "attend_" + f.String(), grid: dim(blocks(p.Tokens, 32), p.Heads), block: dim(128),
		args: []uint64{
			p.Out, p.QKV, p.KCache, p.VCache, p.Table, p.Tables, p.Positions, uint64(p.Tokens),
			uint64(p.Heads), uint64(p.KVHeads), uint64(p.Dim), driver.F32(p.Scale),
		},
	}
	l.some("tokens", p.Tokens)
	l.heads(p.HeadShape)
	return s.put(t, &l)
}

// Argmax sets, for each row of logits, which are stride apart, ids (int64) to the lowest of the
// ids below vocabulary with the largest logit, and values to that. A NaN counts as the largest.
func (s *Set) Argmax(t *driver.Thread, values, ids, logits uint64, rows, vocabulary, stride int) error {
	l := launch{name: "argmax", grid: dim(rows), block: dim(1024), args: []uint64{values, ids, logits, uint64(vocabulary), uint64(stride)}}
	l.logits(rows, vocabulary, stride)
	return s.put(t, &l)
}

func (l *launch) logits(rows, vocabulary, stride int) {
	l.some("rows", rows)
	l.some("vocabulary", vocabulary)
	l.want(stride >= vocabulary, "stride", stride, fmt.Sprintf("at least the vocabulary's %d", vocabulary))
}

// TopK asks for the K largest logits of each row.
type TopK struct {
	Values             uint64 // [Rows, K] their logits, the largest first
	IDs                uint64 // [Rows, K] int64; of equal logits the lowest id is first
	Sums               uint64 // [Rows] the logarithm of the sum of e^(logit·InverseTemperature) of all
	Logits             uint64
	Rows               int
	Vocabulary, Stride int // ids below Vocabulary; rows are Stride apart
	K                  int // 1 to MostTopK, at most the vocabulary
	InverseTemperature float32
}

// TopK does it.
func (s *Set) TopK(t *driver.Thread, k TopK) error {
	l := launch{
		name: "top_k", grid: dim(k.Rows), block: dim(1024),
		args: []uint64{k.Values, k.IDs, k.Sums, k.Logits, uint64(k.Vocabulary), uint64(k.Stride), uint64(k.K), driver.F32(k.InverseTemperature)},
	}
	l.logits(k.Rows, k.Vocabulary, k.Stride)
	l.want(k.K >= 1 && k.K <= min(MostTopK, k.Vocabulary), "k", k.K, fmt.Sprintf("1 to %d, and no more than the vocabulary's %d", MostTopK, k.Vocabulary))
	return s.put(t, &l)
}

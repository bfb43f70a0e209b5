//go:build cuda

package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

var headShapes = []HeadShape{{1, 1, 16}, {2, 1, 64}, {7, 1, 24}, {4, 2, 128}, {6, 2, 40}, {3, 3, 8}}

// rotated is a head normalized, where it has weights, and turned: from the formulas, in float64 but for the
// angle, which is rounded to float32. size bounds the two terms of each number.
func rotated(head, weight, frequencies []float32, position int, interleaved bool, eps float64) (out, size []float64) {
	x := make([]float64, len(head))
	for i, v := range head {
		x[i] = float64(v)
	}
	if weight != nil {
		x = normTwin(head, weight, eps)
	}
	out, size = make([]float64, len(x)), make([]float64, len(x))
	for j, f := range frequencies {
		first, second := j, j+len(frequencies)
		if interleaved {
			first, second = 2*j, 2*j+1
		}
		sine, cosine := math.Sincos(float64(float32(position) * f))
		out[first] = x[first]*cosine - x[second]*sine
		out[second] = x[second]*cosine + x[first]*sine
		size[first] = math.Abs(x[first]) + math.Abs(x[second])
		size[second] = size[first]
	}
	return out, size
}

// Five roundings of each term, sine and cosine within 2 units in the last place, and the norm.
const rotationError = 10*unit + normError

// tokens of a QKVStore and what it must leave.
type stored struct {
	QKV
	f         Format
	positions []int
	slots     []int
	qkv       []float32
	qw, kw    []float32
	freq      []float32
	all       int // slots
}

func newStored(r *rand.Rand, f Format, h HeadShape, normalized, interleaved bool) stored {
	s := stored{f: f, positions: []int{0, 1, 31, 40959, 7}, slots: []int{4, 9, 0, 7, 2}, all: 10, QKV: QKV{HeadShape: h, Interleaved: interleaved, Eps: 1e-6}}
	s.Tokens = len(s.positions)
	s.qkv = normal(r, F32, s.Tokens*(h.Heads+2*h.KVHeads)*h.Dim)
	if normalized {
		s.qw, s.kw = normal(r, F32, h.Dim), normal(r, F32, h.Dim)
	}
	for j := range h.Dim / 2 {
		s.freq = append(s.freq, float32(math.Pow(1e6, -2*float64(j)/float64(h.Dim))))
	}
	return s
}

func (s *stored) run(d *device) {
	bytes := s.all * s.KVHeads * s.Dim * s.f.Bytes()
	s.QKV.QKV, s.KCache, s.VCache = d.floats(s.qkv), d.room(bytes), d.room(bytes)
	s.Slots, s.Positions, s.Frequencies = d.int32s(s.slots), d.int32s(s.positions), d.floats(s.freq)
	if s.qw != nil {
		s.QWeight, s.KWeight = d.floats(s.qw), d.floats(s.kw)
	}
	check(d.QKVStore(d.t, s.f, s.QKV))
}

func (s *stored) compare(d *device) {
	what := name(s.f, " ", s.HeadShape, " normalized ", s.qw != nil, " interleaved ", s.Interleaved)
	got, keys, values := d.get(F32, s.QKV.QKV), d.get(s.f, s.KCache), d.get(s.f, s.VCache)
	wantKeys, wantValues := make([]float32, len(keys)), make([]float32, len(values))
	for i := range wantKeys { // what nobody wrote is ones
		wantKeys[i], wantValues[i] = float32(math.NaN()), float32(math.NaN())
	}
	rounding := 0.0
	if s.f == BF16 {
		rounding = 1.0 / 256 // half a bf16's last place
	}
	for i := range s.qkv[:s.Tokens*(s.Heads+2*s.KVHeads)] {
		token, head := i/(s.Heads+2*s.KVHeads), i%(s.Heads+2*s.KVHeads)
		from := s.qkv[i*s.Dim:][:s.Dim]
		if head >= s.Heads {
			same(what+": qkv of a key or value", got[i*s.Dim:][:s.Dim], from)
		}
		place := (s.slots[token]*s.KVHeads + (head-s.Heads+s.KVHeads)%s.KVHeads) * s.Dim
		switch {
		case head < s.Heads:
			want, size := rotated(from, s.qw, s.freq, s.positions[token], s.Interleaved, 1e-6)
			near(what+": query", got[i*s.Dim:][:s.Dim], want, scale(rotationError, size))
		case head < s.Heads+s.KVHeads:
			want, size := rotated(from, s.kw, s.freq, s.positions[token], s.Interleaved, 1e-6)
			near(what+": key", keys[place:][:s.Dim], want, scale(rotationError+rounding, size))
			copy(wantKeys[place:][:s.Dim], keys[place:])
		default:
			for j, v := range from {
				if s.f == BF16 {
					v = nearest(v)
				}
				wantValues[place+j] = v
			}
		}
	}
	same(what+": keys", keys, wantKeys)
	same(what+": values", values, wantValues)
}

func scale(by float64, x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = by * v
	}
	return out
}

func TestQKVStore(t *testing.T) {
	inOrders(t, func(d *device) {
		for _, f := range []Format{BF16, F32} {
			for _, h := range headShapes {
				for n := range 4 {
					s := newStored(random(uint64(n)), f, h, n&1 != 0, n&2 != 0)
					s.run(d)
					s.compare(d)
					d.free()
				}
			}
		}
	})
}

// Values reach the cache rounded to the nearest bf16, ties to even.
func TestRoundingToBF16(t *testing.T) {
	bits := []uint32{
		0, 0x80000000, 0x3f808000, 0x3f818000, 0x3f808001, 0x3f807fff, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0xffc00000, 1, 0x8000, 0x18000, 0x7f7f7fff, 0xbf818000,
	}
	s := newStored(random(1), BF16, HeadShape{1, 1, 16}, false, false)
	for i, b := range bits {
		s.qkv[2*s.Dim+i] = math.Float32frombits(b)
	}
	onDevice(t, func(d *device) {
		s.run(d)
		s.compare(d)
		d.free()
	})
}

// cached are works whose keys and values lie in shuffled slots of a cache.
type cached struct {
	f            Format
	h            HeadShape
	lengths      []int
	starts       []int // of each work in table
	table        []int
	keys, values []float32
	slots        int
}

func newCached(r *rand.Rand, f Format, h HeadShape, lengths ...int) *cached {
	c := &cached{f: f, h: h, lengths: lengths}
	for _, n := range lengths {
		c.slots += n + 1
	}
	order := r.Perm(c.slots)
	for _, n := range lengths {
		c.starts = append(c.starts, len(c.table))
		c.table = append(c.table, order[:n]...)
		order = order[n:]
	}
	c.keys, c.values = normal(r, f, c.slots*h.KVHeads*h.Dim), normal(r, f, c.slots*h.KVHeads*h.Dim)
	return c
}

// attention is the softmax of the query's products with the keys, over its values; and the largest of those.
func (c *cached) attention(q []float32, work, head, positions int, scale float64) (out []float64, largest float64) {
	out = make([]float64, c.h.Dim)
	kv := head / (c.h.Heads / c.h.KVHeads)
	var scores []float64
	sum, top := 0.0, math.Inf(-1)
	at := func(p int) int { return (c.table[c.starts[work]+p]*c.h.KVHeads + kv) * c.h.Dim }
	for p := range positions {
		score := 0.0
		for i, v := range q {
			score += float64(v) * float64(c.keys[at(p)+i])
		}
		scores = append(scores, score*scale)
		top = max(top, score*scale)
	}
	for p, score := range scores {
		share := math.Exp(score - top)
		sum += share
		for i := range out {
			v := float64(c.values[at(p)+i])
			out[i] += share * v
			largest = max(largest, math.Abs(v))
		}
	}
	for i := range out {
		out[i] /= sum
	}
	return out, largest
}

// With queries, keys and values around 1 and dim numbers scaled by 1/√dim, a score is within 4√dim units and
// so is, relatively, its exponential; some thirty roundings of each sum follow, on average in both directions.
func attentionError(dim int) float64 { return (4*math.Sqrt(float64(dim)) + 30) * unit }

func (c *cached) upload(d *device) (keys, values, table uint64) {
	return d.put(c.f, c.keys), d.put(c.f, c.values), d.int32s(c.table)
}

// decode runs both kernels for some of the works, with more parts than they need.
func (c *cached) decode(d *device, qkv []float32, works ...int) []float32 {
	width, longest := (c.h.Heads+2*c.h.KVHeads)*c.h.Dim, 0
	var starts, lengths []int
	var q []float32
	for _, w := range works {
		starts, lengths = append(starts, c.starts[w]), append(lengths, c.lengths[w])
		q = append(q, qkv[w*width:][:width]...)
		longest = max(longest, c.lengths[w])
	}
	p := Decode{HeadShape: c.h, Works: len(works), Splits: Splits(longest), Scale: float32(1 / math.Sqrt(float64(c.h.Dim)))}
	rows := len(works) * c.h.Heads
	p.Out, p.Partial = d.room(4*rows*c.h.Dim), d.room(4*rows*p.Splits*c.h.Dim)
	p.Maxima, p.Sums, p.QKV = d.room(4*rows*p.Splits), d.room(4*rows*p.Splits), d.floats(q)
	p.KCache, p.VCache, p.Table = c.upload(d)
	p.Starts, p.Lengths = d.int64s(starts), d.int32s(lengths)
	check(d.AttendSplit(d.t, c.f, p))
	check(d.AttendJoin(d.t, p))
	return d.get(F32, p.Out)
}

func TestAttendToACache(t *testing.T) {
	inOrders(t, func(d *device) {
		for _, f := range []Format{BF16, F32} {
			for _, h := range headShapes {
				r := random(uint64(h.Heads * h.Dim))
				c := newCached(r, f, h, 1, 31, 32, 33, 127, 128, 129, 257)
				qkv := normal(r, F32, len(c.lengths)*(h.Heads+2*h.KVHeads)*h.Dim)
				all := c.decode(d, qkv, 0, 1, 2, 3, 4, 5, 6, 7)
				width := h.Heads * h.Dim
				for w, n := range c.lengths {
					for head := range h.Heads {
						q := qkv[(w*(h.Heads+2*h.KVHeads)+head)*h.Dim:][:h.Dim]
						want, largest := c.attention(q, w, head, n, 1/math.Sqrt(float64(h.Dim)))
						near(name(f, " ", h, " length ", n), all[w*width+head*h.Dim:][:h.Dim], want, repeat(attentionError(h.Dim)*largest, h.Dim))
					}
					same(name(f, " ", h, " length ", n, " alone"), c.decode(d, qkv, w), all[w*width:][:width])
				}
				d.free()
			}
		}
	})
}

// A run is a work's tokens in a prompt: from position first on.
type run struct{ work, first, tokens int }

func (c *cached) prefill(d *device, qkv []float32, runs ...run) []float32 {
	var tables, positions []int
	for _, r := range runs {
		for i := range r.tokens {
			tables, positions = append(tables, c.starts[r.work]), append(positions, r.first+i)
		}
	}
	p := Prefill{HeadShape: c.h, Tokens: len(tables), Scale: float32(1 / math.Sqrt(float64(c.h.Dim)))}
	p.Out, p.QKV = d.room(4*p.Tokens*c.h.Heads*c.h.Dim), d.floats(qkv)
	p.KCache, p.VCache, p.Table = c.upload(d)
	p.Tables, p.Positions = d.int64s(tables), d.int32s(positions)
	check(d.Attend(d.t, c.f, p))
	return d.get(F32, p.Out)
}

func TestAttendInAPrompt(t *testing.T) {
	runs := []run{{0, 0, 1}, {1, 26, 5}, {2, 0, 33}, {3, 60, 11}, {4, 0, 2}}
	inOrders(t, func(d *device) {
		for _, f := range []Format{BF16, F32} {
			for _, h := range headShapes {
				r := random(uint64(h.Heads * h.Dim))
				c := newCached(r, f, h, 1, 31, 33, 71, 2)
				stride, width := (h.Heads+2*h.KVHeads)*h.Dim, h.Heads*h.Dim
				qkv := normal(r, F32, 52*stride)
				all, token := c.prefill(d, qkv, runs...), 0
				for _, run := range runs {
					for i := range run.tokens {
						for head := range h.Heads {
							want, largest := c.attention(qkv[token*stride+head*h.Dim:][:h.Dim], run.work, head, run.first+i+1, 1/math.Sqrt(float64(h.Dim)))
							near(name(f, " ", h, " ", run, " token ", i), all[token*width+head*h.Dim:][:h.Dim], want, repeat(attentionError(h.Dim)*largest, h.Dim))
						}
						token++
					}
					last := run
					last.first, last.tokens = run.first+run.tokens-1, 1
					same(fmt.Sprint(f, " ", h, " ", run, " last alone"), c.prefill(d, qkv[(token-1)*stride:][:stride], last), all[(token-1)*width:][:width])
				}
				d.free()
			}
		}
	})
}

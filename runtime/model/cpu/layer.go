package cpu

import (
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

// A block of tokens goes through the layers together. A tile is consecutive tokens of
// one work, whose attention one part does: a head's keys are read once for all of them.
const (
	blockTokens = 512
	tileTokens  = 16
)

// token is one of a block's.
type token struct {
	id       int64
	position int
	slots    []int32 // of the positions up to its own
	qwen3.Asked
}

type tile struct{ from, to int }

// scratch is what a block's computation needs beside the slots. Rows are tokens'.
type scratch struct {
	tokens   []token
	tiles    []tile
	h, x, y  []float32 // [blockTokens, HiddenSize]
	q        []float32 // [blockTokens, Heads·HeadDim]; attention leaves its results there
	k, v     []float32 // [blockTokens, KVHeads·HeadDim]
	gate, up []float32 // [blockTokens, IntermediateSize]
	cos, sin []float32 // [blockTokens, HeadDim/2]
	answers
	inputs    [kernels.Q8 + 1]kernels.Input // by format
	attention []kernels.Attention           // each thread's

	// What the region at hand works on.
	layer    int
	tasks    []product
	filled   *kernels.Input
	from     []float32
	nextNorm []float32
}

func newScratch(c qwen3.Config, m *memory) scratch {
	rows := func(n int) []float32 { return m.floats(blockTokens * n) }
	return scratch{
		tokens: make([]token, 0, blockTokens), tiles: make([]tile, 0, blockTokens),
		h: rows(c.HiddenSize), x: rows(c.HiddenSize), y: rows(c.HiddenSize),
		q: rows(c.Heads * c.HeadDim),
		k: rows(c.KVHeads * c.HeadDim), v: rows(c.KVHeads * c.HeadDim),
		gate: rows(c.IntermediateSize), up: rows(c.IntermediateSize),
		cos: rows(c.HeadDim / 2), sin: rows(c.HeadDim / 2),
		answers: answers{logits: m.floats(answerRows * c.VocabSize)},
	}
}

// reserve makes the kernels' own room, for the largest block and the longest context.
func (s *scratch) reserve(c qwen3.Config, w *weights, threads int, m *memory) {
	widest := max(c.HiddenSize, c.IntermediateSize, c.Heads*c.HeadDim)
	var formats [len(s.inputs)]bool
	for _, matrix := range w.multiplied() {
		formats[matrix.Format] = true
	}
	for f, used := range formats {
		if used {
			m.bytes += kernels.InputBytes(kernels.Format(f), blockTokens, widest)
		}
		if used && !m.counts {
			s.inputs[f].Reset(kernels.Format(f), blockTokens, widest)
		}
	}
	m.bytes += int64(threads) * kernels.AttentionBytes(c.HeadDim, c.ContextLength)
	if m.counts {
		return
	}
	s.attention = make([]kernels.Attention, threads)
	for i := range s.attention {
		s.attention[i].Reserve(c.HeadDim, c.ContextLength)
	}
}

// cut makes the tiles, those with most positions first, as far as one block has them.
func (m *Model) cut() {
	m.tiles = m.tiles[:0]
	for to := len(m.tokens); to > 0; {
		from := to - 1
		for from > 0 && to-from < tileTokens && m.tokens[from-1].Work == m.tokens[from].Work {
			from--
		}
		m.tiles = append(m.tiles, tile{from, to})
		to = from
	}
}

// keep drops the tokens that nothing is asked of: when the last layer has their keys and
// values, nobody needs them any more. Those left of a work follow each other: they are its
// last, from the first that is asked on.
func (m *Model) keep() {
	n := 0
	for i := range m.tokens {
		if t := &m.tokens[i]; t.Nothing() {
			continue
		}
		if n < i {
			m.tokens[n] = m.tokens[i]
			for _, rows := range [][]float32{m.h, m.q} {
				wide := len(rows) / blockTokens
				copy(row(rows, n, wide), row(rows, i, wide))
			}
		}
		n++
	}
	m.tokens = m.tokens[:n]
	m.cut()
}

// row is one of a scratch's rows.
func row(rows []float32, i, n int) []float32 { return rows[i*n:][:n] }

// few tokens are done by who would else wait for the others.
const few = 4

// each does a region of a part for each of n tokens.
func (m *Model) each(n int, body func(worker, part int)) {
	if n > few {
		m.pool.run(n, body)
		return
	}
	for i := range n {
		body(0, i)
	}
}

// beginToken makes a token's h, x and angles.
func (m *Model) beginToken(_, i int) {
	c := &m.config
	h := row(m.h, i, c.HiddenSize)
	kernels.Row(h, &m.weights.embed, int(m.tokens[i].id))
	kernels.RMSNorm(row(m.x, i, c.HiddenSize), h, m.weights.layers[0].inputNorm, c.RMSNormEps)
	half := c.HeadDim / 2
	qwen3.Angles(row(m.cos, i, half), row(m.sin, i, half), m.frequencies, m.tokens[i].position)
}

// project makes of x, the norm of h, queries, and keys and values in their slots.
func (m *Model) project(l *layerWeights) {
	m.multiply(len(m.tokens), m.x, product{w: &l.q, out: m.q}, product{w: &l.k, out: m.k}, product{w: &l.v, out: m.v})
	m.each(len(m.tokens), m.bodies.place)
}

// attend adds attention to h, and makes x of it.
func (m *Model) attend(l *layerWeights) {
	m.pool.run(len(m.tiles)*m.config.KVHeads, m.bodies.attend)
	m.multiply(len(m.tokens), m.q, product{w: &l.o, out: m.y})
	m.nextNorm = l.postAttentionNorm
	m.each(len(m.tokens), m.bodies.residual)
}

// gated adds the second half of a layer, and makes the x that the next one, or the head,
// begins with.
func (m *Model) gated(l *layerWeights) {
	m.plan(len(m.tokens), m.x, product{w: &l.gate, out: m.gate}, product{w: &l.up, out: m.up})
	m.pool.run(m.tasks[0].parts(), m.bodies.gated)
	m.multiply(len(m.tokens), m.gate, product{w: &l.down, out: m.y})
	m.nextNorm = m.weights.norm
	if next := m.layer + 1; next < len(m.weights.layers) {
		m.nextNorm = m.weights.layers[next].inputNorm
	}
	m.each(len(m.tokens), m.bodies.residual)
}

// residualToken adds y to a token's h, and makes x of it.
func (m *Model) residualToken(_, i int) {
	n := m.config.HiddenSize
	h := row(m.h, i, n)
	kernels.AddScaled(h, 1, row(m.y, i, n))
	kernels.RMSNorm(row(m.x, i, n), h, m.nextNorm, m.config.RMSNormEps)
}

// placeToken normalizes and rotates a token's heads, and writes its keys and values.
func (m *Model) placeToken(_, i int) {
	c, l, t := &m.config, &m.weights.layers[m.layer], &m.tokens[i]
	m.turn(row(m.q, i, c.Heads*c.HeadDim), l.qNorm, i)
	k, v := row(m.k, i, c.KVHeads*c.HeadDim), row(m.v, i, c.KVHeads*c.HeadDim)
	m.turn(k, l.kNorm, i)
	if c.CacheBF16 {
		kernels.RoundBF16(k)
		kernels.RoundBF16(v)
	}
	for h := range c.KVHeads {
		keys, values := m.head(h)
		slot := int(t.slots[t.position])
		copy(row(keys, slot, c.HeadDim), row(k, h, c.HeadDim))
		copy(row(values, slot, c.HeadDim), row(v, h, c.HeadDim))
	}
}

// head is one's keys and values in the layer at hand, [slots, HeadDim].
func (m *Model) head(h int) (keys, values []float32) {
	n := m.slots * m.config.HeadDim
	return row(m.keys[m.layer], h, n), row(m.values[m.layer], h, n)
}

// turn normalizes each head, where the model does, and rotates it to the token's position.
func (m *Model) turn(heads, weight []float32, i int) {
	dim := m.config.HeadDim
	cos, sin := row(m.cos, i, dim/2), row(m.sin, i, dim/2)
	for ; len(heads) > 0; heads = heads[dim:] {
		head := heads[:dim]
		if weight != nil {
			kernels.RMSNorm(head, head, weight, m.config.RMSNormEps)
		}
		if m.pairs {
			rotatePairs(head, cos, sin)
		} else {
			rotateHalves(head, cos, sin)
		}
	}
}

// rotateHalves turns the pairs of a head's numbers and those half a head behind.
func rotateHalves(head, cos, sin []float32) {
	a, b := head[:len(cos)], head[len(cos):][:len(cos)]
	sin = sin[:len(cos)]
	for j, c := range cos {
		a[j], b[j] = float32(a[j]*c)-float32(b[j]*sin[j]), float32(b[j]*c)+float32(a[j]*sin[j])
	}
}

// rotatePairs turns pairs that lie side by side.
func rotatePairs(head, cos, sin []float32) {
	for j, c := range cos {
		x, y := head[2*j], head[2*j+1]
		head[2*j], head[2*j+1] = float32(x*c)-float32(y*sin[j]), float32(y*c)+float32(x*sin[j])
	}
}

// attendTile does a tile's attention to one head of keys and values.
func (m *Model) attendTile(worker, part int) {
	c, tile, shared := &m.config, m.tiles[part/m.config.KVHeads], part%m.config.KVHeads
	group, width := c.Heads/c.KVHeads, c.Heads*c.HeadDim
	a := &m.attention[worker]
	a.Keys, a.Values = m.head(shared)
	a.Stride, a.Dim = c.HeadDim, c.HeadDim
	a.Slots, a.Scale = m.tokens[tile.to-1].slots, float32(1/math.Sqrt(float64(c.HeadDim)))
	q := m.q[tile.from*width+shared*group*c.HeadDim:]
	a.Attend(q, q, width, tile.to-tile.from, group, m.tokens[tile.from].position)
}

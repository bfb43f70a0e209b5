package qwen3

import "math"

// token computes one token at the last of its slots, all positions before it
// being there, and leaves its hidden state in m.h.
func (m *Model) token(id int64, slots []int32) {
	c := &m.config
	copy(m.h, m.weights.Embed[int(id)*c.HiddenSize:])
	for i := range m.weights.Layers {
		l := &m.weights.Layers[i]
		normalize(m.x, m.h, l.InputNorm, c.RMSNormEps)
		m.attend(l, m.k[i], m.v[i], slots)
		multiply(m.y, l.O, m.heads)
		add(m.h, m.y)

		normalize(m.x, m.h, l.PostAttentionNorm, c.RMSNormEps)
		multiply(m.gate, l.Gate, m.x)
		multiply(m.up, l.Up, m.x)
		for j, g := range m.gate {
			m.gate[j] = silu(g) * m.up[j]
		}
		multiply(m.y, l.Down, m.gate)
		add(m.h, m.y)
	}
}

// attend writes the keys and values of m.x to the last slot and sets m.heads to
// what the token's heads take from all slots.
func (m *Model) attend(l *LayerWeights, keys, values []float32, slots []int32) {
	c := &m.config
	dim, kvDim, last := c.HeadDim, c.KVHeads*c.HeadDim, len(slots)-1
	slot := int(slots[last]) * kvDim
	k := keys[slot : slot+kvDim]
	multiply(m.q, l.Q, m.x)
	multiply(k, l.K, m.x)
	multiply(values[slot:slot+kvDim], l.V, m.x)
	m.place(m.q, l.QNorm, last)
	m.place(k, l.KNorm, last)
	if c.CacheBF16 {
		roundBF16(k)
		roundBF16(values[slot : slot+kvDim])
	}

	clear(m.heads)
	scale := float32(1 / math.Sqrt(float64(dim)))
	for g := range c.Heads {
		query, head := m.q[g*dim:][:dim], m.heads[g*dim:][:dim]
		shared := g / (c.Heads / c.KVHeads) * dim
		scores := m.scores[:len(slots)]
		for p, s := range slots {
			scores[p] = dot(query, keys[int(s)*kvDim+shared:]) * scale
		}
		softmax(scores)
		for p, s := range slots {
			value := values[int(s)*kvDim+shared:][:dim]
			for j, v := range value {
				head[j] += scores[p] * v
			}
		}
	}
}

// place normalizes each head, where the model does, and rotates it to the position.
func (m *Model) place(heads, weight []float32, position int) {
	dim, half := m.config.HeadDim, m.config.HeadDim/2
	cos, sin := m.cos[position*half:][:half], m.sin[position*half:][:half]
	for ; len(heads) > 0; heads = heads[dim:] {
		if m.config.QKNorm {
			normalize(heads[:dim], heads[:dim], weight, m.config.RMSNormEps)
		}
		rotate(heads[:dim], cos, sin)
	}
}

// roundBF16 rounds each to the nearest number whose lower half is zero, of two to the one whose last bit is.
func roundBF16(x []float32) {
	for i, v := range x {
		bits := math.Float32bits(v)
		down := bits &^ 0xffff
		switch rest := bits - down; {
		case v != v: // stays what it is
		case rest > 0x8000 || rest == 0x8000 && down>>16&1 == 1:
			x[i] = math.Float32frombits(down + 0x10000)
		default:
			x[i] = math.Float32frombits(down)
		}
	}
}

// lastLogits are those of the token computed last, until the next.
func (m *Model) lastLogits() []float32 {
	normalize(m.x, m.h, m.weights.Norm, m.config.RMSNormEps)
	multiply(m.logits, m.head, m.x)
	m.config.HidePadding(m.logits)
	return m.logits
}

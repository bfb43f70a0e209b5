//go:build cuda

package cuda

import (
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// formats are the kernels' for what the device holds.
var formats = map[tensor.DType]kernels.Format{tensor.F32: kernels.F32, tensor.BF16: kernels.BF16}

// step is a block's way through the layers: so many tokens, whose residual stream is x.
type step struct {
	*Model
	t         *driver.Thread
	n         int
	x, normed uint64
	pending   uint64 // what is still to be added to x; 0: nothing
	err       error  // the first; nothing is launched behind it
}

// launched keeps a launch's error.
func (s *step) launched(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *step) eps() float32 { return float32(s.config.RMSNormEps) }

// few says whether the tokens are multiplied one by one, at the speed of memory.
func (s *step) few() bool { return s.n <= s.block.room.few }

// compute takes the block at hand through the model.
func (m *Model) compute(t *driver.Thread) error {
	s := step{Model: m, t: t, n: m.block.tokens(), x: m.scratch.x.Pointer, normed: m.scratch.normed.Pointer}
	m.numbers = m.block.stage(&m.staging)
	s.launched(t.Upload(m.staged, 0, m.staging.bytes))
	if s.err == nil {
		s.launched(m.kernels.Embed(t, m.format, s.x, m.weights.embed.at, m.numbers.ids, s.n, m.config.HiddenSize))
	}
	last := m.config.Layers - 1
	for i := range m.weights.layers {
		s.project(i)
		if i == last && len(m.block.asks) == 0 {
			s.launched(t.Synchronize())
			return s.err
		}
		s.attend(i)
		heads := m.heads.Pointer
		if i == last {
			heads = s.keep()
		}
		l := &m.weights.layers[i]
		s.add(l.o, heads)
		s.gated(l)
		if s.err != nil {
			return s.err
		}
	}
	return s.answer()
}

// product sets out to the matrix times rows of activations, which are normalized already.
func (s *step) product(out uint64, w matrix, in uint64, n int) {
	if s.err != nil {
		return
	}
	p := kernels.Product{Out: out, W: w.at, X: in, Rows: w.rows, Cols: w.cols, Tokens: n}
	s.launched(s.kernels.GEMM(s.t, s.format, p))
}

// norm makes normed of x and what is pending.
func (s *step) norm(weight uint64) {
	if s.err == nil {
		s.launched(s.kernels.AddNorm(s.t, s.x, s.pending, weight, s.normed, s.n, s.config.HiddenSize, s.eps()))
		s.pending = 0
	}
}

// ofNorm is a product with rows of x, normalized on the way: those from a row on.
func (s *step) ofNorm(out uint64, w matrix, weight uint64, from, n int) kernels.Product {
	x := s.x + uint64(4*from*s.config.HiddenSize)
	return kernels.Product{Out: out, W: w.at, X: x, Rows: w.rows, Cols: w.cols, Tokens: n, Norm: weight, Eps: s.eps()}
}

// project makes queries, and keys and values in their slots.
func (s *step) project(layer int) {
	c, l := &s.config, &s.weights.layers[layer]
	if s.few() {
		if s.err == nil {
			s.launched(s.kernels.MatVec(s.t, s.format, s.ofNorm(s.qkv.Pointer, l.qkv, l.inputNorm, 0, s.n)))
		}
	} else {
		s.norm(l.inputNorm)
		s.product(s.qkv.Pointer, l.qkv, s.normed, s.n)
	}
	if s.err != nil {
		return
	}
	s.launched(s.kernels.QKVStore(s.t, s.format, kernels.QKV{
		QKV: s.qkv.Pointer, QWeight: l.qNorm, KWeight: l.kNorm, KCache: s.keys[layer].Pointer, VCache: s.values[layer].Pointer,
		Slots: s.numbers.slots, Positions: s.numbers.positions, Frequencies: s.frequencies.Pointer,
		Tokens: s.n, HeadShape: s.shape(), Interleaved: s.pairs, Eps: float32(c.RMSNormEps),
	}))
}

func (s *step) shape() kernels.HeadShape {
	return kernels.HeadShape{Heads: s.config.Heads, KVHeads: s.config.KVHeads, Dim: s.config.HeadDim}
}

// attend leaves in heads what each token's take from its work's positions.
func (s *step) attend(layer int) {
	c, keys, values := &s.config, s.keys[layer].Pointer, s.values[layer].Pointer
	scale, decodes := float32(1/math.Sqrt(float64(c.HeadDim))), len(s.block.decodes)
	if decodes > 0 && s.err == nil {
		d := kernels.Decode{
			Out: s.heads.Pointer, Partial: s.partial.Pointer, Maxima: s.maxima.Pointer, Sums: s.sums.Pointer, QKV: s.qkv.Pointer,
			KCache: keys, VCache: values, Table: s.numbers.table, Starts: s.numbers.starts, Lengths: s.numbers.lengths,
			Works: decodes, Splits: kernels.Splits(s.block.longest), HeadShape: s.shape(), Scale: scale,
		}
		s.launched(s.kernels.AttendSplit(s.t, s.format, d))
		if s.err == nil {
			s.launched(s.kernels.AttendJoin(s.t, d))
		}
	}
	if extends := len(s.block.extends); extends > 0 && s.err == nil {
		behind := uint64(decodes)
		s.launched(s.kernels.Attend(s.t, s.format, kernels.Prefill{
			Out: s.heads.Pointer + behind*uint64(4*c.Heads*c.HeadDim), QKV: s.qkv.Pointer + behind*uint64(4*(c.Heads+2*c.KVHeads)*c.HeadDim),
			KCache: keys, VCache: values, Table: s.numbers.table, Tables: s.numbers.starts + 8*behind, Positions: s.numbers.positions + 4*behind,
			Tokens: extends, HeadShape: s.shape(), Scale: scale,
		}))
	}
}

// keep leaves the tokens that nothing is asked of: nobody needs them any more. It gives the place
// of the others' heads.
func (s *step) keep() uint64 {
	if s.block.inPlace() || s.err != nil {
		return s.heads.Pointer
	}
	s.n = len(s.block.asks)
	s.launched(s.kernels.Gather(s.t, s.normed, s.x, s.numbers.rows, s.n, s.config.HiddenSize))
	s.x, s.normed = s.normed, s.x
	if s.err == nil {
		s.launched(s.kernels.Gather(s.t, s.qkv.Pointer, s.heads.Pointer, s.numbers.rows, s.n, s.config.Heads*s.config.HeadDim))
	}
	return s.qkv.Pointer
}

// add adds a product to x, now or with the next norm.
func (s *step) add(w matrix, in uint64) {
	switch {
	case s.err != nil:
	case s.few():
		s.launched(s.kernels.MatVec(s.t, s.format, kernels.Product{Out: s.x, W: w.at, X: in, Rows: w.rows, Cols: w.cols, Tokens: s.n, Add: true}))
	default:
		s.product(s.added.Pointer, w, in, s.n)
		s.pending = s.added.Pointer
	}
}

// gated is the second half of a layer.
func (s *step) gated(l *layerWeights) {
	switch {
	case s.err != nil:
		return
	case s.few():
		p := s.ofNorm(s.inner.Pointer, l.gateUp, l.postAttentionNorm, 0, s.n)
		p.Rows /= 2
		s.launched(s.kernels.MatVecGated(s.t, s.format, p))
	default:
		s.norm(l.postAttentionNorm)
		s.product(s.gateUp.Pointer, l.gateUp, s.normed, s.n)
		if s.err == nil {
			s.launched(s.kernels.SiLUMul(s.t, s.inner.Pointer, s.gateUp.Pointer, s.n, s.config.IntermediateSize))
		}
	}
	s.add(l.down, s.inner.Pointer)
}

// head makes the logits of rows from one on.
func (s *step) head(from, n int) {
	w := s.weights.head
	w.rows = vocabulary(s.config)
	switch {
	case s.err != nil:
	case s.few():
		s.launched(s.kernels.MatVec(s.t, s.format, s.ofNorm(s.logits.Pointer, w, s.weights.norm, from, n)))
	default:
		if from == 0 {
			s.norm(s.weights.norm)
		}
		s.product(s.logits.Pointer, w, s.normed+uint64(4*from*w.cols), n)
	}
}

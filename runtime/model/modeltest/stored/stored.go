// Package stored makes checkpoints of seeded weights, in memory, in any dtype: for tests of
// models that are made of checkpoints.
package stored

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// Small is qwen3.Small with a short context, whose rows every format can have.
func Small() qwen3.Config {
	c := qwen3.Small()
	c.ContextLength = 512
	return c
}

// Tied is a Llama's: no norms of heads, the head tied to the embedding, three heads of queries
// to one of keys, and padding.
func Tied() qwen3.Config {
	c := Small()
	c.QKNorm, c.TieWordEmbeddings, c.Tokens, c.Heads = false, true, 250, 6
	return c
}

// Seeded are weights drawn for the config.
func Seeded(t testing.TB, c qwen3.Config, seed uint64) *qwen3.Weights {
	t.Helper()
	w, err := qwen3.Seeded(c, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var formats = map[tensor.DType]kernels.Format{
	tensor.F32: kernels.F32, tensor.F16: kernels.F16, tensor.BF16: kernels.BF16, tensor.Q8_0: kernels.Q8,
}

// Checkpoint has the weights, the matrices in a dtype, those of norms in F32.
func Checkpoint(t testing.TB, c qwen3.Config, w *qwen3.Weights, d tensor.DType) *checkpoint.Checkpoint {
	t.Helper()
	out, err := w.Checkpoint(c)
	if err != nil {
		t.Fatal(err)
	}
	matrix := func(m *tensor.Tensor) {
		shape := []uint64{uint64(m.Shape[0]), uint64(m.Shape[1])}
		made, err := tensor.New(m.Name, d, shape, kernels.Encode(formats[d], m.Float32()))
		if err != nil {
			t.Fatal(err)
		}
		*m = made
	}
	matrix(&out.Weights.Embed)
	if c.TieWordEmbeddings {
		out.Weights.Head = out.Weights.Embed
	} else {
		matrix(&out.Weights.Head)
	}
	for i := range out.Weights.Layers {
		l := &out.Weights.Layers[i]
		for _, m := range []*tensor.Tensor{&l.Q, &l.K, &l.V, &l.O, &l.Gate, &l.Up, &l.Down} {
			matrix(m)
		}
	}
	return out
}

// Open opens a checkpoint and closes it when the test ends.
func Open(t testing.TB, path string) *checkpoint.Checkpoint {
	t.Helper()
	c, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

package cpu

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// odd is a config whose numbers fit no vector, small one whose rows Q8 can have.
func odd() qwen3.Config {
	return qwen3.Config{
		VocabSize: 40, HiddenSize: 18, IntermediateSize: 30, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 6, QKNorm: true,
		RMSNormEps: 1e-6, RopeTheta: 1e4, ContextLength: 512, EOS: []int64{7},
	}
}

func small() qwen3.Config {
	c := qwen3.Small()
	c.ContextLength = 512
	return c
}

// tied is a Llama's: no norms of heads, the head tied to the embedding, and padding.
func tied() qwen3.Config {
	c := small()
	c.QKNorm, c.TieWordEmbeddings, c.Tokens, c.Heads = false, true, 250, 6
	return c
}

func seeded(t testing.TB, c qwen3.Config, seed uint64) *qwen3.Weights {
	t.Helper()
	w, err := qwen3.Seeded(c, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// stored is a checkpoint of the weights, their matrices in a dtype, those of norms in F32.
func stored(t testing.TB, c qwen3.Config, w *qwen3.Weights, d tensor.DType) *checkpoint.Checkpoint {
	t.Helper()
	lies := func(name string, d tensor.DType, values []float32, shape ...uint64) tensor.Tensor {
		x, err := tensor.New(name, d, shape, kernels.Encode(formats[d], values))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	matrix := func(name string, values []float32, rows, cols int) tensor.Tensor {
		return lies(name, d, values, uint64(rows), uint64(cols))
	}
	vector := func(name string, values []float32) tensor.Tensor {
		return lies(name, tensor.F32, values, uint64(len(values)))
	}
	h, i, q, kv := c.HiddenSize, c.IntermediateSize, c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	out := &checkpoint.Checkpoint{Config: checkpoint.Config{
		Architecture: "qwen3", VocabSize: c.VocabSize, Tokens: c.Tokens, HiddenSize: h, IntermediateSize: i, Layers: c.Layers, Heads: c.Heads,
		KVHeads: c.KVHeads, HeadDim: c.HeadDim, QKNorm: c.QKNorm, RMSNormEps: c.RMSNormEps, RopeTheta: c.RopeTheta, RopeFrequencies: c.RopeFrequencies,
		TieWordEmbeddings: c.TieWordEmbeddings, ContextLength: c.ContextLength, EOS: c.EOS,
	}}
	out.Weights.Embed, out.Weights.Norm = matrix("embed", w.Embed, c.VocabSize, h), vector("norm", w.Norm)
	out.Weights.Head = out.Weights.Embed
	if !c.TieWordEmbeddings {
		out.Weights.Head = matrix("head", w.Head, c.VocabSize, h)
	}
	for n, l := range w.Layers {
		in := fmt.Sprintf("%d.", n)
		layer := checkpoint.LayerWeights{
			InputNorm: vector(in+"inputnorm", l.InputNorm), PostAttentionNorm: vector(in+"postnorm", l.PostAttentionNorm),
			Q: matrix(in+"q", l.Q, q, h), K: matrix(in+"k", l.K, kv, h), V: matrix(in+"v", l.V, kv, h), O: matrix(in+"o", l.O, h, q),
			Gate: matrix(in+"gate", l.Gate, i, h), Up: matrix(in+"up", l.Up, i, h), Down: matrix(in+"down", l.Down, h, i),
		}
		if c.QKNorm {
			layer.QNorm, layer.KNorm = vector(in+"qnorm", l.QNorm), vector(in+"knorm", l.KNorm)
		}
		out.Weights.Layers = append(out.Weights.Layers, layer)
	}
	return out
}

const files = "../checkpoint/testdata"

func open(t testing.TB, name string) *checkpoint.Checkpoint {
	t.Helper()
	c, err := checkpoint.Open(filepath.Join(files, name))
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

func newModel(t testing.TB, c *checkpoint.Checkpoint, o Options) *Model {
	t.Helper()
	m, err := New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// subject is a checkpoint served with the options: each model of it on another number
// of threads, and with blocks of another size, down to a token.
func subject(c *checkpoint.Checkpoint, o Options) modeltest.Subject {
	made := 0
	return modeltest.Subject{VocabSize: c.VocabSize, New: func(t testing.TB, slots int, k *modeltest.Keeper) model.Model {
		o.Slots, o.Sampler, o.Threads = slots, k, 1+made%3
		m := newModel(t, c, o)
		if made%4 != 0 {
			m.tokens, m.logits = make([]token, 0, 1+made*7%60), m.logits[:(1+made*3%8)*c.VocabSize]
		}
		made++
		return m
	}}
}

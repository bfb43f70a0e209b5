package qwen3

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
)

// odd is a config with few numbers of each kind, quick to compute.
func odd() Config {
	return Config{
		VocabSize: 40, HiddenSize: 18, IntermediateSize: 30, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 6, QKNorm: true,
		RMSNormEps: 1e-6, RopeTheta: 1e4, ContextLength: 512, EOS: []int64{7},
	}
}

// small is the small model's config with a short context, quicker to begin with.
func small() Config {
	c := Small()
	c.ContextLength = 512
	return c
}

func seeded(t testing.TB, c Config, seed uint64) *Weights {
	t.Helper()
	w, err := Seeded(c, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newModel(t testing.TB, c Config, w *Weights, slots int, s Sampler) *Model {
	t.Helper()
	m, err := New(c, w, slots, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func subject(c Config, w *Weights) modeltest.Subject {
	return modeltest.Subject{VocabSize: c.VocabSize, New: func(t testing.TB, slots int, k *modeltest.Keeper) model.Model {
		return newModel(t, c, w, slots, k)
	}}
}

func alone(t testing.TB, c Config, w *Weights, prompt []int64, n int) (tokens []int64, logits [][]float32) {
	t.Helper()
	return subject(c, w).Alone(t, prompt, n)
}

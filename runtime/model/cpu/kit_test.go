package cpu

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// odd is a config whose numbers fit no vector.
func odd() qwen3.Config {
	return qwen3.Config{
		VocabSize: 40, HiddenSize: 18, IntermediateSize: 30, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 6, QKNorm: true,
		RMSNormEps: 1e-6, RopeTheta: 1e4, ContextLength: 512, EOS: []int64{7},
	}
}

func small() qwen3.Config { return stored.Small() }

func tied() qwen3.Config { return stored.Tied() }

func seeded(t testing.TB, c qwen3.Config, seed uint64) *qwen3.Weights {
	t.Helper()
	return stored.Seeded(t, c, seed)
}

const files = "../checkpoint/testdata"

func open(t testing.TB, name string) *checkpoint.Checkpoint {
	t.Helper()
	return stored.Open(t, filepath.Join(files, name))
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

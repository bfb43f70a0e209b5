package cpu

import (
	"math"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// compare gives the largest difference among the logits of the first so many ids; all
// others are to be -Inf.
func compare(t *testing.T, got, want [][]float32, tokens int) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("logits at %d positions, want %d", len(got), len(want))
	}
	worst := 0.0
	for p := range want {
		if len(got[p]) != len(want[p]) {
			t.Fatalf("%d logits at position %d, want %d", len(got[p]), p, len(want[p]))
		}
		for id, v := range got[p] {
			if id >= tokens {
				if !math.IsInf(float64(v), -1) {
					t.Fatalf("position %d: id %d is padding and has logit %v", p, id, v)
				}
				continue
			}
			off := math.Abs(float64(v) - float64(want[p][id]))
			if off != off {
				t.Fatalf("position %d, id %d: logit %v, want %v", p, id, v, want[p][id])
			}
			worst = max(worst, off)
		}
	}
	return worst
}

// Folders and GGUF files, Qwen3 and Llama, every dtype: logits are transformers' to
// 1e-4, over the whole vocabulary at every position. As the files lie this holds too
// where no activations become Q8.
func TestLogitsOfFilesAreThoseOfTransformers(t *testing.T) {
	for _, g := range modeltest.Goldens(t, files) {
		c := open(t, g.Name)
		tokens := c.VocabSize
		if c.Tokens > 0 {
			tokens = c.Tokens
		}
		for d, bound := range map[tensor.DType]float64{tensor.F32: 1e-4, 0: 1e-4} {
			if d == 0 && g.Name == "llama.gguf" {
				bound = 0.1 // its gate_proj and its head are Q8_0
			}
			off := compare(t, subject(c, Options{DType: d}).Everywhere(t, g.Prompt), g.Logits, tokens)
			if off > bound {
				t.Errorf("%s, dtype %v: logits are %v off, want at most %v", g.Name, d, off, bound)
			}
			t.Logf("%s, dtype %v: at most %.2g off", g.Name, d, off)
		}
	}
}

// plain is package qwen3 with the weights of a checkpoint whose matrices, all of them,
// are rounded to a dtype, and, where that is BF16, what it keeps as well.
func plain(t *testing.T, c qwen3.Config, w *qwen3.Weights, d tensor.DType) modeltest.Subject {
	t.Helper()
	rounded := stored.Checkpoint(t, c, w, d)
	c.CacheBF16 = d == tensor.BF16
	n := &qwen3.Weights{Embed: rounded.Weights.Embed.Float32(), Norm: w.Norm}
	if !c.TieWordEmbeddings {
		n.Head = rounded.Weights.Head.Float32()
	}
	for i, l := range rounded.Weights.Layers {
		layer := w.Layers[i]
		layer.Q, layer.K, layer.V, layer.O = l.Q.Float32(), l.K.Float32(), l.V.Float32(), l.O.Float32()
		layer.Gate, layer.Up, layer.Down = l.Gate.Float32(), l.Up.Float32(), l.Down.Float32()
		n.Layers = append(n.Layers, layer)
	}
	return modeltest.Subject{VocabSize: c.VocabSize, New: func(t testing.TB, slots int, k *modeltest.Keeper) model.Model {
		m, err := qwen3.New(c, n, slots, k)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}}
}

func drawn(n, vocab int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(7*i*i+3*i+i/5) % int64(vocab)
	}
	return ids
}

// In a dtype the logits are the plain loops' over weights rounded to it, whether they
// were rounded at loading or lay so in the file.
func TestDTypesRoundTheWeights(t *testing.T) {
	for _, c := range []qwen3.Config{odd(), small(), tied()} {
		w := seeded(t, c, 9)
		prompt := drawn(70, c.VocabSize)
		exact := plain(t, c, w, tensor.F32).Everywhere(t, prompt)
		tokens := c.VocabSize
		if c.Tokens > 0 {
			tokens = c.Tokens
		}
		for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
			want := plain(t, c, w, d).Everywhere(t, prompt)
			for _, from := range []tensor.DType{tensor.F32, d} {
				got := subject(stored.Checkpoint(t, c, w, from), Options{DType: d}).Everywhere(t, prompt)
				bound := 1e-4
				if d == tensor.BF16 { // a key next to the middle between two numbers is rounded to either, by its sum's last bit
					bound = 2e-3
				}
				if off := compare(t, got, want, tokens); off > bound {
					t.Errorf("%v from %v: %v off, want at most %v", d, from, off, bound)
				}
				if off := compare(t, got, exact, tokens); d != tensor.F32 && off < 1e-3 {
					t.Errorf("%v from %v: only %v off float32: rounding does not show", d, from, off)
				}
			}
		}
	}
}

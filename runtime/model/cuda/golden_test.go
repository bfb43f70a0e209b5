//go:build cuda

package cuda

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// bounds are how far logits may be from the twin's and from package cpu's.
var bounds = map[tensor.DType]float64{tensor.F32: 1e-5, tensor.BF16: 2e-3}

// Prompts of one token and of some, over the bounds of attention's parts and tiles, whole: the logits at every
// position are the twin's and package cpu's.
func TestLogitsAreTheTwins(t *testing.T) {
	for name, c := range map[string]qwen3.Config{"qwen3": stored.Small(), "llama": stored.Tied()} {
		w := stored.Seeded(t, c, 9)
		for d, bound := range bounds {
			from := stored.Checkpoint(t, c, w, d)
			for _, n := range []int{1, 7, 33, 140} {
				prompt := drawn(n, c.VocabSize)
				got := subject(from, Options{}, nil).Everywhere(t, prompt)
				twins, cpus := distance(t, got, twinLogits(from, prompt)), distance(t, got, onCPU(from, Options{DType: d}).Everywhere(t, prompt))
				t.Logf("%s, %v, %d tokens: at most %.2g off the twin's, %.2g off package cpu's", name, d, n, twins, cpus)
				if twins > bound || cpus > bound {
					t.Errorf("%s, %v, %d tokens: %.2g off the twin's and %.2g off package cpu's, want at most %v", name, d, n, twins, cpus, bound)
				}
			}
		}
	}
}

// Folders and GGUF files, Qwen3 and Llama: logits are transformers'.
func TestLogitsOfFilesAreThoseOfTransformers(t *testing.T) {
	for _, g := range modeltest.Goldens(t, files) {
		c := open(t, g.Name)
		got := subject(c, Options{DType: tensor.F32}, nil).Everywhere(t, g.Prompt)
		n := c.VocabSize
		if c.Tokens > 0 {
			n = c.Tokens
		}
		for p := range got {
			got[p], g.Logits[p] = got[p][:n], g.Logits[p][:n]
		}
		off := distance(t, got, g.Logits)
		t.Logf("%s: at most %.2g off", g.Name, off)
		if off > 1e-4 {
			t.Errorf("%s: logits are %v off, want at most 1e-4", g.Name, off)
		}
	}
}

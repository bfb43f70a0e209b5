package cpu

import (
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// In any batch, any blocks and on any number of threads: a request's logits are those it
// has alone.
func TestLogitsDependOnOwnTokensOnly(t *testing.T) {
	for _, kind := range []struct {
		config qwen3.Config
		stored tensor.DType
		o      Options
	}{
		{odd(), tensor.F32, Options{}}, {odd(), tensor.BF16, Options{}}, {odd(), tensor.F16, Options{}}, {small(), tensor.F32, Options{}},
		{small(), tensor.BF16, Options{}}, {small(), tensor.BF16, Options{Q8: true}}, {tied(), tensor.Q8_0, Options{}},
		{tied(), tensor.Q8_0, Options{DType: tensor.F16}},
	} {
		var d modeltest.Draws
		for seed := range uint64(4) {
			s := subject(stored.Checkpoint(t, kind.config, seeded(t, kind.config, seed), kind.stored), kind.o)
			s.TestBatches(t, seed, 100, &d)
		}
		if d.Batches < 20 || d.Shared < 2 || d.Cut < 20 {
			t.Errorf("%v %+v: the draw tests too little", kind.o, d)
		}
	}
}

func TestBatchesThatCannotBe(t *testing.T) {
	subject(stored.Checkpoint(t, odd(), seeded(t, odd(), 1), tensor.F32), Options{}).TestRefusals(t, "cpu", func(m model.Model) bool {
		return !slices.ContainsFunc(slices.Concat(m.(*Model).keys, m.(*Model).values), func(layer []float32) bool {
			return slices.ContainsFunc(layer, func(x float32) bool { return x != 0 })
		})
	})
}

// Positions that nothing is asked of leave before the others are done: the logits of
// those are the same.
func TestOthersAreNotMissed(t *testing.T) {
	for _, o := range []Options{{}, {Q8: true}} {
		s := subject(stored.Checkpoint(t, small(), seeded(t, small(), 2), tensor.BF16), o)
		prompt := drawn(90, 256)
		tokens, logits := s.Alone(t, prompt, 5)
		every := s.Everywhere(t, slices.Concat(prompt, tokens))
		for i, got := range logits {
			if !slices.Equal(got, every[len(prompt)-1+i]) {
				t.Errorf("%+v: token %d was chosen from other logits than where all are asked for", o, i)
			}
		}
	}
}

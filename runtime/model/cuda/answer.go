//go:build cuda

package cuda

import (
	"fmt"
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

// Chooser is a sampler that can choose of a row's largest logits, without seeing the others.
type Chooser interface {
	qwen3.Sampler
	// Enough says how many of the largest logits the work's choice needs, and at which
	// temperature it wants the logarithm of the sum over all; 0 where it needs all logits.
	Enough(w *model.Work) (k int, temperature float64)
	// ChooseOf is Choose for as many logits as Enough said: they are in order, the lower id first of
	// equals, and logSum is log Σ exp(logit/temperature) over all ids, as float32 arithmetic has it (not given, NaN, for
	// one logit). Not ok where it cannot be sure to choose what Choose would.
	ChooseOf(w *model.Work, ids []int64, logits []float32, logSum float64) (c model.Choice, ok bool)
}

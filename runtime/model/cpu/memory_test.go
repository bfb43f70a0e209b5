package cpu

import (
	"math"
	"runtime"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// large is a config whose memory shows among what else a test takes.
func large() qwen3.Config {
	return qwen3.Config{
		VocabSize: 3000, HiddenSize: 256, IntermediateSize: 800, Layers: 3, Heads: 4, KVHeads: 2, HeadDim: 64, QKNorm: true,
		RMSNormEps: 1e-6, RopeTheta: 1e6, ContextLength: 1500,
	}
}

// quiet is a sampler that allocates nothing.
type quiet struct{ qwen3.Greedy }

func (quiet) Choose(_ *model.Work, logits []float32) (model.Choice, error) {
	return model.Choice{Token: model.Greedy(logits)}, nil
}

func (quiet) Logprobs([]float32, int64, model.Logprobs) (model.Position, error) {
	return model.Position{}, nil
}

func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// What Size says is what the heap grows by, with a batch of more than a block.
func TestSizeIsWhatIsTaken(t *testing.T) {
	c := large()
	w := seeded(t, c, 1)
	for _, o := range []Options{{}, {DType: tensor.F32}, {DType: tensor.BF16}, {Q8: true}, {DType: tensor.F16, Q8: true, ContextLength: 800}} {
		from := stored.Checkpoint(t, c, w, tensor.BF16)
		o.Slots, o.Sampler, o.Threads = c.ContextLength, quiet{}, 32
		size, err := Size(from, o)
		if err != nil {
			t.Fatal(err)
		}
		before := heap()
		m := newModel(t, from, o)
		work := model.Work{IDs: drawn(600, c.VocabSize), Slots: modeltest.ShuffledSlots(600, 1), Next: -1, Sample: true}
		modeltest.Forward(t, m, work)
		want, got := size.Weights+int64(o.Slots)*size.Slot, heap()-before
		if off := math.Abs(float64(got)/float64(want) - 1); off > 0.02 { // allocations are rounded up
			t.Errorf("%+v: the heap grew by %d bytes, Size says %d", o, got, want)
		}
		runtime.KeepAlive(m)
		runtime.KeepAlive(from)
	}
}

// matrixBytes are those of all matrices of a checkpoint with a tied head.
func matrixBytes(c *checkpoint.Checkpoint) int64 {
	n := len(c.Weights.Embed.Data)
	for _, l := range c.Weights.Layers {
		for _, m := range []tensor.Tensor{l.Q, l.K, l.V, l.O, l.Gate, l.Up, l.Down} {
			n += len(m.Data)
		}
	}
	return int64(n)
}

// Nothing is copied that can stay in the mapping.
func TestMatricesStayInTheMapping(t *testing.T) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.Q8_0} {
		from := stored.Checkpoint(t, tied(), seeded(t, tied(), 1), d)
		o := Options{Slots: 1, Sampler: quiet{}}
		for _, dtype := range []tensor.DType{0, d} {
			if o.DType = dtype; d == tensor.Q8_0 {
				o.DType, o.Q8 = 0, true
			}
			if size, err := Size(from, o); err != nil || size.Mapped != matrixBytes(from) {
				t.Errorf("%v with dtype %v: Size says %d mapped, %v, want %d", d, dtype, size.Mapped, err, matrixBytes(from))
			}
			w, l := newModel(t, from, o).weights, from.Weights.Layers[1]
			for _, pair := range []struct {
				m kernels.Matrix
				t tensor.Tensor
			}{
				{w.embed, from.Weights.Embed}, {w.head, from.Weights.Embed}, {w.layers[1].q, l.Q}, {w.layers[1].k, l.K}, {w.layers[1].v, l.V},
				{w.layers[1].o, l.O}, {w.layers[1].gate, l.Gate}, {w.layers[1].up, l.Up}, {w.layers[1].down, l.Down},
			} {
				if &pair.m.Data[0] != &pair.t.Data[0] || pair.m.Rows != pair.t.Shape[0] || pair.m.Cols != pair.t.Shape[1] {
					t.Errorf("%v with dtype %v: %s is a copy", d, dtype, pair.t.Name)
				}
			}
		}
	}
}

// A decode step allocates nothing, whatever its batch, once there was one like it; nor
// does a prefill.
func TestStepAllocatesNothing(t *testing.T) {
	for _, o := range []Options{{}, {Q8: true}} {
		o.Slots, o.Sampler, o.Threads = 400, quiet{}, 2
		m := newModel(t, stored.Checkpoint(t, small(), seeded(t, small(), 1), tensor.BF16), o)
		prompts := &model.Batch{}
		steps := &model.Batch{}
		for i := range 3 {
			n := 100 - i
			slots := modeltest.ShuffledSlots(400, 1)[i*100:][:100]
			prompts.Work = append(prompts.Work, model.Work{IDs: drawn(n, 256), Slots: slots[:n], Next: -1, Sample: true})
			steps.Work = append(steps.Work, model.Work{IDs: []int64{5}, Start: n - 1, Slots: slots[:n], Next: -1, Sample: true})
		}
		for name, b := range map[string]*model.Batch{"prefill": prompts, "decode": steps} {
			n := testing.AllocsPerRun(20, func() {
				if _, err := m.Forward(b); err != nil {
					t.Fatal(err)
				}
			})
			if n != 0 && kernels.Implementation() != "go" { // the plain loops widen rows in memory that they make
				t.Errorf("%v: %v allocations a %s", o, n, name)
			}
		}
	}
}

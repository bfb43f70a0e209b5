//go:build cuda

package cuda

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// What Size says is what the device has allocated.
func TestSizeIsWhatIsTaken(t *testing.T) {
	for _, c := range []struct{ tied bool }{{false}, {true}} {
		config := stored.Small()
		if c.tied {
			config = stored.Tied()
		}
		for _, o := range []Options{{}, {DType: tensor.BF16}, {DType: tensor.F32, ContextLength: 100}} {
			from := stored.Checkpoint(t, config, stored.Seeded(t, config, 1), tensor.F32)
			size, err := Size(from, o)
			if err != nil {
				t.Fatal(err)
			}
			o.Slots, o.Sampler = 70, &greedy{}
			m, taken := newModel(t, from, o), int64(0)
			for _, b := range m.arena.buffers {
				taken += b.Bytes
			}
			if want := size.Weights + 70*size.Slot; taken != want {
				t.Errorf("%+v: %d bytes are taken, Size says %d", o, taken, want)
			}
		}
	}
}

// A decode step allocates nothing on the device, and on the host only arguments of launches; it has
// one upload, one wait, and as many launches as the kernels' design says.
func TestWhatAStepCosts(t *testing.T) {
	c := stored.Small()
	m := newModel(t, stored.Checkpoint(t, c, stored.Seeded(t, c, 1), tensor.BF16), Options{Slots: 400, Sampler: &greedy{}})
	var steps []model.Work
	for i := range 3 {
		slots := modeltest.ShuffledSlots(400, 1)[i*100:][:6+i]
		n := len(slots) - 1
		modeltest.Forward(t, m, model.Work{IDs: drawn(n, 256), Slots: slots[:n], Next: 5})
		steps = append(steps, model.Work{IDs: []int64{5}, Start: n, Slots: slots, Next: -1, Sample: true})
	}
	modeltest.Forward(t, m, steps...)
	before, err := m.device.Counts()
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Forward(t, m, steps...)
	after, err := m.device.Counts()
	if err != nil {
		t.Fatal(err)
	}
	design := kernels.Decoder{Format: kernels.BF16, Layers: c.Layers}.Step(3, 8).Launches
	if after.Allocations != before.Allocations || after.Uploads-before.Uploads != 1 || after.Synchronizations-before.Synchronizations != 1 ||
		after.Launches-before.Launches != int64(design) {
		t.Errorf("a step: from %+v to %+v, want no allocation, one upload, one wait, %d launches", before, after, design)
	}
	batch := &model.Batch{Work: steps}
	n := testing.AllocsPerRun(3, func() {
		if _, err := m.Forward(batch); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%v allocations of the host a step", n)
	if n > 6*float64(design) { // of arguments, each launch
		t.Errorf("%v allocations of the host a step, want few for each of %d launches", n, design)
	}
}

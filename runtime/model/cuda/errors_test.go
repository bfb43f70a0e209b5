//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver/drivertest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

func small(t testing.TB, d tensor.DType) *checkpoint.Checkpoint {
	t.Helper()
	return stored.Checkpoint(t, stored.Small(), stored.Seeded(t, stored.Small(), 1), d)
}

// What cannot be is named by Size and by New, before a device is opened.
func TestOptionsThatCannotBe(t *testing.T) {
	const ask = "ask for F32 or BF16 (--dtype float32 or bfloat16)"
	for want, change := range map[string]func(o *Options, c *checkpoint.Checkpoint){
		"cuda: ContextLength is 513, expected 1 to 512":            func(o *Options, _ *checkpoint.Checkpoint) { o.ContextLength = 513 },
		"cuda: ContextLength is -1, expected":                      func(o *Options, _ *checkpoint.Checkpoint) { o.ContextLength = -1 },
		"cuda: DType is F16, expected F32, BF16 or none":           func(o *Options, _ *checkpoint.Checkpoint) { o.DType = tensor.F16 },
		"cuda: DType is DType(99), expected":                       func(o *Options, _ *checkpoint.Checkpoint) { o.DType = 99 },
		"cuda: rows of Q and K in pairs and with q_norm":           func(_ *Options, c *checkpoint.Checkpoint) { c.QKPairs = true },
		"cuda: qwen3: HeadDim is 7, expected an even":              func(_ *Options, c *checkpoint.Checkpoint) { c.HeadDim = 7 },
		"cuda: HeadDim is 20, expected a multiple of 8 up to 128":  func(_ *Options, c *checkpoint.Checkpoint) { c.HeadDim = 20 },
		"cuda: HeadDim is 136, expected a multiple of 8 up to 128": func(_ *Options, c *checkpoint.Checkpoint) { c.HeadDim = 136 },
		"cuda: HiddenSize is 16392, expected a multiple":           func(_ *Options, c *checkpoint.Checkpoint) { c.HiddenSize = 16392 },
		"cuda: HiddenSize is 18, expected a multiple of 8":         func(_ *Options, c *checkpoint.Checkpoint) { c.HiddenSize = 18 },
		"cuda: IntermediateSize is 30, expected a multiple of 8":   func(_ *Options, c *checkpoint.Checkpoint) { c.IntermediateSize = 30 },
		"cuda: tensor model.layers.1.mlp.up_proj.weight is BF16 and model.embed_tokens.weight is F32: " + ask: func(_ *Options, c *checkpoint.Checkpoint) {
			c.Weights.Layers[1].Up = small(t, tensor.BF16).Weights.Layers[1].Up
		},
		"cuda: tensor model.layers.0.self_attn.o_proj.weight is Q8_0, which has no kernel: " + ask: func(_ *Options, c *checkpoint.Checkpoint) {
			c.Weights.Layers[0].O = small(t, tensor.Q8_0).Weights.Layers[0].O
		},
	} {
		o, c := Options{Slots: 1, Sampler: qwen3.Greedy{}}, small(t, tensor.F32)
		change(&o, c)
		_, err := New(c, o)
		wantError(t, err, want)
		_, err = Size(c, o)
		wantError(t, err, want)
	}
	for want, o := range map[string]Options{
		"cuda: 0 slots, expected 1 to 2147483647": {Sampler: qwen3.Greedy{}},
		"cuda: 2147483648 slots":                  {Sampler: qwen3.Greedy{}, Slots: math.MaxInt32 + 1},
		"cuda: no sampler":                        {Slots: 1},
	} {
		_, err := New(small(t, tensor.F32), o)
		wantError(t, err, want)
	}
}

// Other dtypes are converted where that is asked for: the logits are package cpu's of the same.
func TestConvertedDTypes(t *testing.T) {
	prompt := drawn(6, 259)
	for _, lies := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.Q8_0} {
		c := small(t, lies)
		got := subject(c, Options{DType: tensor.F32}, nil).Everywhere(t, prompt)
		if off := distance(t, got, onCPU(c, Options{DType: tensor.F32}).Everywhere(t, prompt)); off > 1e-5 {
			t.Errorf("%v as F32: %v off package cpu's, want at most 1e-5", lies, off)
		}
	}
	w := stored.Seeded(t, stored.Small(), 1)
	rounded := stored.Checkpoint(t, stored.Small(), w, tensor.BF16)
	got := subject(stored.Checkpoint(t, stored.Small(), w, tensor.F32), Options{DType: tensor.BF16}, nil).Everywhere(t, prompt)
	if off := distance(t, got, twinLogits(rounded, prompt)); off > 1e-5 {
		t.Errorf("F32 as BF16: %v off those of rounded weights, want at most 1e-5", off)
	}
	w.Layers[1].Up[500] = -0x1.FFp127
	drivertest.Fake(t)
	_, err := New(stored.Checkpoint(t, stored.Small(), w, tensor.F32), Options{DType: tensor.BF16, Slots: 1, Sampler: qwen3.Greedy{}})
	wantError(t, err, "cuda: tensor model.layers.1.mlp.up_proj.weight as BF16: it has -3.3961775e+38, which is beyond the format's range")
}

// Too little memory is an error with the sizes, wherever it ends, and leaves nothing behind.
func TestTooLittleMemory(t *testing.T) {
	drivertest.Fake(t)
	report := drivertest.Report(t)
	c := small(t, tensor.F32)
	size, err := Size(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	for memory := int64(1 << 16); memory < size.Weights+100*size.Slot; memory += size.Weights / 6 {
		t.Setenv("FAKECUDA_MEMORY", fmt.Sprint(memory))
		_, err := New(c, Options{Slots: 100, Sampler: qwen3.Greedy{}})
		if !errors.Is(err, driver.ErrMemory) || !strings.Contains(err.Error(), fmt.Sprintf("100 slots %d", 100*size.Slot)) {
			t.Errorf("%d bytes: %v, want an error with the sizes", memory, err)
		}
		tries++
	}
	if got := strings.Count(report(), `"left_allocations": 0`); got != tries {
		t.Errorf("%d of %d devices had nothing left: %s", got, tries, report())
	}
}

// A device that cannot be used says what is wanted.
func TestDevicesThatCannotBe(t *testing.T) {
	drivertest.Fake(t)
	for _, test := range [][2]string{
		{"FANOUTBENCH_LIBCUDA=libnone.so.1", "no CUDA driver"},
		{"FAKECUDA_DRIVER=12020", "the driver is of CUDA 12.2, want 12.9 or later"},
		{"FAKECUDA_CAPABILITY=7.5", "compute capability 7.5, want at least 8.0"},
		{"FAKECUDA_DEVICES=0", "CUDA_ERROR_NO_DEVICE"},
	} {
		t.Run(test[0], func(t *testing.T) {
			drivertest.Process(t, func(t *testing.T) {
				_, err := New(small(t, tensor.F32), Options{Slots: 1, Sampler: qwen3.Greedy{}})
				wantError(t, err, test[1])
				_, err = Probe(0)
				wantError(t, err, test[1])
			}, test[0])
		})
	}
}

// works are a prompt and, behind it, decodes, for every kernel that there is.
func works() (prompt, decode model.Work) {
	slots := modeltest.ShuffledSlots(12, 4)
	prompt = model.Work{RID: "p", IDs: drawn(11, 259), Slots: slots[:11], Next: -1, Sample: true}
	return prompt, model.Work{RID: "d", IDs: []int64{3}, Start: 11, Slots: slots, Next: -1, Sample: true}
}

// greedy is a Chooser that always has enough with the largest.
type greedy struct{ modeltest.Keeper }

func (*greedy) Enough(*model.Work) (int, float64) { return 1, 1 }
func (*greedy) ChooseOf(_ *model.Work, ids []int64, _ []float32, _ float64) (model.Choice, bool) {
	return model.Choice{Token: ids[0]}, true
}

// A call that fails in a step is that step's error, by name; the next step is computed as if nothing had
// been.
func TestFailuresInAStep(t *testing.T) {
	prompt, decode := works()
	m := newModel(t, small(t, tensor.F32), Options{Slots: 12, Sampler: &greedy{}})
	want := modeltest.Forward(t, m, prompt).Chosen[0].Token
	behind := modeltest.Forward(t, m, decode).Chosen[0].Token
	for i, call := range []string{
		"cuLaunchKernel/embed_f32:1:2", "cuLaunchKernel/add_norm:3:701", "cuLaunchKernel/gemm_f32:5:2", "cuLaunchKernel/qkv_store_f32:2:2",
		"cuLaunchKernel/attend_f32:1:2", "cuLaunchKernel/silu_mul:1:701", "cuLaunchKernel/argmax:1:2", "cuMemcpyHtoDAsync:1:2", "cuMemcpyDtoHAsync:1:2",
	} {
		t.Setenv("FAKECUDA_FAIL", call)
		_, err := m.Forward(&model.Batch{Work: []model.Work{prompt}})
		wantError(t, err, map[bool]string{true: "CUDA_ERROR_OUT_OF_MEMORY (2)", false: "(701)"}[strings.HasSuffix(call, ":2")])
		if errors.Is(err, model.ErrLost) {
			t.Errorf("%s: %v, want an error of this step alone", call, err)
		}
		t.Setenv("FAKECUDA_FAIL", fmt.Sprintf("cuLaunchKernel/nothing%d:1:2", i))
		if got := modeltest.Forward(t, m, prompt).Chosen[0].Token; got != want {
			t.Errorf("behind %s: token %d, want %d", call, got, want)
		}
		if got := modeltest.Forward(t, m, decode).Chosen[0].Token; got != behind {
			t.Errorf("behind %s: token %d after that, want %d", call, got, behind)
		}
	}
}

// A kernel that fails takes the device along: each call says so from then on.
func TestLostDevice(t *testing.T) {
	drivertest.Fake(t)
	drivertest.Process(t, func(t *testing.T) {
		prompt, decode := works()
		m, err := New(small(t, tensor.F32), Options{Slots: 12, Sampler: &greedy{}})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("FAKECUDA_FAIL", "kernel/silu_mul:1:719")
		for range 2 {
			_, err = m.Forward(&model.Batch{Work: []model.Work{prompt}})
			wantError(t, err, "CUDA_ERROR_LAUNCH_FAILED (719)")
			if !errors.Is(err, model.ErrLost) {
				t.Errorf("error %v, want ErrLost", err)
			}
		}
		_, err = m.Forward(&model.Batch{Work: []model.Work{decode}})
		wantError(t, err, "the device is lost to this process")
		if err := m.Close(); err == nil {
			t.Error("the device was closed without an error")
		}
		_, err = m.Forward(&model.Batch{Work: []model.Work{decode}})
		if !errors.Is(err, model.ErrLost) || !errors.Is(err, driver.ErrClosed) {
			t.Errorf("behind Close: %v, want ErrLost and ErrClosed", err)
		}
	})
}

// A NaN among the weights shows in the logits, and the device's argmax does not hide it.
func TestNaNsGoThrough(t *testing.T) {
	w := stored.Seeded(t, stored.Small(), 1)
	w.Layers[0].Gate[0] = float32(math.NaN())
	logits := subject(stored.Checkpoint(t, stored.Small(), w, tensor.BF16), Options{}, nil).Everywhere(t, []int64{1, 2})
	if !slices.ContainsFunc(logits[1], func(v float32) bool { return v != v }) {
		t.Errorf("no NaN among %v", logits[1][:5])
	}
}

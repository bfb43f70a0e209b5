package cpu

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

func TestOptionsThatCannotBe(t *testing.T) {
	for want, change := range map[string]func(*Options, *checkpoint.Checkpoint){
		"cpu: DType is Q8_0, expected F32, F16, BF16 or none":        func(o *Options, _ *checkpoint.Checkpoint) { o.DType = tensor.Q8_0 },
		"cpu: ContextLength is 513, expected 1 to 512, the model's":  func(o *Options, _ *checkpoint.Checkpoint) { o.ContextLength = 513 },
		"cpu: ContextLength is -1, expected":                         func(o *Options, _ *checkpoint.Checkpoint) { o.ContextLength = -1 },
		"cpu: -1 threads, expected 1 to 4096, or 0":                  func(o *Options, _ *checkpoint.Checkpoint) { o.Threads = -1 },
		"cpu: 4097 threads, expected":                                func(o *Options, _ *checkpoint.Checkpoint) { o.Threads = 4097 },
		"cpu: rows of Q and K in pairs and with q_norm and k_norm":   func(_ *Options, c *checkpoint.Checkpoint) { c.QKPairs = true },
		"cpu: qwen3: HeadDim is 7, expected an even":                 func(_ *Options, c *checkpoint.Checkpoint) { c.HeadDim = 7 },
		"cpu: tensor lm_head.weight as Q8: Q8_0 [40 18]: rows of 18": func(o *Options, _ *checkpoint.Checkpoint) { o.Q8 = true },
	} {
		o, c := Options{Slots: 1, Sampler: qwen3.Greedy{}}, stored.Checkpoint(t, odd(), seeded(t, odd(), 1), tensor.F32)
		change(&o, c)
		_, err := New(c, o)
		wantError(t, err, want)
		_, err = Size(c, o)
		wantError(t, err, want)
	}
	for want, o := range map[string]Options{
		"cpu: 0 slots, expected 1 to 2147483647":  {Sampler: qwen3.Greedy{}},
		"cpu: -1 slots, expected":                 {Sampler: qwen3.Greedy{}, Slots: -1},
		"cpu: 2147483648 slots, expected 1 to 21": {Sampler: qwen3.Greedy{}, Slots: math.MaxInt32 + 1},
		"cpu: no sampler":                         {Slots: 1},
	} {
		_, err := New(stored.Checkpoint(t, odd(), seeded(t, odd(), 1), tensor.F32), o)
		wantError(t, err, want)
	}
	wide := odd()
	wide.Layers, wide.HeadDim = 5, 500
	_, err := New(stored.Checkpoint(t, wide, seeded(t, wide, 1), tensor.F32), Options{Slots: math.MaxInt32, Sampler: qwen3.Greedy{}})
	wantError(t, err, "cpu: 2147483647 slots of 40000 bytes, expected at most 70368744177664 bytes in all")
}

// A weight that a format has no number for is an error that names it, and no infinity;
// the largest below is rounded.
func TestWeightsBeyondAFormat(t *testing.T) {
	for _, test := range []struct {
		o      Options
		fits   float32
		beyond float32
		want   string
	}{
		{Options{DType: tensor.F16}, 65519.996, 65520, "tensor model.layers.1.mlp.up_proj.weight as F16: it has 65520, which is beyond"},
		{Options{DType: tensor.BF16}, math.Nextafter32(0x1.FFp127, 0), -0x1.FFp127, "tensor model.layers.1.mlp.up_proj.weight as BF16: it has -3.3961775e+38"},
		{Options{Q8: true}, 8.32e6, 8.33e6, "tensor model.layers.1.mlp.up_proj.weight as Q8: it has 8.33e+06"},
	} {
		w := seeded(t, small(), 1)
		test.o.Slots, test.o.Sampler = 1, qwen3.Greedy{}
		w.Layers[1].Up[5000] = test.fits
		newModel(t, stored.Checkpoint(t, small(), w, tensor.F32), test.o)
		w.Layers[1].Up[5000] = test.beyond
		_, err := New(stored.Checkpoint(t, small(), w, tensor.F32), test.o)
		wantError(t, err, test.want)
	}
}

// A NaN among the weights shows in the logits: the sampler has to refuse it.
func TestNaNsGoThrough(t *testing.T) {
	w := seeded(t, small(), 1)
	w.Layers[0].Gate[0] = float32(math.NaN())
	for _, o := range []Options{{}, {DType: tensor.F16}, {Q8: true}} {
		logits := subject(stored.Checkpoint(t, small(), w, tensor.BF16), o).Everywhere(t, []int64{1, 2})
		if !slices.ContainsFunc(logits[1], func(v float32) bool { return v != v }) {
			t.Errorf("%+v: no NaN among %v", o, logits[1][:5])
		}
	}
}

// fails is a sampler that cannot.
type fails struct{}

func (fails) Choose(*model.Work, []float32) (model.Choice, error) {
	return model.Choice{}, errors.New("no choice")
}

func (fails) Logprobs([]float32, int64, model.Logprobs) (model.Position, error) {
	return model.Position{}, errors.New("no log-probability")
}

func TestSamplersErrorNamesTheRequest(t *testing.T) {
	m := newModel(t, stored.Checkpoint(t, odd(), seeded(t, odd(), 1), tensor.F32), Options{Slots: 8, Sampler: fails{}})
	w := model.Work{RID: "a", IDs: []int64{1, 2}, Slots: []int32{0, 1}, Next: -1, Sample: true}
	_, err := m.Forward(&model.Batch{Work: []model.Work{w}})
	wantError(t, err, `cpu: rid "a": no choice`)
	w.Logprobs.Want = true
	_, err = m.Forward(&model.Batch{Work: []model.Work{w}})
	wantError(t, err, `cpu: rid "a": no log-probability`)
}

// A model that is closed, or could not be made, leaves no goroutine behind.
func TestCloseEndsTheThreads(t *testing.T) {
	before := runtime.NumGoroutine()
	c := stored.Checkpoint(t, odd(), seeded(t, odd(), 1), tensor.F32)
	m, err := New(c, Options{Slots: 1, Sampler: qwen3.Greedy{}, Threads: 50})
	if err != nil {
		t.Fatal(err)
	}
	if got := runtime.NumGoroutine(); got < before+40 { // some of tests before may have been about to end
		t.Errorf("%d goroutines after %d, want 49 more", got, before)
	}
	m.Close()
	_, err = New(c, Options{Slots: 1, Sampler: qwen3.Greedy{}, Threads: 50, Q8: true})
	wantError(t, err, "as Q8")
	for range 1000 { // they have said that they end
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines after the end, %d before", runtime.NumGoroutine(), before)
}

// The context may be shorter than the model's, and nothing longer is computed then.
func TestShorterContext(t *testing.T) {
	c := stored.Checkpoint(t, odd(), seeded(t, odd(), 1), tensor.F32)
	for option, want := range map[int]int{0: 512, 512: 512, 20: 20} {
		m := newModel(t, c, Options{Slots: 1, Sampler: qwen3.Greedy{}, ContextLength: option})
		if got := m.Limits(); got.ContextLength != want || got.VocabSize != 40 || !slices.Equal(got.EOS, []int64{7}) {
			t.Errorf("ContextLength %d: limits %+v", option, got)
		}
		w := model.Work{IDs: make([]int64, want+1), Slots: make([]int32, want+1), Next: -1}
		_, err := m.Forward(&model.Batch{Work: []model.Work{w}})
		wantError(t, err, fmt.Sprintf("%d tokens, expected at most %d", want+1, want))
	}
}

//go:build cuda

package cuda

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver/drivertest"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// qwen06 is Qwen3-0.6B's shape.
func qwen06() qwen3.Config {
	return qwen3.Config{
		VocabSize: 151936, HiddenSize: 1024, IntermediateSize: 3072, Layers: 28, Heads: 16, KVHeads: 8, HeadDim: 128, QKNorm: true,
		RMSNormEps: 1e-6, RopeTheta: 1e6, TieWordEmbeddings: true, ContextLength: 40960,
	}
}

// speed is what the device did, as scripts/gpu_check.sh reports it.
type speed struct {
	Device    driver.Info `json:"device"`
	Missing   []string    `json:"missing_functions"` // of libcuda, that the program is linked with
	Model     string      `json:"model"`
	Bandwidth float64     `json:"bandwidth_bytes_per_s"`
	Peak      float64     `json:"tensor_cores_flop_per_s"`
	NewS      float64     `json:"new_s"` // allocation, upload and PTX
	Decode    []rate      `json:"decode"`
	Prefill   []rate      `json:"prefill"`
}

// rate is a kind of step: the median time, and its share of what the device's data sheet allows.
type rate struct {
	Works   int     `json:"works"`
	Context int     `json:"context"`
	Seconds float64 `json:"step_s"`
	Share   float64 `json:"share"`
}

// number is a variable's, or the default.
func number(t *testing.T, variable string, otherwise float64) float64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%s=%s, want a number", variable, text)
	}
	return v
}

// median of so many steps' times.
func median(t *testing.T, m *Model, n int, works ...model.Work) float64 {
	t.Helper()
	var times []float64
	for range n + 1 {
		begin := time.Now()
		modeltest.Forward(t, m, works...)
		times = append(times, time.Since(begin).Seconds())
	}
	times = times[1:]
	slices.Sort(times)
	return times[len(times)/2]
}

// Times prefill and decode steps, and writes what it found to FANOUTBENCH_GPU_REPORT. Nothing is asserted of a time;
// on the fake driver, with the small model, it shows that the report can be made. FANOUTBENCH_GPU_MODEL=qwen3-0.6b is for a device.
func TestSpeed(t *testing.T) {
	drivertest.Fake(t)
	c, name, contexts, steps := stored.Small(), "qwen3-small", []int{1, 20}, 1
	if os.Getenv("FANOUTBENCH_GPU_MODEL") == "qwen3-0.6b" {
		c, name, contexts, steps = qwen06(), "qwen3-0.6b, random weights", []int{1, 1000, 8000}, 50
	}
	s := speed{Model: name, Bandwidth: number(t, "FANOUTBENCH_GPU_BANDWIDTH", 4.8e12), Peak: number(t, "FANOUTBENCH_GPU_FLOPS", 989.4e12)} // of an H200
	from := stored.Checkpoint(t, c, stored.Seeded(t, c, 1), tensor.BF16)
	longest := slices.Max(contexts)
	begin := time.Now()
	m := newModel(t, from, Options{Slots: 8 * longest, Sampler: &greedy{}})
	s.NewS, s.Device, s.Missing = time.Since(begin).Seconds(), m.device.Info(), driver.Missing()
	slots := modeltest.ShuffledSlots(8*longest, 1)
	of := func(i, start, end int) model.Work {
		return model.Work{IDs: drawn(end, c.VocabSize)[start:], Start: start, Slots: slots[i*longest:][:end], Next: -1, Sample: true}
	}
	shape := kernels.HeadShape{Heads: c.Heads, KVHeads: c.KVHeads, Dim: c.HeadDim}
	design := kernels.Decoder{
		Format: kernels.BF16, Layers: c.Layers, Hidden: c.HiddenSize, Inner: c.IntermediateSize, HeadShape: shape, HeadNorms: c.QKNorm, Vocabulary: vocabulary(c),
	}
	matrices := c.HiddenSize*(2*c.Heads+2*c.KVHeads)*c.HeadDim + 3*c.HiddenSize*c.IntermediateSize
	for _, n := range contexts {
		r := rate{Works: 1, Context: n, Seconds: median(t, m, min(steps, 5), of(0, 0, n))}
		flops := float64(c.Layers) * (2*float64(matrices)*float64(n) + 2*float64(c.Heads*c.HeadDim)*float64(n)*float64(n))
		r.Share = flops / r.Seconds / s.Peak // the kernels do three times as many: a third is the most
		s.Prefill = append(s.Prefill, r)
		for i := 1; i < 8; i++ {
			modeltest.Forward(t, m, of(i, 0, n))
		}
		for _, works := range []int{1, 8} {
			var all []model.Work
			for i := range works {
				all = append(all, of(i, n-1, n))
			}
			r := rate{Works: works, Context: n, Seconds: median(t, m, steps, all...)}
			r.Share = float64(design.Step(works, n).Bytes()) / r.Seconds / s.Bandwidth
			s.Decode = append(s.Decode, r)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	if path := os.Getenv("FANOUTBENCH_GPU_REPORT"); path != "" {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

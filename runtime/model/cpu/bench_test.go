package cpu

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// qwen306 is the shape of Qwen3-0.6B, with a short context.
func qwen306() qwen3.Config {
	return qwen3.Config{
		VocabSize: 151936, HiddenSize: 1024, IntermediateSize: 3072, Layers: 28, Heads: 16, KVHeads: 8, HeadDim: 128, QKNorm: true,
		RMSNormEps: 1e-6, RopeTheta: 1e6, TieWordEmbeddings: true, ContextLength: 1024,
	}
}

// noise is a checkpoint of the shape in BF16, its weights drawn from -1/8 to 1/8: fast,
// for numbers nobody looks at. 1.2 GB of memory for Qwen3-0.6B.
func noise(b *testing.B, c qwen3.Config) *checkpoint.Checkpoint {
	b.Helper()
	r := rand.NewPCG(1, 0)
	lies := func(name string, shape ...uint64) tensor.Tensor {
		size, err := tensor.BF16.Size(shape)
		if err != nil {
			b.Fatal(err)
		}
		data := make([]byte, 0, size+8)
		for uint64(len(data)) < size { // signs, exponents of 2^-11 to 2^-4, fractions
			data = binary.LittleEndian.AppendUint64(data, r.Uint64()&0x83ff83ff83ff83ff|0x3a003a003a003a00)
		}
		t, err := tensor.New(name, tensor.BF16, shape, data[:size])
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
	h, i, q, kv := uint64(c.HiddenSize), uint64(c.IntermediateSize), uint64(c.Heads*c.HeadDim), uint64(c.KVHeads*c.HeadDim)
	out := &checkpoint.Checkpoint{Config: checkpoint.Config{
		Architecture: "qwen3", VocabSize: c.VocabSize, HiddenSize: c.HiddenSize, IntermediateSize: c.IntermediateSize, Layers: c.Layers, Heads: c.Heads,
		KVHeads: c.KVHeads, HeadDim: c.HeadDim, QKNorm: true, RMSNormEps: c.RMSNormEps, RopeTheta: c.RopeTheta, TieWordEmbeddings: true, ContextLength: c.ContextLength,
	}}
	out.Weights.Embed, out.Weights.Norm = lies("embed", uint64(c.VocabSize), h), lies("norm", h)
	out.Weights.Head = out.Weights.Embed
	for range c.Layers {
		out.Weights.Layers = append(out.Weights.Layers, checkpoint.LayerWeights{
			InputNorm: lies("inputnorm", h), Q: lies("q", q, h), K: lies("k", kv, h), V: lies("v", kv, h),
			QNorm: lies("qnorm", uint64(c.HeadDim)), KNorm: lies("knorm", uint64(c.HeadDim)), O: lies("o", h, q),
			PostAttentionNorm: lies("postnorm", h), Gate: lies("gate", i, h), Up: lies("up", i, h), Down: lies("down", h, i),
		})
	}
	return out
}

// processorTime is what the process has had of all processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkQwen3 prefills 300 tokens, and decodes behind so many alone and as one of eight
// requests, with weights of Qwen3-0.6B's shape on all processors. Tokens a second
// are all requests'.
func BenchmarkQwen3(b *testing.B) {
	const prompt, requests = 300, 8
	from := noise(b, qwen306())
	for name, o := range map[string]Options{"bf16": {}, "q8": {Q8: true}} {
		o.Slots, o.Sampler = (prompt+1)*requests, quiet{}
		m := newModel(b, from, o)
		slots := modeltest.ShuffledSlots(o.Slots, 1)
		bench := func(kind string, n int, work func(i int) model.Work) {
			works, tokens := []model.Work{}, 0
			for i := range n {
				works = append(works, work(i))
				tokens += len(works[i].IDs)
			}
			b.Run(fmt.Sprintf("%s/%s/requests=%d", name, kind, n), func(b *testing.B) {
				before := processorTime(b)
				for b.Loop() {
					modeltest.Forward(b, m, works...)
				}
				n := float64(tokens * b.N)
				b.ReportMetric(n/b.Elapsed().Seconds(), "tokens/s")
				b.ReportMetric((processorTime(b)-before).Seconds()*1000/n, "cpu-ms/token")
			})
		}
		bench("prefill", 1, func(int) model.Work {
			return model.Work{IDs: drawn(prompt, 151936), Slots: slots[:prompt], Next: -1, Sample: true}
		})
		for _, n := range []int{1, requests} {
			bench("decode", n, func(i int) model.Work {
				return model.Work{IDs: []int64{7}, Start: prompt, Slots: slots[i*(prompt+1):][:prompt+1], Next: -1, Sample: true}
			})
		}
	}
}

package cpu

import (
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// Options say how a checkpoint is served.
type Options struct {
	DType         tensor.DType  // F32, F16 or BF16; with BF16 keys and values are rounded to it; 0: each matrix as it lies in the file, Q4_0 and Q4_1 as F32
	Q8            bool          // the matrices of the layers and the head are Q8, whatever DType is
	ContextLength int           // tokens of a request; 0: the file's, which is also the most
	Slots         int           // places for a token's keys and values
	Sampler       qwen3.Sampler // chooses tokens of logits
	Threads       int           // 0: runtime.GOMAXPROCS, which knows a cgroup's limit
}

// maxThreads is above any machine's.
const maxThreads = 4096

// maxCacheBytes is far above any machine's memory and below what Go can address.
const maxCacheBytes = 1 << 46

// resolve puts the defaults in place and gives the config with them. It names the
// option that cannot be.
func (o *Options) resolve(c *checkpoint.Checkpoint) (qwen3.Config, error) {
	config := qwen3.FromCheckpoint(&c.Config)
	config.CacheBF16 = o.DType == tensor.BF16
	if err := config.Check(); err != nil {
		return config, err
	}
	switch o.DType {
	case 0, tensor.F32, tensor.F16, tensor.BF16:
	default:
		return config, fmt.Errorf("DType is %v, expected F32, F16, BF16 or none", o.DType)
	}
	if o.ContextLength < 0 || o.ContextLength > config.ContextLength {
		return config, fmt.Errorf("ContextLength is %d, expected 1 to %d, the model's, or 0 for that", o.ContextLength, config.ContextLength)
	}
	if o.ContextLength > 0 {
		config.ContextLength = o.ContextLength
	}
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.Threads < 1 || o.Threads > maxThreads {
		return config, fmt.Errorf("%d threads, expected 1 to %d, or 0 for GOMAXPROCS", o.Threads, maxThreads)
	}
	if c.QKPairs && c.QKNorm {
		return config, errors.New("rows of Q and K in pairs and with q_norm and k_norm, expected one of both: the norms' weights are in the order of halves")
	}
	return config, nil
}

// checkSlots names what is wrong with the slots or the sampler.
func (o *Options) checkSlots(config qwen3.Config) error {
	if o.Slots < 1 || o.Slots > math.MaxInt32 {
		return fmt.Errorf("%d slots, expected 1 to %d", o.Slots, math.MaxInt32)
	}
	if bytes := float64(o.Slots) * float64(config.SlotBytes()); bytes > maxCacheBytes {
		return fmt.Errorf("%d slots of %d bytes, expected at most %d bytes in all", o.Slots, config.SlotBytes(), int64(maxCacheBytes))
	}
	if o.Sampler == nil {
		return errors.New("no sampler")
	}
	return nil
}

// formats are the kernels' for what they can read as it lies.
var formats = map[tensor.DType]kernels.Format{
	tensor.F32: kernels.F32, tensor.F16: kernels.F16, tensor.BF16: kernels.BF16, tensor.Q8_0: kernels.Q8,
}

// format is a matrix's, and the dtype by which files call it. The embedding's is never
// made Q8.
func (o *Options) format(d tensor.DType, embedding bool) (kernels.Format, tensor.DType) {
	switch {
	case o.Q8 && !embedding:
		d = tensor.Q8_0
	case o.DType != 0:
		d = o.DType
	case formats[d] == 0:
		d = tensor.F32
	}
	return formats[d], d
}

// Memory is what a model needs, in bytes.
type Memory struct {
	Weights int64 // that are copied, and what a step works in
	Mapped  int64 // of the files, what each step reads where it lies
	Slot    int64 // each
}

// Size says what New needs.
func Size(c *checkpoint.Checkpoint, o Options) (Memory, error) {
	config, err := o.resolve(c)
	if err != nil {
		return Memory{}, fmt.Errorf("cpu: %w", err)
	}
	memory := &memory{counts: true}
	l := loader{options: o, memory: memory}
	w := l.load(c)
	if l.err != nil {
		return Memory{}, fmt.Errorf("cpu: %w", l.err)
	}
	s := newScratch(config, memory)
	s.reserve(config, w, o.Threads, memory)
	return Memory{memory.bytes, memory.mapped, int64(config.SlotBytes())}, nil
}

// memory makes what a model keeps, or only counts it.
type memory struct {
	counts bool
	bytes  int64
	mapped int64 // that stay in the files
}

func (m *memory) floats(n int) []float32 {
	m.bytes += 4 * int64(n)
	if m.counts {
		return nil
	}
	return make([]float32, n)
}

func (m *memory) raw(n uint64) []byte {
	m.bytes += int64(n)
	if m.counts {
		return nil
	}
	return make([]byte, n)
}

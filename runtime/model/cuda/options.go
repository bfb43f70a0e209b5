//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// Options say how a checkpoint is served.
type Options struct {
	DType         tensor.DType  // F32 or BF16; 0: the files', one of both throughout
	ContextLength int           // tokens of a request; 0: the file's, which is also the most
	Slots         int           // places for a token's keys and values
	Sampler       qwen3.Sampler // chooses tokens of logits; where it is a Chooser, of the largest ones
	Device        int           // its number, from 0
}

// resolve puts the defaults in place and gives the config with them. It names what cannot
// be.
func (o *Options) resolve(c *checkpoint.Checkpoint) (qwen3.Config, error) {
	config := qwen3.FromCheckpoint(&c.Config)
	if err := config.Check(); err != nil {
		return config, err
	}
	if o.ContextLength < 0 || o.ContextLength > config.ContextLength {
		return config, fmt.Errorf("ContextLength is %d, expected 1 to %d, the model's, or 0 for that", o.ContextLength, config.ContextLength)
	}
	if o.ContextLength > 0 {
		config.ContextLength = o.ContextLength
	}
	if c.QKPairs && c.QKNorm {
		return config, errors.New("rows of Q and K in pairs and with q_norm and k_norm, expected one of both: the norms' weights are in the order of halves")
	}
	if err := checkShape(config); err != nil {
		return config, err
	}
	var err error
	o.DType, err = dtype(o.DType, c)
	return config, err
}

// checkShape names the dimension that the kernels have no room for.
func checkShape(c qwen3.Config) error {
	if c.HeadDim%kernels.HeadDimStep != 0 || c.HeadDim > kernels.MostHeadDim {
		return fmt.Errorf("HeadDim is %d, expected a multiple of %d up to %d: the kernels have no other", c.HeadDim, kernels.HeadDimStep, kernels.MostHeadDim)
	}
	if c.HiddenSize%kernels.HeadDimStep != 0 || c.HiddenSize > kernels.MostHidden {
		return fmt.Errorf("HiddenSize is %d, expected a multiple of %d up to %d: the kernels have no other", c.HiddenSize, kernels.HeadDimStep, kernels.MostHidden)
	}
	if c.IntermediateSize%kernels.HeadDimStep != 0 {
		return fmt.Errorf("IntermediateSize is %d, expected a multiple of %d: the kernels have no other", c.IntermediateSize, kernels.HeadDimStep)
	}
	return nil
}

// dtype is the one of all matrices on the device.
func dtype(asked tensor.DType, c *checkpoint.Checkpoint) (tensor.DType, error) {
	switch asked {
	case tensor.F32, tensor.BF16:
		return asked, nil
	case 0:
	default:
		return 0, fmt.Errorf("DType is %v, expected F32, BF16 or none: the kernels have no other", asked)
	}
	first := c.Weights.Embed
	for _, t := range matrices(c) {
		switch {
		case t.DType != tensor.F32 && t.DType != tensor.BF16:
			return 0, fmt.Errorf("tensor %s is %v, which has no kernel: ask for F32 or BF16 (--dtype float32 or bfloat16), to which it is converted", t.Name, t.DType)
		case t.DType != first.DType:
			return 0, fmt.Errorf("tensor %s is %v and %s is %v: ask for F32 or BF16 (--dtype float32 or bfloat16), to which all are converted", t.Name, t.DType, first.Name, first.DType)
		}
	}
	return first.DType, nil
}

// matrices are all of a checkpoint's that are held.
func matrices(c *checkpoint.Checkpoint) []tensor.Tensor {
	all := []tensor.Tensor{c.Weights.Embed}
	if !c.TieWordEmbeddings {
		all = append(all, c.Weights.Head)
	}
	for i := range c.Weights.Layers {
		l := &c.Weights.Layers[i]
		all = append(all, l.Q, l.K, l.V, l.O, l.Gate, l.Up, l.Down)
	}
	return all
}

// checkSlots names what is wrong with the slots or the sampler.
func (o *Options) checkSlots() error {
	if o.Slots < 1 || o.Slots > math.MaxInt32 {
		return fmt.Errorf("%d slots, expected 1 to %d", o.Slots, math.MaxInt32)
	}
	if o.Sampler == nil {
		return errors.New("no sampler")
	}
	return nil
}

// Memory is what a model needs of the device's memory, in bytes.
type Memory struct {
	Weights int64 // and what a step works in
	Slot    int64 // each
}

// Size says what New allocates, as near as it can be told before: a driver rounds each allocation
// up, and keeps some memory for a context.
func Size(c *checkpoint.Checkpoint, o Options) (Memory, error) {
	config, err := o.resolve(c)
	if err != nil {
		return Memory{}, fmt.Errorf("cuda: %w", err)
	}
	l := loader{dtype: o.DType}
	l.load(c)
	if l.err != nil {
		return Memory{}, fmt.Errorf("cuda: %w", l.err)
	}
	var a arena
	newScratch(config, &a)
	return Memory{l.bytes + a.bytes, slotBytes(config, o.DType)}, nil
}

// slotBytes is the size of one token's keys and values.
func slotBytes(c qwen3.Config, d tensor.DType) int64 {
	return 2 * int64(c.Layers) * int64(c.KVHeads*c.HeadDim) * width(d)
}

// width of a number, in bytes.
func width(d tensor.DType) int64 {
	if d == tensor.BF16 {
		return 2
	}
	return 4
}

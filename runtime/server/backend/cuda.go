//go:build cuda

package backend

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

// gpu is the number of the device that is used, the first that the driver shows
// (CUDA_VISIBLE_DEVICES says which those are).
const gpu = 0

func gpuBuilt() error { return nil }

// gpuMemory is how much of the device's memory is free, in bytes.
func gpuMemory() (int64, error) {
	info, err := cuda.Probe(gpu)
	return info.FreeBytes, err
}

func gpuName() (string, error) {
	info, err := cuda.Probe(gpu)
	return fmt.Sprintf("%s, %d of %d bytes free", info.Name, info.FreeBytes, info.TotalBytes), err
}

func gpuOptions(a args.Args) cuda.Options {
	return cuda.Options{DType: dtypes[a.DType], Device: gpu}
}

func gpuSize(c *checkpoint.Checkpoint, a args.Args) (weights, slot int64, err error) {
	m, err := cuda.Size(c, gpuOptions(a))
	return m.Weights, m.Slot, err
}

// newGPUModel makes a model that does not need the checkpoint any more. Its Close must be called.
func newGPUModel(c *checkpoint.Checkpoint, a args.Args, contextLength, slots int, s qwen3.Sampler) (model.Model, error) {
	o := gpuOptions(a)
	o.ContextLength, o.Slots, o.Sampler = contextLength, slots, s
	m, err := cuda.New(c, o)
	if err != nil {
		return nil, err
	}
	return m, nil
}

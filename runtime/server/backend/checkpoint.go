package backend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/cpu"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

// describeCheckpoint says what a model's files say.
func describeCheckpoint(a args.Args) (info Info, err error) {
	c, err := checkpoint.Open(a.ModelPath)
	if err != nil {
		return Info{}, notOpened(a.ModelPath, err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if c.ContextLength < leastContext {
		return Info{}, fmt.Errorf("model_path: %s has room for %d tokens, expected %d at least: one of a prompt, one of an answer, and one that stays free", a.ModelPath, c.ContextLength, leastContext)
	}
	info = Info{Name: a.ModelPath, Architecture: c.Class(), ContextLength: c.ContextLength, VocabSize: c.VocabSize, EOS: c.EOS}
	info.WeightBytes, info.SlotBytes, err = size(c, a)
	if err != nil {
		return Info{}, fmt.Errorf("model_path: %s: %w", a.ModelPath, err)
	}
	return info, nil
}

// size is what the model takes beside its slots, and a slot, in bytes.
func size(c *checkpoint.Checkpoint, a args.Args) (weights, slot int64, err error) {
	if a.Device == CUDA {
		return gpuSize(c, a)
	}
	s, err := cpu.Size(c, cpuOptions(a))
	return s.Weights + s.Mapped, s.Slot, err
}

// notOpened says of a path that is nowhere what a path is: it may be a name in a hub.
func notOpened(path string, err error) error {
	if _, missing := os.Stat(path); errors.Is(missing, fs.ErrNotExist) {
		return fmt.Errorf("--model-path %q: there is no such file, want a folder or a .gguf file: nothing is downloaded", path)
	}
	return fmt.Errorf("model_path: %w", err)
}

// dtypes by their names; auto is each matrix' own.
var dtypes = map[string]tensor.DType{"auto": 0, "bfloat16": tensor.BF16, "float16": tensor.F16, "float32": tensor.F32}

func cpuOptions(a args.Args) cpu.Options {
	return cpu.Options{DType: dtypes[a.DType], Q8: a.Quantization == args.Q8}
}

// checkNumbers names the numbers that the models without files do not compute with.
func checkNumbers(a args.Args) error {
	switch {
	case a.Device == CUDA && a.Quantization != "":
		return fmt.Errorf("quantization is %q, expected none with device %s: it has no kernel for it", a.Quantization, CUDA)
	case a.ModelPath != "", a.Device == CUDA:
	case a.DType != "auto" && a.DType != "float32":
		return fmt.Errorf("dtype is %q, expected auto or float32: others are not built", a.DType)
	case a.Quantization != "":
		return fmt.Errorf("quantization is %q, expected none: it is not built", a.Quantization)
	}
	return nil
}

// fileModel is a model and the files that it reads.
type fileModel struct {
	*cpu.Model
	files *checkpoint.Checkpoint
}

// Close ends the model, then its files.
func (m fileModel) Close() error {
	m.Model.Close()
	return m.files.Close()
}

// newCheckpointModel makes the model. Its Close must be called.
func newCheckpointModel(a args.Args, contextLength, slots int, s qwen3.Sampler) (model.Model, error) {
	c, err := checkpoint.Open(a.ModelPath)
	if err != nil {
		return nil, fmt.Errorf("model_path: %w", err)
	}
	if a.Device == CUDA {
		m, err := newGPUModel(c, a, contextLength, slots, s)
		if err = errors.Join(err, c.Close()); err != nil { // its weights are on the device
			return nil, fmt.Errorf("model_path: %s: %w", a.ModelPath, err)
		}
		return m, nil
	}
	o := cpuOptions(a)
	o.ContextLength, o.Slots, o.Sampler = contextLength, slots, s
	m, err := cpu.New(c, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("model_path: %s: %w", a.ModelPath, err), c.Close())
	}
	return fileModel{m, c}, nil
}

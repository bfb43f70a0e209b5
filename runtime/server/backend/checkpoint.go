package backend

import (
	"errors"
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

// describeCheckpoint says what a model's files say.
func describeCheckpoint(a args.Args) (info Info, err error) {
	c, err := checkpoint.Open(a.ModelPath)
	if err != nil {
		return Info{}, fmt.Errorf("model_path: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if c.ContextLength < 2 {
		return Info{}, fmt.Errorf("model_path: %s has room for %d token, expected 2 at least: one of a prompt and one of an answer", a.ModelPath, c.ContextLength)
	}
	weights, slot := qwen3.Size(&c.Config)
	return Info{
		Name: a.ModelPath, Architecture: c.Class(), ContextLength: c.ContextLength, VocabSize: c.VocabSize, EOS: c.EOS,
		WeightBytes: weights, SlotBytes: slot,
	}, nil
}

// checkNumbers names the numbers that no model here computes with.
func checkNumbers(a args.Args) error {
	switch {
	case a.DType != "auto" && a.DType != "float32":
		return fmt.Errorf("dtype is %q, expected auto or float32: others are not built", a.DType)
	case a.Quantization != "":
		return fmt.Errorf("quantization is %q, expected none: it is not built", a.Quantization)
	}
	return nil
}

// newCheckpointModel loads the weights, as float32 whatever they are in the files.
func newCheckpointModel(a args.Args, contextLength, slots int, s qwen3.Sampler) (model.Model, error) {
	c, weights, err := qwen3.Load(a.ModelPath)
	if err != nil {
		return nil, fmt.Errorf("model_path: %w", err)
	}
	c.ContextLength = contextLength
	return qwen3.New(c, weights, slots, s)
}

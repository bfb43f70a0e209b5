package main

import (
	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

// load makes the model, each matrix in the form that it has in the file.
func load(path string, _ *checkpoint.Checkpoint, tokens, _ int, s qwen3.Sampler) (model.Model, error) {
	c, w, err := qwen3.Load(path)
	if err != nil {
		return nil, err
	}
	return qwen3.New(c, w, tokens, s)
}

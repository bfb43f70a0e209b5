package main

import (
	"errors"
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/cpu"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

// The runtimes that a model can be loaded with: cpu serves, plain is its twin in plain loops and float32.
const (
	runtimeCPU   = "cpu"
	runtimePlain = "plain"
)

// loaded is a model, each of its matrices in the form that it has in the file, and how to let go of it.
type loaded struct {
	model.Model
	close func() error
}

// load makes a model of the checkpoint, which it closes when the model is closed.
func load(c *checkpoint.Checkpoint, path, kind string, tokens, threads int, s qwen3.Sampler) (loaded, error) {
	switch kind {
	case runtimeCPU:
		m, err := cpu.New(c, cpu.Options{ContextLength: tokens, Slots: tokens, Sampler: s, Threads: threads})
		if err != nil {
			return loaded{}, err
		}
		return loaded{m, func() error { m.Close(); return c.Close() }}, nil
	case runtimePlain:
		if threads != 1 {
			return loaded{}, fmt.Errorf("%d threads, expected 1: the plain loops run on one", threads)
		}
		config, w, err := qwen3.Load(path)
		if err != nil {
			return loaded{}, err
		}
		m, err := qwen3.New(config, w, tokens, s)
		return loaded{m, c.Close}, err
	}
	return loaded{}, errors.New("runtime " + kind + ", expected cpu or plain")
}

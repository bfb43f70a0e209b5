//go:build !cuda

package backend

import (
	"errors"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

var errNotBuilt = errors.New("device cuda is not built: build with -tags cuda, as scripts/cuda_env.sh says")

// gpuBuilt says why there is no device cuda; what is below is not called then.
func gpuBuilt() error { return errNotBuilt }

func gpuMemory() (int64, error) { return 0, errNotBuilt }

func gpuName() (string, error) { return "", errNotBuilt }

func gpuSize(*checkpoint.Checkpoint, args.Args) (weights, slot int64, err error) {
	return 0, 0, errNotBuilt
}

func newGPUModel(*checkpoint.Checkpoint, args.Args, int, int, qwen3.Sampler) (model.Model, error) {
	return nil, errNotBuilt
}

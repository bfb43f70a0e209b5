//go:build cuda

package cuda

import (
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// formats are the kernels' for what the device holds.
var formats = map[tensor.DType]kernels.Format{tensor.F32: kernels.F32, tensor.BF16: kernels.BF16}

// launcher launches kernels, and keeps the first error: what comes behind it is not launched.
type launcher struct {
	*Model
	t   *driver.Thread
	err error
}

func (l *launcher) launch(run func() error) {
	if l.err == nil {
		l.err = run()
	}
}

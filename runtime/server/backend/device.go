package backend

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

// Resolve puts the device that is used in the place of Auto: the GPU where there is one that can be
// used, otherwise the CPU. said is a line for the log that tells which, and why not the other; it is empty where
// the device was named.
func Resolve(a args.Args) (resolved args.Args, said string) {
	if a.Device != Auto {
		return a, ""
	}
	name, err := gpuName()
	if err != nil {
		a.Device = CPU
		return a, fmt.Sprintf("device auto is %s: %v", CPU, err)
	}
	a.Device = CUDA
	return a, fmt.Sprintf("device auto is %s: %s", CUDA, name)
}

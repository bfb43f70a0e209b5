//go:build !linux

package cpu

import "runtime"

// yield lets this program's other goroutines run.
func yield() { runtime.Gosched() }

//go:build !linux

package controller

import "runtime"

func monotonicNow() (int64, error) { return 0, unshared(runtime.GOOS) }

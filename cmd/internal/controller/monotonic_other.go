//go:build !linux

package controller

import (
	"fmt"
	"runtime"
)

func monotonicNow() (int64, error) {
	return 0, fmt.Errorf("the clocks of several processes are not comparable on %s, only on linux", runtime.GOOS)
}

//go:build !linux

package cpuclock

import (
	"errors"
	"fmt"
	"time"
)

func process(pid int) (time.Duration, error) {
	return 0, fmt.Errorf("cpuclock: process %d: %w", pid, errors.ErrUnsupported)
}

package protocol

import (
	"fmt"
	"strconv"
)

// OptionDelay is an option of builtin, dir and git arms, for calibrations and
// tests: the worker is busy for so many microseconds before every batch.
const OptionDelay = "delay_us"

// MaxDelayUS bounds it.
const MaxDelayUS = 1_000_000

// ParseDelay reads the option, 0 where it is not given.
func ParseDelay(options map[string]string) (int, error) {
	text, ok := options[OptionDelay]
	if !ok {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxDelayUS {
		return 0, fmt.Errorf("option %s is %q, want 1 to %d", OptionDelay, text, MaxDelayUS)
	}
	return n, nil
}

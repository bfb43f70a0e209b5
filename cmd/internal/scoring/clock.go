package scoring

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Clock gives a time of this process, with its monotonic reading, on the clock of
// the scheduler's records: CLOCK_MONOTONIC, in seconds. It says nothing of records
// of another machine.
func Clock(t time.Time) (float64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, fmt.Errorf("scoring: CLOCK_MONOTONIC: %w", err)
	}
	return (time.Duration(ts.Nano()) - time.Since(t)).Seconds(), nil
}

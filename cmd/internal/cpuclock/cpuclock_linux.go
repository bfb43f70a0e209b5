package cpuclock

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// cpuclockSched selects the scheduler's nanosecond clock; the kernel makes a
// process's clock id of it and of the complement of the process id
// (clock_getcpuclockid(3); MAKE_PROCESS_CPUCLOCK in include/linux/posix-timers.h).
const cpuclockSched = 2

func process(pid int) (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|cpuclockSched), &ts); err != nil {
		return 0, fmt.Errorf("cpuclock: process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

package load

import (
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// exactSleeps asks the kernel not to put this thread's wake-ups together with others'. By default it
// may do so for 50 microseconds. Where it refuses, lateness shows it.
func exactSleeps() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // see above: the sender measures its own lateness
}

// runFirst puts this thread before all others of the usual policy, or gives it the highest of the usual
// priorities: both need a privilege. What the thread starts runs as usual.
func runFirst() bool {
	fifo := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	return unix.SchedSetAttr(0, &fifo, 0) == nil || unix.Setpriority(unix.PRIO_PROCESS, 0, -20) == nil
}

// keepTo keeps this thread to every nth of the processors that it may use, from number i on. Where it cannot, the kernel
// chooses.
func keepTo(i, n int) {
	var may, some unix.CPUSet
	if unix.SchedGetaffinity(0, &may) != nil || may.Count() < n {
		return
	}
	seen := 0
	for cpu := range 8 * int(unsafe.Sizeof(may)) {
		if may.IsSet(cpu) {
			if seen%n == i {
				some.Set(cpu)
			}
			seen++
		}
	}
	_ = unix.SchedSetaffinity(0, &some) // see above
}

func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil) // a signal ends it early, and the caller looks at the clock again
}

func monotonicNow() (seconds float64, err error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0, fmt.Errorf("load: CLOCK_MONOTONIC: %w", err)
	}
	return float64(ts.Nano()) / 1e9, nil
}

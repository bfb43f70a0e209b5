package load

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// exactSleeps asks the kernel not to put this thread's wake-ups together with others'. By default it
// may do so for 50 microseconds. Where it refuses, lateness shows it.
func exactSleeps() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // see above: the sender measures its own lateness
}

// runFirst gives this thread the highest of the usual priorities, which needs a privilege.
func runFirst() bool { return unix.Setpriority(unix.PRIO_PROCESS, 0, -20) == nil }

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

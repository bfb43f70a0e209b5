package load

import (
	"runtime"
	"time"
)

const (
	// spin is how long before a request is due the sender stops sleeping and watches the clock: the
	// kernel's sleep ends a few tens of microseconds late.
	spin = 40 * time.Microsecond
	// nap bounds one sleep, so that a cancelled run ends soon.
	nap = 50 * time.Millisecond
)

// clock is what the sender reads and waits on; tests have others.
type clock interface {
	// Now is in seconds from the start, and may be below 0 before it.
	Now() float64
	// Until waits, in the goroutine that dispatches, until Now is at least t; it may end sooner with
	// false, to be called again.
	Until(t float64) bool
}

// preciseClock sleeps in the kernel and not in Go's timers, which wake through epoll: it counts in
// milliseconds. The caller must be locked to its thread.
type preciseClock struct{ start time.Time }

func (c preciseClock) Now() float64 { return time.Since(c.start).Seconds() }

func (c preciseClock) Until(t float64) bool {
	due := time.Duration(t * 1e9)
	for {
		left := due - time.Since(c.start)
		switch {
		case left <= 0:
			return true
		case left > nap:
			sleep(nap)
			return false
		case left > spin:
			sleep(left - spin)
		}
	}
}

// lockThread gives the dispatcher a thread of its own, whose sleeps the kernel does not stretch and which runs
// before others where this process may ask for that. It is not unlocked: the thread ends with the
// goroutine, and what was set with it.
func lockThread() (first bool) {
	runtime.LockOSThread()
	exactSleeps()
	return runFirst()
}

package worker

import "time"

// busyFor uses this thread's CPU for so long: what makes a worker slower on
// purpose, in worker_cpu_ms too. A sleep would end when a timer does, which is
// later by as much as the delays that are to be found.
func busyFor(d time.Duration) {
	if d <= 0 {
		return
	}
	for start := time.Now(); time.Since(start) < d; {
	}
}

// Package cpuclock reads the CPU time that another process has used, all its
// threads together, with the resolution of the kernel's clock rather than of
// its ticks.
package cpuclock

import "time"

// Process returns the CPU time the process has used so far. It is an error
// where the platform has no such clock, and when the process is gone.
func Process(pid int) (time.Duration, error) { return process(pid) }

// Sum adds up Process over pids.
func Sum(pids []int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		d, err := Process(pid)
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}

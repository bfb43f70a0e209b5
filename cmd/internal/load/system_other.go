//go:build !linux

package load

import "time"

func exactSleeps() {}

func runFirst() bool { return false }

func keepTo(int, int) {}

func sleep(d time.Duration) { time.Sleep(d) }

// monotonicNow is 0 where processes have no clock in common.
func monotonicNow() (seconds float64, err error) { return 0, nil }

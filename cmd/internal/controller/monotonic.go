package controller

import (
	"fmt"
	"time"
)

// calibrations is how often the two clocks are read beside each other: the
// reading in the shortest time is the one that nothing came between.
const calibrations = 50

// monotonic ties this process's clock to CLOCK_MONOTONIC, which all processes of a
// Linux machine share. The runtime reads the same clock, but does not tell from
// which zero it counts, so the two run alike and differ by a constant.
type monotonic struct {
	at time.Time
	ns int64 // of CLOCK_MONOTONIC, at that time
}

func newMonotonic(now func() (int64, error)) (monotonic, error) {
	var m monotonic
	var shortest time.Duration
	for i := range calibrations {
		before := time.Now()
		ns, err := now()
		if err != nil {
			return m, err
		}
		if took := time.Since(before); i == 0 || took < shortest {
			m, shortest = monotonic{before.Add(took / 2), ns}, took
		}
	}
	return m, nil
}

// nanoseconds is t in CLOCK_MONOTONIC, or 0 of a time that is not set.
func (m monotonic) nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return m.ns + t.Sub(m.at).Nanoseconds()
}

// time undoes nanoseconds, perhaps another process's.
func (m monotonic) time(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return m.at.Add(time.Duration(ns - m.ns))
}

// unshared is what monotonicNow says of a platform whose processes have no clock
// in common that Go's times can be tied to.
func unshared(goos string) error {
	return fmt.Errorf("the clocks of several processes are not comparable on %s, only on linux", goos)
}

package controller

import (
	"testing"
	"time"
)

// Times of one process read in another's terms stay in order, whichever reading
// ties them, and a time that is not set stays so.
func TestMonotonic(t *testing.T) {
	mine, err := newMonotonic(monotonicNow)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := newMonotonic(monotonicNow)
	if err != nil {
		t.Fatal(err)
	}
	before, err := monotonicNow()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	after, err := monotonicNow()
	if err != nil {
		t.Fatal(err)
	}
	const slack = int64(100 * time.Microsecond) // of a reading that was disturbed each time
	for _, m := range []monotonic{mine, theirs} {
		if ns := m.nanoseconds(now); ns < before-slack || ns > after+slack {
			t.Errorf("a time between %d and %d is %d", before, after, ns)
		}
	}
	for _, d := range []time.Duration{0, 1, -time.Hour, time.Hour} {
		if got := mine.time(mine.nanoseconds(now.Add(d))); !got.Equal(now.Add(d)) || got.Sub(now) != d {
			t.Errorf("%v came back as %v", now.Add(d), got)
		}
	}
	if ns := mine.nanoseconds(time.Time{}); ns != 0 || !mine.time(0).IsZero() {
		t.Errorf("a time that is not set is %d and %v", ns, mine.time(0))
	}
}

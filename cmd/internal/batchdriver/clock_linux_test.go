package batchdriver

import (
	"testing"
	"time"
)

// The clock of a run is read at both ends, by the time of day and by the monotonic one.
func TestClock(t *testing.T) {
	before := time.Now()
	c, err := startClock()
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.end()
	if err != nil {
		t.Fatal(err)
	}
	again, err := startClock()
	if err != nil {
		t.Fatal(err)
	}
	if got.Start.Before(before.Round(0)) || got.End.Before(got.Start) || !(got.EndMonotonic > got.StartMonotonic) || got.StartMonotonic <= 0 {
		t.Errorf("%+v", got)
	}
	if got.Boot == "" || got.Boot != again.Boot || len(got.Boot) != 16 {
		t.Errorf("boots %q and %q, want one hash", got.Boot, again.Boot)
	}
}

package load

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"
)

// Until never ends early with true, and naps so that a cancelled run is seen.
func TestPreciseClock(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := preciseClock{time.Now()}
	for _, wait := range []float64{-1, 0, 1e-6, 20e-6, 200e-6, 2e-3, 0.03} {
		due := c.Now() + wait
		if !c.Until(due) || c.Now() < due {
			t.Errorf("the wait for %v s ended before its time", wait)
		}
	}
	start := c.Now()
	if c.Until(start + 3600) {
		t.Error("the wait for an hour from now ended with true")
	}
	if c.Now() < start+nap.Seconds() {
		t.Error("a nap ended before its time")
	}
}

// scriptClock is at each time as soon as it is waited for, and notes what was waited for.
type scriptClock struct {
	now    float64
	waited []float64
	naps   int
}

func (c *scriptClock) Now() float64 { return c.now }

func (c *scriptClock) Until(t float64) bool {
	if c.naps++; c.naps%2 == 1 { // every wait is a nap first
		return false
	}
	c.waited = append(c.waited, t)
	c.now = max(c.now, t)
	return true
}

// The dispatcher waits for each time of the schedule, in order and for nothing else, however often the
// clock naps: on a clock that only it moves, no request is late.
func TestDispatchKeepsToTheSchedule(t *testing.T) {
	s := newSchedule(t, poisson(3, 1, 40)) // forty seconds of it, in none
	x, err := newSender(s, to("http://127.0.0.1:1"), numbered(100), false)
	if err != nil {
		t.Fatal(err)
	}
	c := &scriptClock{}
	x.clock = c
	for i := range s.At {
		x.await(context.Background(), i)
		if c.now != s.At[i] {
			t.Fatalf("request %d is sent at %v, want %v", i, c.now, s.At[i])
		}
	}
	if !slices.Equal(c.waited, s.At) {
		t.Errorf("waited for %v, want the schedule's times", c.waited)
	}
}

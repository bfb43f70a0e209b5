package sim

import (
	"context"
	"time"
)

// Wall is the machine's monotonic clock. Its sleep ends with the context.
type Wall struct {
	ctx   context.Context
	begin time.Time
}

// NewWall makes a clock that begins at 0.
func NewWall(ctx context.Context) *Wall { return &Wall{ctx, time.Now()} }

// Now is the time since NewWall.
func (w *Wall) Now() float64 { return time.Since(w.begin).Seconds() }

// SleepUntil returns the context's cause when that ends before.
func (w *Wall) SleepUntil(seconds float64) error {
	for {
		rest := seconds - w.Now()
		if rest <= 0 {
			return nil
		}
		// A nanosecond more, since the conversion cuts; at most an hour, since it can overflow.
		timer := time.NewTimer(time.Duration(min(rest, 3600)*1e9) + 1)
		select {
		case <-timer.C:
		case <-w.ctx.Done():
			timer.Stop()
			return context.Cause(w.ctx)
		}
	}
}

package batchdriver

import (
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/scoring"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// clock is this machine's clock at the start of a run.
type clock batchrun.Clock

// startClock reads both clocks at one moment, and what the kernel says of the one that
// tells the time of day.
func startClock() (*clock, error) {
	now := time.Now()
	monotonic, err := scoring.Clock(now)
	if err != nil {
		return nil, err
	}
	c := &clock{Boot: bootName(), Start: now.UTC(), StartMonotonic: monotonic, MaxErrorMS: clockError()}
	return c, nil
}

// end reads them again. The larger of both errors counts, and none that is not known.
func (c *clock) end() (*batchrun.Clock, error) {
	now := time.Now().Round(0) // by the time of day: the monotonic reading is what it is compared with
	monotonic, err := scoring.Clock(time.Now())
	if err != nil {
		return nil, err
	}
	c.End, c.EndMonotonic = now.UTC(), monotonic
	if late := clockError(); late == nil || c.MaxErrorMS != nil && *late > *c.MaxErrorMS {
		c.MaxErrorMS = late
	}
	return (*batchrun.Clock)(c), nil
}

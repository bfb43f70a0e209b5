package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/results"
)

// knownNoise is what is known of this machine before a run with such a plan, from
// its latest calibration; the zero value where there is none. What a round takes is
// no part of it: that depends on the arms more than on the machine. A calibration
// that is not used is named, and the run goes on: only the number of its rounds
// depends on it.
func knownNoise(stderr io.Writer, p results.Plan) plan.Noise {
	c, err := results.LoadCalibration(results.ThisHost(), time.Now())
	var not *results.CalibrationError
	switch {
	case err == nil && p.Repetitions < c.Repetitions:
		_, _ = fmt.Fprintf(stderr, "the calibration of this machine is of %d repetitions, this plan has %d: it is not used\n", c.Repetitions, p.Repetitions) // progress, for whoever reads it
	case err == nil:
		return plan.Noise{Source: "the calibration of " + c.MadeAt.Format(time.DateOnly), Spread: c.Spread}
	case errors.As(err, &not) && not.Why == results.CalibrationMissing:
	default:
		_, _ = fmt.Fprintf(stderr, "%v; it is not used\n", err)
	}
	return plan.Noise{}
}

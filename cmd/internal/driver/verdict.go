package driver

import (
	"context"
	"errors"
	"fmt"

	"github.com/fanoutbench/fanoutbench/cmd/internal/oracle"
	"github.com/fanoutbench/fanoutbench/results"
)

// located is an error with its place in the run.
type located struct {
	err  error
	arm  string
	slot results.Slot
	cell bool // slot names a trial, not just a round
}

// afterRounds marks a fault of stopping, which belongs to no round.
const afterRounds = -2

func (l *located) Error() string {
	switch {
	case l.cell:
		return fmt.Sprintf("arm %s, count %d, metadata %s, round %d, repetition %d: %v",
			l.arm, l.slot.Count, l.slot.Metadata, l.slot.Round, l.slot.Repetition, l.err)
	case l.slot.Round == afterRounds:
		return fmt.Sprintf("arm %s: %v", l.arm, l.err)
	}
	return fmt.Sprintf("arm %s, round %d: %v", l.arm, l.slot.Round, l.err)
}

func (l *located) Unwrap() error { return l.err }

// verdict turns the way the run ended into its record.
func (d *driver) verdict(ctx context.Context, ending error) results.Verdict {
	v := results.Verdict{Status: results.StatusVerified, Decision: results.DecisionNone, Warnings: d.warnings}
	if ending == nil {
		return v
	}
	v.Status = results.StatusInvalid
	if ctx.Err() != nil && errors.Is(ending, context.Cause(ctx)) {
		v.Status = results.StatusIncomplete
	}
	v.Failure = failure(ending)
	return v
}

func failure(err error) *results.Failure {
	f := &results.Failure{Message: err.Error()}
	var l *located
	if errors.As(err, &l) {
		f.Arm = l.arm
		if l.slot.Round != afterRounds {
			f.Round = &l.slot.Round
		}
		if l.cell {
			f.Count, f.Metadata, f.Repetition = l.slot.Count, l.slot.Metadata, &l.slot.Repetition
		}
	}
	var diff *oracle.Difference
	if errors.As(err, &diff) {
		f.Consumer, f.RID, f.Field, f.Wanted, f.Got = &diff.Consumer, diff.RID, diff.Field, &diff.Wanted, &diff.Got
	}
	return f
}

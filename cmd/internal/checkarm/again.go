package checkarm

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
)

// usedAgain plays a trial, stop, and another hello with a trial: the receipt is the
// same but for the processes and the endpoints, and nothing is left of what was
// before.
func (c *checker) usedAgain(ctx context.Context) error {
	var before protocol.Receipt
	for turn := range 2 {
		s, dir, err := c.start(ctx, nil)
		if err != nil {
			return err
		}
		r := s.Receipt
		if turn == 1 {
			err = sameButProcesses(before, r)
		}
		before = r
		if err == nil {
			err = c.trial(ctx, s, dir, turn, protocol.Cell{Count: 5, Metadata: stream.Rich}, consumers)
		}
		if err := errors.Join(err, c.done(ctx, s)); err != nil {
			return fmt.Errorf("hello %d: %w", turn+1, err)
		}
		if err := noSockets(dir); err != nil {
			return fmt.Errorf("after stopped: %w", err)
		}
	}
	return nil // it is ended by the clauses below
}

func sameButProcesses(before, now protocol.Receipt) error {
	for _, pid := range now.PIDs {
		if slices.Contains(before.PIDs, pid) {
			return fmt.Errorf("receipt: worker %d is of the hello before, want a fresh process", pid)
		}
	}
	now.PIDs, now.Endpoints = before.PIDs, before.Endpoints
	b, n := reflect.ValueOf(before), reflect.ValueOf(now)
	for i := range b.NumField() {
		if was, is := b.Field(i).Interface(), n.Field(i).Interface(); !reflect.DeepEqual(was, is) {
			return fmt.Errorf("receipt: %s is %v, but was %v at the hello before", b.Type().Field(i).Tag.Get("json"), is, was)
		}
	}
	return nil
}

// endResting ends a controller that is kept, if there is one.
func (c *checker) endResting(ctx context.Context) error {
	s := c.resting
	if s == nil {
		return nil
	}
	c.resting = nil
	return s.Stop(ctx)
}

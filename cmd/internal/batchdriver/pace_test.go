package batchdriver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// A trial waits for its place after the common start, begins at once when that has
// passed, which is noted, and an interrupt ends the wait.
func TestPace(t *testing.T) {
	c := batchrun.Cell{Kind: batchrun.KindPoisson, Items: 1, RPS: 1, Seconds: 0.5}
	d := &driver{conf: &Config{}}
	if err := d.pace(t.Context(), c); err != nil || len(d.notes) > 0 {
		t.Errorf("no start: %v, %q", err, d.notes)
	}
	// The second trial of a load that began nearly a pace ago.
	d.conf.StartAt, d.done = time.Now().Add(50*time.Millisecond-paceOf(c)), 1
	at := d.conf.StartAt.Add(paceOf(c))
	if err := d.pace(t.Context(), c); err != nil || time.Now().Before(at) {
		t.Errorf("%v, at %v, want none before %v", err, time.Now(), at)
	}
	if d.done = 0; d.pace(t.Context(), c) != nil || len(d.notes) != 1 || !strings.Contains(d.notes[0], "could not start when it was to") {
		t.Errorf("too late: %q", d.notes)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	end := errors.New("interrupted")
	cancel(end)
	d.done = 1000
	if err := d.pace(ctx, c); !errors.Is(err, end) {
		t.Errorf("%v, want %v", err, end)
	}
}

package controller

import (
	"math"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// The wall clock is set back by a day between two batches, and again before the
// rows are read: each message carries the offset that its times were made with, so
// the times come back as they were sent.
func TestWallClockSetBack(t *testing.T) {
	sent := []float64{1_800_000_010.125, 1_800_000_020.5}
	var messages []wire.Value
	for batch, offset := range []float64{1_799_999_999.75, 1_799_999_999.75 - 86400} {
		v, err := toOwnClock([]wire.Value{wire.Map{{Key: "wait_queue_entry_time", Value: sent[batch]}}}, offset)
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, v.([]wire.Value)[0])
	}
	for i, m := range messages {
		v, err := toSharedClock(m)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := v.(wire.Map).Get("wait_queue_entry_time")
		if at, isFloat := got.(float64); !ok || !isFloat || math.Abs(at-sent[i]) > 5e-6 {
			t.Errorf("batch %d came with the time %v, want %v", i, got, sent[i])
		}
	}
	own, _ := messages[0].(wire.Map).Get("wait_queue_entry_time")
	if at, ok := own.(float64); !ok || math.Abs(at-10.375) > 5e-6 {
		t.Errorf("on the way the time is %v, want 10.375 of the sender's own clock", own)
	}
}

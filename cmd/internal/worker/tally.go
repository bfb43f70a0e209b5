package worker

import (
	"runtime/metrics"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/fanout"
)

func counterNames() []string {
	return []string{protocol.CounterAllocations, protocol.CounterBytes, protocol.CounterMessages, protocol.CounterOpaqueDecodes}
}

// tally takes the counters' growth over the batches of a stream. Its last
// reading is taken when the fence's first batch arrives, not when the stream's
// last one ends: by then no clock runs, so reading the allocation counter costs
// the measurement nothing.
type tally struct {
	batches int // of the stream
	begun   int
	closed  bool
	before  fanout.Counters
	after   fanout.Counters
	allocs  uint64
}

func newTally(batches int, now fanout.Counters) tally {
	if batches == 0 { // all that comes is the fence's
		return tally{closed: true, before: now, after: now}
	}
	return tally{batches: batches, before: now, allocs: allocations()}
}

func (t *tally) begin(now fanout.Counters) {
	if t.begun == t.batches && !t.closed {
		t.close(now)
	}
	t.begun++
}

func (t *tally) close(now fanout.Counters) {
	t.closed = true
	t.after = now
	t.allocs = allocations() - t.allocs
}

// report is per batch of the stream. A stream that has not ended, because rows
// are missing, is reported as far as it came.
func (t *tally) report(now fanout.Counters) protocol.Report {
	if !t.closed {
		t.close(now)
	}
	n := float64(max(1, min(t.begun, t.batches)))
	return protocol.Report{
		Type:    protocol.TypeReport,
		Batches: min(t.begun, t.batches),
		Counters: map[string]float64{
			protocol.CounterAllocations:   float64(t.allocs) / n,
			protocol.CounterBytes:         float64(t.after.Bytes-t.before.Bytes) / n,
			protocol.CounterMessages:      float64(t.after.Messages-t.before.Messages) / n,
			protocol.CounterOpaqueDecodes: float64(t.after.OpaqueDecodes-t.before.OpaqueDecodes) / n,
		},
	}
}

// allocations is the number of heap objects this process has ever allocated.
func allocations() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

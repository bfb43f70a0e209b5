package controller

import (
	"maps"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Whole counters come out whole, whatever each process divided them by.
func TestSum(t *testing.T) {
	detokenizer := func(batches int, messages, bytes float64) protocol.Report {
		n := float64(max(1, batches))
		return protocol.Report{Batches: batches, Counters: map[string]float64{
			protocol.CounterMessages: messages / n, protocol.CounterBytes: bytes / n,
			protocol.CounterOpaqueDecodes: 2 * messages / n, protocol.CounterAllocations: 7 / n,
		}}
	}
	got := sum([]protocol.Report{detokenizer(3, 10, 1001), detokenizer(7, 29, 2003), detokenizer(0, 0, 0)}, detokenizer(10, 17, 9999), 10)
	want := map[string]float64{
		protocol.CounterMessages: 3.9, protocol.CounterBytes: 300.4, protocol.CounterOpaqueDecodes: (20 + 58 + 34) / 10.,
		protocol.CounterAllocations: 2.8, protocol.CounterRouterMessages: 1.7,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

package controller

import (
	"fmt"
	"maps"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/router"
)

// The protocol's rule, by which fences are made and shares counted, is the one
// that the router follows.
func TestRoutingIsTheRouters(t *testing.T) {
	for n := 2; n <= protocol.MaxDetokenizers; n++ {
		for i := range 50 {
			rid, ipc := fmt.Sprint("rid-", i), fmt.Sprint("ipc:///run/c", i)
			if got, want := (protocol.Routing{Detokenizers: n, Router: router.ByRID}).Target(rid, ipc), router.Target([]byte(rid), n); got != want {
				t.Errorf("by rid, of %d: %d, the router has %d", n, got, want)
			}
			if got, want := (protocol.Routing{Detokenizers: n, Router: router.ByIPC}).Target(rid, ipc), router.Target([]byte(ipc), n); got != want {
				t.Errorf("by ipc, of %d: %d, the router has %d", n, got, want)
			}
		}
	}
}

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

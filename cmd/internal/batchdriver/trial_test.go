package batchdriver

import (
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

// Only a reason about lateness is told with what the host took, and only where it took something.
func TestWithTaken(t *testing.T) {
	ticks := func(n int64) *results.Disturbance { return &results.Disturbance{StealTicks: &n} }
	for name, k := range map[string]struct {
		beside *results.Disturbance
		want   string
	}{
		"not known": {nil, "lateness: 3 ms"},
		"nothing":   {ticks(0), "lateness: 3 ms"},
		"some":      {ticks(7), "lateness: 3 ms; the host took 70 ms of processor time meanwhile"},
	} {
		reasons := []string{"unsent: 1", "lateness: 3 ms"}
		got := withTaken(reasons, k.beside)
		if want := []string{"unsent: 1", k.want}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if reasons[1] != "lateness: 3 ms" {
			t.Errorf("%s: the reasons of the judgement became %q", name, reasons)
		}
	}
}

package batchdriver

import (
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

// Only reasons about lateness and saturation are told with what the host took, and only where it took something.
func TestWithTaken(t *testing.T) {
	ticks := func(n int64) *results.Disturbance { return &results.Disturbance{StealTicks: &n} }
	for name, k := range map[string]struct {
		beside *results.Disturbance
		want   string
	}{
		"not known": {nil, "lateness: 3 ms"},
		"nothing":   {ticks(0), "lateness: 3 ms"},
		"some":      {ticks(7), "lateness: 3 ms; the host took 70 ms of processor time meanwhile"},
		"saturated": {ticks(7), "saturation: grew; the host took 70 ms of processor time meanwhile"},
	} {
		told, _, _ := strings.Cut(k.want, "; ")
		reasons := []string{"unsent: 1", told}
		got := withTaken(reasons, k.beside)
		if want := []string{"unsent: 1", k.want}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		if reasons[1] != told {
			t.Errorf("%s: the reasons of the judgement became %q", name, reasons)
		}
	}
}

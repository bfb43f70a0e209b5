package driver

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/tree"
	"github.com/fanoutbench/fanoutbench/results"
)

func pooledDriver() *driver {
	a := arm.Arm{Kind: arm.KindGit, Command: []string{"/self"}, Build: &tree.Build{Revision: "0123", Modified: "false", Workers: []tree.Worker{
		{Path: "/w0", SHA256: "zero", Seed: 5}, {Path: "/w1", SHA256: "one", Seed: 6},
	}}}
	d := &driver{conf: Config{Arms: map[string]arm.Arm{results.Reference: a, results.Candidate: {Command: []string{"x"}}}}}
	d.plan.Reference.Layouts, d.plan.Reference.Layout = 2, []int{1, 0, 1}
	return d
}

// Each round runs the executable drawn for it, and an arm without a pool itself.
func TestArmInRound(t *testing.T) {
	d := pooledDriver()
	for round, want := range map[int]string{-1: "/w1", 0: "/w0", 1: "/w1"} {
		if a := d.armIn(results.Reference, round); !slices.Contains(a.Command, want) {
			t.Errorf("round %d runs %q, want %s", round, a.Command, want)
		}
	}
	if a := d.armIn(results.Candidate, 0); !slices.Equal(a.Command, []string{"x"}) {
		t.Errorf("without a pool: %q", a.Command)
	}
}

// The record is the same whichever executable of the pool ran, and an executable
// that is not the one drawn is refused.
func TestBuilt(t *testing.T) {
	d := pooledDriver()
	b := d.conf.Arms[results.Reference].Build
	want := results.Arm{
		Revision: "0123", Modified: "false", BinarySHA256: []string{"controller", "zero", "one"},
		Layouts: []results.Layout{{Seed: 5, SHA256: "zero"}, {Seed: 6, SHA256: "one"}},
	}
	for round, ran := range map[int]string{-1: "one", 0: "zero"} {
		about := results.Arm{BinarySHA256: []string{"controller", ran}}
		if err := built(*b, d.workerIn(results.Reference, round), &about); err != nil || !reflect.DeepEqual(about, want) {
			t.Errorf("round %d: %+v, %v; want %+v", round, about, err, want)
		}
		other := results.Arm{BinarySHA256: []string{"controller", "another"}}
		if err := built(*b, d.workerIn(results.Reference, round), &other); err == nil || !strings.Contains(err.Error(), "want "+ran+", the worker that was built") {
			t.Errorf("round %d, another worker: %v", round, err)
		}
	}
}

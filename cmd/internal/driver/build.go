package driver

import (
	"fmt"
	"slices"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/tree"
	"github.com/fanoutbench/fanoutbench/results"
)

// workerIn is the index of the executable that an arm's worker runs in a round,
// of those that were built.
func (d *driver) workerIn(name string, round int) int {
	if layout := d.plan.LayoutIn(name, round); layout != nil {
		return *layout
	}
	return 0
}

// armIn is the arm as it runs in a round.
func (d *driver) armIn(name string, round int) arm.Arm {
	a := d.conf.Arms[name]
	if a.Build == nil {
		return a
	}
	return a.Using(d.workerIn(name, round))
}

// built adds to the record what the arm's worker was built from, and wants the
// executable that runs to be the one of that index. The whole pool stands in the
// record, so that it is the same whichever of it runs.
func built(b tree.Build, index int, about *results.Arm) error {
	about.Sources, about.Revision, about.Modified, about.Patch = b.Sources, b.Revision, b.Modified, b.Patch
	runs := b.Workers[index].SHA256
	if !slices.Contains(about.BinarySHA256, runs) {
		return fmt.Errorf("receipt: binary_sha256 is %q, want %s, the worker that was built, among them", about.BinarySHA256, runs)
	}
	all := slices.DeleteFunc(slices.Clone(about.BinarySHA256), func(sum string) bool { return sum == runs })
	for _, w := range b.Workers {
		all = append(all, w.SHA256)
		if w.Seed != 0 {
			about.Layouts = append(about.Layouts, results.Layout{Seed: w.Seed, SHA256: w.SHA256})
		}
	}
	about.BinarySHA256 = all
	return nil
}

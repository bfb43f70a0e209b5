package driver

import (
	"fmt"
	"slices"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/results"
)

// armIn is the arm as it runs in a round: with the executable drawn for it.
func (d *driver) armIn(name string, round int) arm.Arm {
	a := d.conf.Arms[name]
	if layout := d.plan.LayoutIn(name, round); layout != nil {
		return a.Using(*layout)
	}
	return a
}

// built adds to the record what the arm's worker was built from, and wants the
// executable that runs to be the one that was built. The whole pool stands in the
// record, so that it is the same whichever of it runs.
func built(a arm.Arm, about *results.Arm) error {
	b := a.Build
	about.Sources, about.Revision, about.Modified, about.Patch = b.Sources, b.Revision, b.Modified, b.Patch
	if want := a.Worker().SHA256; !slices.Contains(about.BinarySHA256, want) {
		return fmt.Errorf("receipt: binary_sha256 is %q, want %s, the worker that was built, among them", about.BinarySHA256, want)
	}
	var pool []string
	for _, w := range b.Workers {
		pool = append(pool, w.SHA256)
		if w.Seed != 0 {
			about.Layouts = append(about.Layouts, results.Layout{Seed: w.Seed, SHA256: w.SHA256})
		}
	}
	others := slices.DeleteFunc(slices.Clone(about.BinarySHA256), func(sum string) bool { return sum == a.Worker().SHA256 })
	about.BinarySHA256 = append(others, pool...)
	return nil
}

package results

import (
	"fmt"
	"slices"
)

// MaxLayouts is the largest pool of executables of an arm.
const MaxLayouts = 64

// checkLayouts: an arm with a pool has one of it drawn for each round, and the
// fresh processes by which it can change.
func (p Plan) checkLayouts() error {
	for _, name := range p.Arms() {
		arm := p.Of(name)
		pool, drawn := arm.Layouts, len(arm.Layout)
		switch {
		case pool == 0 && drawn == 0:
			continue
		case pool == 0:
			return unwanted(name+".layout", fmt.Sprintf("%d indices", drawn), "none without layouts")
		case pool < 1 || pool > MaxLayouts:
			return unwanted(name+".layouts", pool, "0 to %d", MaxLayouts)
		case p.Process == ProcessRun:
			return unwanted(name+".layouts", pool, "0 with process %s: a layout is drawn for the fresh processes of a round", p.Process)
		case drawn != p.Rounds+1:
			return unwanted(name+".layout", fmt.Sprintf("%d indices", drawn), "%d, one for round -1 and each of %d rounds", p.Rounds+1, p.Rounds)
		}
		for i, l := range arm.Layout {
			if l < 0 || l >= pool {
				return unwanted(fmt.Sprintf("%s.layout[%d]", name, i), l, "0 to %d, an index of the pool", pool-1)
			}
		}
	}
	return nil
}

// Of is the arm of that name.
func (p Plan) Of(arm string) ArmPlan {
	switch {
	case arm == Candidate:
		return p.Candidate
	case arm == Control && p.Control != nil:
		return *p.Control
	}
	return p.Reference
}

// LayoutIn is the index of the arm's executable in a round, nil without a pool.
func (p Plan) LayoutIn(arm string, round int) *int {
	if a := p.Of(arm); a.Layouts > 0 {
		return &a.Layout[round+1]
	}
	return nil
}

// checkLayout wants the executable that the plan has drawn for the trial's round.
func (p Plan) checkLayout(t Trial) error {
	switch want := p.LayoutIn(t.Arm, t.Round); {
	case want == nil && t.Layout != nil:
		return unwanted("layout", *t.Layout, "none: the arm has no pool of executables")
	case want != nil && t.Layout == nil:
		return fmt.Errorf("layout is absent, want %d as drawn in the plan", *want)
	case want != nil && *want != *t.Layout:
		return unwanted("layout", *t.Layout, "%d as drawn in the plan", *want)
	}
	return nil
}

// checkLayouts holds the arm's pool against the plan and against its binaries.
func (a Arm) checkLayouts(p ArmPlan) error {
	if len(a.Layouts) != p.Layouts {
		return unwanted("layouts", fmt.Sprintf("%d executables", len(a.Layouts)), "%d by the plan", p.Layouts)
	}
	for i, l := range a.Layouts {
		if l.Seed < 1 {
			return unwanted(fmt.Sprintf("layouts[%d].seed", i), l.Seed, "1 or more")
		}
		if !slices.Contains(a.BinarySHA256, l.SHA256) {
			return unwanted(fmt.Sprintf("layouts[%d].sha256", i), l.SHA256, "one of binary_sha256")
		}
	}
	return nil
}

// checkTree: only what git holds can differ from it.
func (a Arm) checkTree() error {
	switch {
	case a.Modified != "" && a.Modified != "true" && a.Modified != "false":
		return unwanted("modified", a.Modified, `"true", "false" or none`)
	case a.Modified != "" && a.Revision == "":
		return unwanted("modified", a.Modified, "none without a revision")
	case (a.Patch != "") != (a.Modified == "true"):
		return unwanted("patch", a.Patch, `one where modified is "true", here it is %q`, a.Modified)
	}
	return nil
}

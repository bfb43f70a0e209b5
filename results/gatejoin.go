package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/results/verdict"
)

// JoinError is an earlier attempt whose rounds cannot stand beside those of a run.
type JoinError struct{ Run, Earlier, Reason string }

func (e *JoinError) Error() string {
	return fmt.Sprintf("the rounds of %s cannot be joined with those of %s: %s", e.Earlier, e.Run, e.Reason)
}

// joined is the family of a run with the rounds of its earlier attempts before its
// own: each round had a coin of its own, so that all of them are one e-process,
// whose value does not depend on their order. Only an anytime plan may go on.
func joined(f *Folder, earlier []*Folder) (verdict.Family, error) {
	all := append(slices.Clone(earlier), f)
	for i, e := range earlier {
		reason := f.differs(e)
		for _, other := range all[i+1:] {
			if reason == "" && (e.RawSHA256 == other.RawSHA256 || e.Plan.Seed == other.Plan.Seed) {
				reason = fmt.Sprintf("its coins are those of %s (seed %d): it is the same run, or not independent of it", other.Dir, e.Plan.Seed)
			}
		}
		if reason != "" {
			return verdict.Family{}, &JoinError{f.Dir, e.Dir, reason}
		}
	}
	var family verdict.Family
	for i, run := range all {
		own := run.family()
		if i == 0 {
			family = own
			continue
		}
		family.Seed = own.Seed
		appendRounds(family.Cells, own.Cells)
		if family.Control != nil {
			appendRounds(family.Control.Cells, own.Control.Cells)
		}
	}
	return family, nil
}

// family is that of the rounds that were run, with the control's.
func (f *Folder) family() verdict.Family {
	p, counted := f.Plan.UpTo(f.Result.Rounds), byCell(f.Trials)
	family := p.family(counted, Candidate)
	if p.Control != nil {
		control := p.family(counted, Control)
		family.Control = &control
	}
	return family
}

func appendRounds(cells, more []verdict.Cell) {
	for i := range cells {
		cells[i].LogRatios = append(cells[i].LogRatios, more[i].LogRatios...)
		cells[i].CandidateFirst = append(cells[i].CandidateFirst, more[i].CandidateFirst...)
	}
}

// differs says why another run is no attempt at the same thing: its plan must be
// the same but for the coins, and the same files must have been executed.
func (f *Folder) differs(e *Folder) string {
	if f.Plan.Kind != KindAnytime {
		return "the number of rounds of this plan was fixed beforehand: going on after a look at it is no test any more (measure with --plan anytime)"
	}
	if d := differing(e.Plan.settings(), f.Plan.settings()); len(d) > 0 {
		return "its plan is another: " + d[0]
	}
	for _, name := range f.Plan.Arms() {
		if d := differing(e.Result.Arms[name].executed(), f.Result.Arms[name].executed()); len(d) > 0 {
			return "its " + name + " is another: " + d[0]
		}
	}
	return ""
}

// executed is what says whether two arms are the same thing. Executables of the
// same sources may differ from one machine to the next, so their hashes count only
// where there are no sources.
func (a Arm) executed() Arm {
	if len(a.Sources) > 0 {
		a.BinarySHA256 = nil
	}
	a.Layouts = nil
	return a
}

// joinedNames lists runs for a reader.
func joinedNames(folders []*Folder) string {
	var names []string
	for _, f := range folders {
		names = append(names, fmt.Sprintf("%s (%d rounds)", f.Dir, f.Result.Rounds))
	}
	return strings.Join(names, ", ")
}

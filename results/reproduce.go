package results

import (
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/fanoutbench/fanoutbench/results/verdict"
)

// Outcomes of a reproduction.
const (
	Reproduced    = "reproduced"
	NotReproduced = "not reproduced"
	TooImprecise  = "too imprecise"
)

// oldControlFailed is a reason that the new run alone does not tell.
const oldControlFailed = "the control of the old run failed"

// Reproduction is what a second run says of one primary cell of a first.
type Reproduction struct {
	Count    int     `json:"count"`
	Metadata string  `json:"metadata"`
	Metric   string  `json:"metric"`
	Role     string  `json:"role"`
	Outcome  string  `json:"outcome"`
	Reason   string  `json:"reason"`
	Old      RunSaid `json:"old"`
	New      RunSaid `json:"new"`
	Holds    *bool   `json:"holds,omitempty"` // whether the new bounds hold the old estimate
}

// RunSaid is what one run says of a cell, as its analysis has it.
type RunSaid struct {
	Decision    string   `json:"decision"`
	SlowdownPct *float64 `json:"slowdown_pct,omitempty"`
	LowerPct    *float64 `json:"lower_pct,omitempty"`
	UpperPct    *float64 `json:"upper_pct,omitempty"`
}

// Compare says what the new run makes of the old one's primary cells. Both must be
// verified, their figures must follow from their trials, and plans and arms must
// agree in all but what their seeds draw and by what name an arm was asked for. An
// old plan without a family is judged by the new one's, or by DefaultPrimary.
func Compare(old, new *Folder) ([]Reproduction, error) {
	for _, f := range []*Folder{old, new} {
		if status := f.Result.Verdict.Status; status != StatusVerified {
			return nil, fmt.Errorf("results: reproduce: %s is %s, want a verified run", f.Dir, status)
		}
		if err := f.CheckFigures(); err != nil {
			return nil, fmt.Errorf("results: reproduce: %s: %w", f.Dir, err)
		}
	}
	if err := reproduces(old, new); err != nil {
		return nil, err
	}
	family := new.Plan
	if len(old.Plan.Primary) > 0 {
		family = old.Plan
	} else if len(family.Primary) == 0 {
		family = family.WithFamily()
	}
	before, err := old.analysisFor(family)
	if err != nil {
		return nil, err
	}
	after, err := new.analysisFor(family)
	if err != nil {
		return nil, err
	}
	var cells []Reproduction
	for i, c := range family.Primary {
		r := Reproduction{Count: c.Count, Metadata: c.Metadata, Metric: c.Metric, Role: c.Role, Old: before.Primary[i].said(), New: after.Primary[i].said()}
		r.judge(family.MarginPct, before.controlFailed(), after.controlFailed())
		cells = append(cells, r)
	}
	return cells, nil
}

// DefaultMarginPct is the margin of a family that no plan gave one.
const DefaultMarginPct = 5

// WithFamily is a plan that decides nothing with the family that it would have by
// default.
func (p Plan) WithFamily() Plan {
	p.Primary, p.MarginPct = DefaultPrimary(p.Counts, p.Metadata), DefaultMarginPct
	return p
}

// analysisFor is what the run's trials mean for the family of a plan.
func (f *Folder) analysisFor(family Plan) (*Analysis, error) {
	p := f.Plan.UpTo(f.Result.Rounds)
	p.Primary, p.MarginPct, p.Kind = family.Primary, family.MarginPct, family.Kind
	a, err := Analyze(p, f.Trials)
	if err != nil {
		return nil, fmt.Errorf("results: reproduce: %s: %w", f.Dir, err)
	}
	return a, nil
}

func (a *Analysis) controlFailed() bool { return a.Control != nil && a.Control.Failed }

func (a PrimaryAnalysis) said() RunSaid {
	return RunSaid{Decision: a.Decision, SlowdownPct: a.SlowdownPct, LowerPct: a.LowerPct, UpperPct: a.UpperPct}
}

// judge applies the rule above.
func (r *Reproduction) judge(margin float64, oldFailed, newFailed bool) {
	low, high, claims := claim(r.Old.Decision, margin)
	n := r.New
	bounds := n.LowerPct != nil && n.UpperPct != nil
	if bounds && r.Old.SlowdownPct != nil {
		holds := *n.LowerPct <= *r.Old.SlowdownPct && *r.Old.SlowdownPct <= *n.UpperPct
		r.Holds = &holds
	}
	opposite := r.Old.Decision == DecisionImproved && n.Decision == DecisionRegressed || r.Old.Decision == DecisionRegressed && n.Decision == DecisionImproved
	switch {
	case oldFailed:
		r.say(TooImprecise, oldControlFailed)
	case newFailed:
		r.say(TooImprecise, "the control of the new run failed")
	case !claims:
		r.say(TooImprecise, "the old run says "+r.Old.Decision+", which claims nothing that could be found again")
	case n.Decision == r.Old.Decision:
		r.say(Reproduced, "both runs say "+n.Decision)
	case bounds && low < *n.LowerPct && *n.UpperPct < high:
		r.say(Reproduced, fmt.Sprintf("the new bounds lie inside what the old run claims, %s", r.Old.Decision))
	case opposite:
		r.say(NotReproduced, "the new run says "+n.Decision)
	case bounds && (*n.UpperPct <= low || *n.LowerPct >= high):
		r.say(NotReproduced, fmt.Sprintf("the new bounds lie outside what the old run claims, %s", r.Old.Decision))
	case !bounds:
		r.say(TooImprecise, "the new run says "+n.Decision+" and has no bounds")
	default:
		r.say(TooImprecise, fmt.Sprintf("the new bounds reach inside and outside what the old run claims, %s", r.Old.Decision))
	}
}

func (r *Reproduction) say(outcome, reason string) { r.Outcome, r.Reason = outcome, reason }

// claim is the open interval of slow-downs that a decision claims. Equality is
// symmetric in the arms, so its lower end is that of 1/(1+margin).
func claim(decision string, margin float64) (low, high float64, claims bool) {
	switch decision {
	case verdict.Improved:
		return math.Inf(-1), 0, true
	case verdict.Regressed:
		return 0, math.Inf(1), true
	case verdict.Equivalent:
		return -100 * margin / (100 + margin), margin, true
	case verdict.NotInferior:
		return math.Inf(-1), margin, true
	}
	return 0, 0, false
}

// reproduces wants one plan and the same arms in both runs, with coins of their own.
func reproduces(old, new *Folder) error {
	a, b := old.Plan.settings(), new.Plan.settings()
	// How an arm was named says nothing of what ran: sources do, below.
	for _, p := range []*Plan{&a, &b} {
		p.ToolVersion = ""
		p.Reference.Spec, p.Candidate.Spec = "", ""
		if p.Control != nil {
			p.Control.Spec = ""
		}
		if p.StreamSHA256 != "" {
			p.Stream = StreamRecorded
		}
		p.FullRows = 0 // runs made before there was a full stream have none
	}
	if len(a.Primary) == 0 {
		a.Primary, a.MarginPct, a.Kind = b.Primary, b.MarginPct, b.Kind
	}
	found := differing(a, b)
	for _, arm := range []string{Reference, Candidate} {
		for _, d := range rebuiltOtherwise(old.Result.Arms[arm], new.Result.Arms[arm]) {
			found = append(found, "arms."+arm+" "+d)
		}
	}
	if old.Plan.Seed == new.Plan.Seed {
		found = append(found, fmt.Sprintf("seed is %d in both, want fresh coins", old.Plan.Seed))
	}
	if old.RawSHA256 == new.RawSHA256 {
		found = append(found, RawFile+" is the same in both, want trials of their own")
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("results: reproduce: %s and %s differ: %s", old.Dir, new.Dir, strings.Join(found, "; "))
}

// unstamped is a runtime without the version that the go command gives a program of
// this module: that depends on how it was built, and sources say what it is.
func unstamped(runtime string) string {
	if name, _, _ := strings.Cut(runtime, " "); name == path.Base(Module) {
		return name
	}
	return runtime
}

// rebuiltOtherwise says in what an arm differs from the one that it was rebuilt
// from. A record that is older than an option lacks its default, so options are
// compared where both have them.
func rebuiltOtherwise(old, new Arm) []string {
	old.Runtime, new.Runtime = unstamped(old.Runtime), unstamped(new.Runtime)
	found := differing(old, new, "spec", "sources", "binary_sha256", "layouts", "options", "revision", "modified", "patch", "again")
	if s := SourcesDiffer(old.Sources, new.Sources); s != "" {
		found = append(found, "sources: "+s)
	}
	for name, value := range old.Options {
		if now, ok := new.Options[name]; ok && now != value {
			found = append(found, fmt.Sprintf("option %s is %q and %q", name, value, now))
		}
	}
	return found
}

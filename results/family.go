package results

import (
	"fmt"
	"math"
	"reflect"
	"slices"
)

// KindAnytime is a plan that may be looked at after every round: it ends as soon
// as every primary cell is settled, or after its last round. Kind is left out in
// a plan whose number of rounds is fixed.
const KindAnytime = "anytime"

// Roles of a primary cell.
const (
	RoleSuperiority    = "superiority"     // whether the candidate is faster, slower, or equal within the margin
	RoleNonInferiority = "non-inferiority" // only that it is not slower by more than the margin
)

// Limits of a family and its margin.
const (
	MaxPrimary = 64
	MinMargin  = 0.1 // per cent
	MaxMargin  = 100 // per cent
)

// Primary is one member of the family that a decision is about: a metric of a
// cell. What is not in the family is descriptive.
type Primary struct {
	Count    int    `json:"count"`
	Metadata string `json:"metadata"`
	Metric   string `json:"metric"`
	Role     string `json:"role"`
}

func (c Primary) String() string { return fmt.Sprintf("%d %s %s", c.Count, c.Metadata, c.Metric) }

// Budget is how the number of rounds was chosen from the time that was given.
type Budget struct {
	Seconds      float64  `json:"seconds"`
	RoundSeconds float64  `json:"round_seconds"`        // what one round was expected to take
	SpreadPct    *float64 `json:"spread_pct,omitempty"` // of the log ratios, in per cent, the widest of the family
	Spread       string   `json:"spread,omitempty"`     // where the spread comes from; left out where none is known
}

// DefaultPrimary is the family that the design names, as far as the plan has its
// cells: complete_ms and worker_cpu_ms of the rich cells of 32 and 310 rows, and
// first_ms there as non-inferiority. A plan without such cells has the same of
// its largest count, rich where it has rich ones.
func DefaultPrimary(counts []int, metadata []string) []Primary {
	kind := MetadataRich
	if !slices.Contains(metadata, kind) && len(metadata) > 0 {
		kind = metadata[0]
	}
	var cells []int
	for _, c := range counts {
		if kind == MetadataRich && (c == 32 || c == 310) {
			cells = append(cells, c)
		}
	}
	if len(cells) == 0 && len(counts) > 0 {
		cells = []int{slices.Max(counts)}
	}
	var family []Primary
	for _, c := range cells {
		family = append(family,
			Primary{c, kind, "complete_ms", RoleSuperiority},
			Primary{c, kind, "worker_cpu_ms", RoleSuperiority},
			Primary{c, kind, "first_ms", RoleNonInferiority})
	}
	return family
}

// checkControl: the control is the reference again, with a place in every round.
func (p Plan) checkControl() error {
	if p.Control == nil {
		if len(p.ControlAt) > 0 {
			return unwanted("control_at", fmt.Sprintf("%d places", len(p.ControlAt)), "none without a control")
		}
		return nil
	}
	same, reference := *p.Control, p.Reference
	same.Layout, reference.Layout = nil, nil // each arm draws its own
	if !reflect.DeepEqual(same, reference) {
		return unwanted("control", fmt.Sprintf("%+v", same), "the reference again, %+v", reference)
	}
	if len(p.ControlAt) != p.Rounds+1 {
		return unwanted("control_at", fmt.Sprintf("%d places", len(p.ControlAt)), "%d, one for round -1 and each of %d rounds", p.Rounds+1, p.Rounds)
	}
	for i, at := range p.ControlAt {
		if at < 0 || at > 2 {
			return unwanted(fmt.Sprintf("control_at[%d]", i), at, "0, 1 or 2")
		}
	}
	return nil
}

// checkFamily: each member is a metric of a cell of the plan, once, and a family
// has a margin.
func (p Plan) checkFamily() error {
	switch {
	case p.Kind != "" && p.Kind != KindAnytime:
		return unwanted("kind", p.Kind, "%q, or none for a fixed number of rounds", KindAnytime)
	case len(p.Primary) > MaxPrimary:
		return unwanted("primary", fmt.Sprintf("%d cells", len(p.Primary)), "at most %d", MaxPrimary)
	case len(p.Primary) == 0 && (p.Kind != "" || p.MarginPct != 0 || p.Budget != nil):
		return fmt.Errorf("primary is empty, want what kind, margin_pct and budget are about, or none of these")
	case len(p.Primary) > 0 && !(p.MarginPct >= MinMargin && p.MarginPct <= MaxMargin):
		return unwanted("margin_pct", p.MarginPct, "%v to %v", MinMargin, MaxMargin)
	}
	for i, c := range p.Primary {
		name := fmt.Sprintf("primary[%d]", i)
		switch {
		case !slices.Contains(p.Counts, c.Count) || !slices.Contains(p.Metadata, c.Metadata):
			return unwanted(name, c.String(), "a cell of counts %v and metadata %q", p.Counts, p.Metadata)
		case !slices.Contains(Metrics, c.Metric):
			return unwanted(name+".metric", c.Metric, "one of %q", Metrics)
		case c.Role != RoleSuperiority && c.Role != RoleNonInferiority:
			return unwanted(name+".role", c.Role, "%q or %q", RoleSuperiority, RoleNonInferiority)
		case slices.ContainsFunc(p.Primary[:i], func(d Primary) bool {
			return d.Count == c.Count && d.Metadata == c.Metadata && d.Metric == c.Metric
		}):
			return unwanted(name, c.String(), "each cell and metric once")
		}
	}
	return p.Budget.check()
}

func (b *Budget) check() error {
	if b == nil {
		return nil
	}
	for _, f := range []struct {
		name  string
		value *float64
	}{{"budget.seconds", &b.Seconds}, {"budget.round_seconds", &b.RoundSeconds}, {"budget.spread_pct", b.SpreadPct}} {
		if f.value != nil && (!(*f.value > 0) || math.IsInf(*f.value, 0)) {
			return unwanted(f.name, *f.value, "a finite number above 0")
		}
	}
	return nil
}

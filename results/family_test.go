package results

import (
	"slices"
	"strings"
	"testing"
)

// withFamily is the example's plan with a control and a family.
func withFamily() Plan {
	p := examplePlan()
	control := p.Reference
	p.Control, p.MarginPct = &control, 5
	p.Primary = DefaultPrimary(p.Counts, p.Metadata)
	for i := range p.First {
		p.ControlAt = append(p.ControlAt, i%3)
	}
	p.RowsPerRun, p.FencePerRun = p.RowsPerRun/2*3, p.FencePerRun/2*3
	p.FullRows = p.FullRows / 2 * 3
	return p
}

func TestControlHasItsPlace(t *testing.T) {
	p := withFamily()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for slot := range p.Trials() {
		order := p.Order(slot.Round)
		if order[slot.Position] != slot.Arm {
			t.Fatalf("%s, want the order %q", slot, order)
		}
		if at := slices.Index(order, Control); at != p.ControlAt[slot.Round+1] {
			t.Fatalf("round %d: control at %d, want %d", slot.Round, at, p.ControlAt[slot.Round+1])
		}
		if rest := slices.DeleteFunc(order, func(a string) bool { return a == Control }); rest[0] != p.First[slot.Round+1] {
			t.Fatalf("round %d: %s before the other, want %s", slot.Round, rest[0], p.First[slot.Round+1])
		}
		seen[slot.Arm]++
	}
	if len(seen) != 3 || seen[Control] != p.Len()/3 {
		t.Errorf("trials by arm %v, want %d each", seen, p.Len()/3)
	}
}

func TestFamilyIsChecked(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Plan)
		want   string
	}{
		{"control is another arm", func(p *Plan) { p.Control.Spec = "builtin:reuse" }, "the reference again"},
		{"control without places", func(p *Plan) { p.ControlAt = nil }, "control_at is"},
		{"a place that there is not", func(p *Plan) { p.ControlAt[1] = 3 }, "control_at[1] is 3"},
		{"places without control", func(p *Plan) { p.Control = nil }, "none without a control"},
		{"another kind", func(p *Plan) { p.Kind = "fixed" }, `kind is "fixed"`},
		{"no margin", func(p *Plan) { p.MarginPct = 0 }, "margin_pct is 0"},
		{"a margin that makes no sense", func(p *Plan) { p.MarginPct = -5 }, "margin_pct is -5"},
		{"margin without family", func(p *Plan) { p.Primary = nil }, "primary is empty"},
		{"another cell", func(p *Plan) { p.Primary[0].Count = 77 }, "primary[0] is"},
		{"another metric", func(p *Plan) { p.Primary[0].Metric = "speed" }, `primary[0].metric is "speed"`},
		{"another role", func(p *Plan) { p.Primary[0].Role = "main" }, `primary[0].role is "main"`},
		{"twice", func(p *Plan) { p.Primary = append(p.Primary, p.Primary[0]) }, "each cell and metric once"},
		{"a budget of nothing", func(p *Plan) { p.Budget = &Budget{RoundSeconds: 1} }, "budget.seconds is 0"},
	} {
		p := withFamily()
		c.change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestDefaultPrimary(t *testing.T) {
	for _, c := range []struct {
		counts   []int
		metadata []string
		want     string
	}{
		{[]int{1, 32, 310}, []string{"plain", "rich"}, "32 rich complete_ms, 32 rich worker_cpu_ms, 32 rich first_ms, 310 rich complete_ms, 310 rich worker_cpu_ms, 310 rich first_ms"},
		{[]int{310}, []string{"rich"}, "310 rich complete_ms, 310 rich worker_cpu_ms, 310 rich first_ms"},
		{[]int{1, 64}, []string{"plain"}, "64 plain complete_ms, 64 plain worker_cpu_ms, 64 plain first_ms"},
		{[]int{1, 64}, []string{"plain", "rich"}, "64 rich complete_ms, 64 rich worker_cpu_ms, 64 rich first_ms"},
		{[]int{32}, []string{"plain"}, "32 plain complete_ms, 32 plain worker_cpu_ms, 32 plain first_ms"},
	} {
		var got []string
		for _, p := range DefaultPrimary(c.counts, c.metadata) {
			got = append(got, p.String())
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%v %q: %s, want %s", c.counts, c.metadata, s, c.want)
		}
	}
}

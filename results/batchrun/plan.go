package batchrun

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
)

// Limits of a plan. They keep a run readable in memory.
const (
	MaxRounds   = results.MaxRounds
	MaxCells    = 64
	MaxItems    = 100_000
	MaxTokens   = 10_000_000
	MaxUnique   = 1_000_000
	MaxLabels   = 1000
	MaxWarmup   = 10_000
	MaxRequests = 5_000_000 // of a run, all trials together
	MaxSeconds  = 24 * 60 * 60
	MaxRPS      = 1_000_000
	MaxShards   = results.MaxShards
)

var (
	kinds = []string{KindSingle, KindPoisson, KindConstant}
	apis  = []string{APIScore, APICompletions, APIChat}
)

// Slot is the place of one trial in the plan's order.
type Slot struct {
	Round    int
	Cell     int
	Arm      string
	Position int
}

func (s Slot) String() string {
	return fmt.Sprintf("round %d, cell %d, arm %s, position %d", s.Round, s.Cell, s.Arm, s.Position)
}

// Open says whether the cell is an open loop, which has a schedule.
func (c Cell) Open() bool { return c.Kind != KindSingle }

// String names the cell: "poisson 50 items 10 rps", "single 100 items".
func (c Cell) String() string {
	s := c.Kind + " " + strconv.Itoa(c.Items) + " items"
	if c.Open() {
		s += " " + strconv.FormatFloat(c.RPS, 'g', -1, 64) + " rps"
	}
	return s
}

// Order is the order of the arms in a round.
func (p Plan) Order(round int) []string {
	if p.First[round] == Reference {
		return []string{Reference, Candidate}
	}
	return []string{Candidate, Reference}
}

// Trials is the order of the trials: in a round the cells as listed, for each the
// arms as Order has them.
func (p Plan) Trials() iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for i := range p.Len() {
			if !yield(p.slot(i)) {
				return
			}
		}
	}
}

// Len is the number of trials of the plan.
func (p Plan) Len() int { return p.Rounds * len(p.Cells) * 2 }

func (p Plan) slot(i int) Slot {
	position, i := i%2, i/2
	cell, round := i%len(p.Cells), i/len(p.Cells)
	return Slot{Round: round, Cell: cell, Arm: p.Order(round)[position], Position: position}
}

// RequestsOf is how many requests each trial of a cell has in a round.
func (p Plan) RequestsOf(round, cell int) int {
	if !p.Cells[cell].Open() {
		return p.Cells[cell].Requests
	}
	n := 0
	for _, s := range p.Schedules {
		if s.Round == round && s.Cell == cell {
			n += s.Requests
		}
	}
	return n
}

// ScheduleName is the name of the file of a schedule in the folder of a run that is not
// merged.
func ScheduleName(round, cell int) string { return ScheduleRef{Round: round, Cell: cell}.Name() }

// Name is the file of the schedule in a run folder.
func (s ScheduleRef) Name() string {
	shard := ""
	if s.Shard != nil {
		shard = fmt.Sprintf("-shard-%d", *s.Shard)
	}
	return fmt.Sprintf("%s/round-%d-cell-%d%s.json", ScheduleFolder, s.Round, s.Cell, shard)
}

// Name is the member as decisions name it: the cell and the metric.
func (p Plan) Name(member Primary) string { return p.Cells[member.Cell].String() + " " + member.Metric }

// DefaultPrimary is the family of a plan that was asked for none: the mean and the
// 90th percentile of every open loop, or of every single cell where there is no loop,
// and, where the arrival of items is known, that the leading item is not slower.
func DefaultPrimary(cells []Cell, leading bool) []Primary {
	loops := slices.ContainsFunc(cells, Cell.Open)
	var family []Primary
	for i, c := range cells {
		if c.Open() != loops {
			continue
		}
		family = append(family, Primary{i, "avg_ms", results.RoleSuperiority}, Primary{i, "p90_ms", results.RoleSuperiority})
		if leading {
			family = append(family, Primary{i, "leading_ms", results.RoleNonInferiority})
		}
	}
	return family
}

// Validate checks every field. The error names the field, its value and what was
// wanted.
func (p Plan) Validate() error {
	for _, check := range []func() error{p.checkNames, p.checkRanges, p.checkCells, p.checkOrder, p.checkShard, p.checkSchedules, p.checkFamily} {
		if err := check(); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	return nil
}

func (p Plan) checkNames() error {
	if p.Schema != Schema {
		return form.Unwanted("schema", p.Schema, "%d", Schema)
	}
	for _, f := range []struct {
		name, value string
		longest     int
	}{
		{"tool_version", p.ToolVersion, 200},
		{"reference.spec", p.Reference.Spec, 4096},
		{"candidate.spec", p.Candidate.Spec, 4096},
	} {
		if f.value == "" || len(f.value) > f.longest || !utf8.ValidString(f.value) {
			return form.Unwanted(f.name, f.value, "1 to %d bytes of UTF-8", f.longest)
		}
	}
	if !slices.Contains(apis, p.API) {
		return form.Unwanted("api", p.API, "one of %q", apis)
	}
	for name, sum := range map[string]string{"dataset_sha256": p.DatasetSHA256, "tokenizer_sha256": p.TokenizerSHA256} {
		if sum == "" {
			continue
		}
		if err := form.CheckHash(name, sum); err != nil {
			return err
		}
	}
	return form.CheckHash("requests_sha256", p.RequestsSHA256)
}

func (p Plan) checkRanges() error {
	for _, f := range []struct {
		name        string
		value       int
		least, most int
	}{
		{"rounds", p.Rounds, 1, MaxRounds},
		{"warmup", p.Warmup, 0, MaxWarmup},
		{"number of cells", len(p.Cells), 1, MaxCells},
		{"query_tokens", p.QueryTokens, 0, MaxTokens},
		{"item_tokens", p.ItemTokens, 0, MaxTokens},
		{"unique_requests", p.UniqueRequests, 1, MaxUnique},
		{"number of labels", len(p.Labels), 0, MaxLabels},
	} {
		if f.value < f.least || f.value > f.most {
			return form.Unwanted(f.name, f.value, "%d to %d", f.least, f.most)
		}
	}
	for i, l := range p.Labels {
		if l < 0 {
			return form.Unwanted(fmt.Sprintf("labels[%d]", i), l, "a token id, 0 or more")
		}
	}
	switch {
	case !(p.TimeoutMS > 0 && p.TimeoutMS <= results.MaxTimeoutMS):
		return form.Unwanted("timeout_ms", p.TimeoutMS, "above 0 and at most %d", results.MaxTimeoutMS)
	case !(p.ScoreTolerance >= 0) || math.IsInf(p.ScoreTolerance, 0):
		return form.Unwanted("score_tolerance", p.ScoreTolerance, "a finite number, 0 or more")
	case !(p.MaxFailedPct >= 0 && p.MaxFailedPct <= 100):
		return form.Unwanted("max_failed_pct", p.MaxFailedPct, "0 to 100")
	}
	return nil
}

func (p Plan) checkCells() error {
	for i, c := range p.Cells {
		if err := c.check(); err != nil {
			return fmt.Errorf("cells[%d]: %w", i, err)
		}
		if slices.ContainsFunc(p.Cells[:i], func(d Cell) bool { return d.String() == c.String() }) {
			return form.Unwanted(fmt.Sprintf("cells[%d]", i), c.String(), "each kind, number of items and rate once")
		}
	}
	return nil
}

func (c Cell) check() error {
	open := c.Open()
	switch {
	case !slices.Contains(kinds, c.Kind):
		return form.Unwanted("kind", c.Kind, "one of %q", kinds)
	case c.Items < 1 || c.Items > MaxItems:
		return form.Unwanted("items", c.Items, "1 to %d", MaxItems)
	case open && !(c.RPS > 0 && c.RPS <= MaxRPS):
		return form.Unwanted("rps", c.RPS, "above 0 and at most %d", MaxRPS)
	case open && !(c.Seconds > 0 && c.Seconds <= MaxSeconds):
		return form.Unwanted("seconds", c.Seconds, "above 0 and at most %d", MaxSeconds)
	case open && c.Requests != 0:
		return form.Unwanted("requests", c.Requests, "none: the schedules say how many")
	case !open && (c.RPS != 0 || c.Seconds != 0):
		return form.Unwanted("rps and seconds", fmt.Sprintf("%v and %v", c.RPS, c.Seconds), "none of a single cell")
	case !open && (c.Requests < 1 || c.Requests > MaxRequests):
		return form.Unwanted("requests", c.Requests, "1 to %d", MaxRequests)
	}
	return nil
}

func (p Plan) checkOrder() error {
	if len(p.First) != p.Rounds {
		return form.Unwanted("first", fmt.Sprintf("%d arms", len(p.First)), "%d, one for each round", p.Rounds)
	}
	for i, arm := range p.First {
		if arm != Reference && arm != Candidate {
			return form.Unwanted(fmt.Sprintf("first[%d]", i), arm, "%q or %q", Reference, Candidate)
		}
	}
	return nil
}

// checkSchedules: every round has one of every open-loop cell (of a merged run one of
// each shard), in this order, and the run's requests are not too many to read.
func (p Plan) checkSchedules() error {
	total, next := 0, 0
	for round := range p.Rounds {
		for cell, c := range p.Cells {
			n := c.Requests
			if c.Open() {
				for part := range max(1, len(p.Parts)) {
					if next >= len(p.Schedules) {
						return form.Unwanted("schedules", fmt.Sprintf("%d of them", len(p.Schedules)), "one for round %d, cell %d too", round, cell)
					}
					s := p.Schedules[next]
					if err := s.check(round, cell, p.merged(), part); err != nil {
						return fmt.Errorf("schedules[%d]: %w", next, err)
					}
					next++
					n += s.Requests
				}
			}
			if total += 2 * n; total > MaxRequests {
				return fmt.Errorf("the trials have more than %d requests up to round %d, cell %d", MaxRequests, round, cell)
			}
		}
	}
	if next < len(p.Schedules) {
		return form.Unwanted("schedules", fmt.Sprintf("%d of them", len(p.Schedules)), "%d", next)
	}
	return nil
}

func (s ScheduleRef) check(round, cell int, merged bool, part int) error {
	switch {
	case s.Round != round || s.Cell != cell:
		return form.Unwanted("place", fmt.Sprintf("round %d, cell %d", s.Round, s.Cell), "round %d, cell %d", round, cell)
	case (s.Shard != nil) != merged || merged && *s.Shard != part:
		return fmt.Errorf("shard is there exactly in a merged run, want %d here", part)
	case s.Requests < 1 || s.Requests > MaxRequests:
		return form.Unwanted("requests", s.Requests, "1 to %d", MaxRequests)
	}
	return form.CheckHash("sha256", s.SHA256)
}

// checkFamily: each member is a metric of a cell of the plan, once, and a family
// has a margin.
func (p Plan) checkFamily() error {
	switch {
	case len(p.Primary) > results.MaxPrimary:
		return form.Unwanted("primary", fmt.Sprintf("%d cells", len(p.Primary)), "at most %d", results.MaxPrimary)
	case len(p.Primary) == 0 && p.MarginPct != 0:
		return fmt.Errorf("primary is empty, want what margin_pct is about, or no margin")
	case len(p.Primary) > 0 && !(p.MarginPct >= results.MinMargin && p.MarginPct <= results.MaxMargin):
		return form.Unwanted("margin_pct", p.MarginPct, "%v to %v", results.MinMargin, results.MaxMargin)
	}
	for i, c := range p.Primary {
		name := fmt.Sprintf("primary[%d]", i)
		switch {
		case c.Cell < 0 || c.Cell >= len(p.Cells):
			return form.Unwanted(name+".cell", c.Cell, "0 to %d", len(p.Cells)-1)
		case !slices.Contains(Metrics, c.Metric):
			return form.Unwanted(name+".metric", c.Metric, "one of %q", Metrics)
		case c.Role != results.RoleSuperiority && c.Role != results.RoleNonInferiority:
			return form.Unwanted(name+".role", c.Role, "%q or %q", results.RoleSuperiority, results.RoleNonInferiority)
		case slices.ContainsFunc(p.Primary[:i], func(d Primary) bool { return d.Cell == c.Cell && d.Metric == c.Metric }):
			return form.Unwanted(name, p.Name(c), "each cell and metric once")
		}
	}
	return nil
}

package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/fanoutbench/fanoutbench/stats"
)

// Decisions, of a cell and of a family. NotInferior is a cell's only, Identical
// is for whoever knows what the arms are.
const (
	Improved     = "improved"
	Regressed    = "regressed"
	Equivalent   = "equivalent"
	NotInferior  = "not-inferior"
	Inconclusive = "inconclusive"
	Insufficient = "insufficient"
	Identical    = "identical"
)

const (
	// Level is what holds for the whole family at once.
	Level = 0.95
	// MinRounds is the number of rounds below which no interval of a single cell
	// reaches Level, and the first at which an anytime plan looks.
	MinRounds = 6
	// Draws is the number of flips above stats.MaxEnumerated rounds.
	Draws = 10_000
	// Power is what the smallest effect and the rounds needed are stated for.
	Power = 0.8
)

// Family is what a decision is about.
type Family struct {
	Cells   []Cell
	Margin  float64 // a slow-down as a fraction, above 0
	Anytime bool
	Seed    uint64 // of flips that are drawn
	Control *Family
	Hosts   []int // rounds of each host, in the order of the log ratios; none: all are one host's
}

// Cell is one metric of one cell: a log ratio a round, NaN where a round lacks it.
type Cell struct {
	Name           string
	NonInferiority bool
	LogRatios      []float64
	CandidateFirst []bool // by round
}

// Judged is a cell with what was found. Floats are on the scale of log ratios but
// for P and E; what does not exist is nil.
type Judged struct {
	Decision, Reason       string
	Estimate, Lower, Upper *float64
	P, E                   *float64
	Spread, SmallestEffect *float64
	RoundsNeeded           *int
	Lag1, PositionP        *float64
}

// Judgement is what a family comes to.
type Judgement struct {
	Decision, Reason string
	Cells            []Judged
	Flips            int // of a fixed plan
	Sampled          bool
	Control          *Judgement
	ControlFailed    bool
}

// Judge decides. The error is for a family that makes no sense: no cell, cells of
// unlike numbers of rounds, a margin that is not above zero.
func Judge(f Family) (Judgement, error) {
	if err := f.check(); err != nil {
		return Judgement{}, err
	}
	j := Judgement{Cells: make([]Judged, len(f.Cells))}
	if f.Control != nil {
		control, err := Judge(*f.Control)
		if err != nil {
			return j, fmt.Errorf("control: %w", err)
		}
		j.Control, j.ControlFailed = &control, control.rejects()
	}
	for i := range f.Cells {
		f.describe(i, &j.Cells[i])
	}
	if j.Decision, j.Reason = f.undecidable(); j.Decision != "" {
		for i := range j.Cells {
			j.Cells[i].Decision, j.Cells[i].Reason = j.Decision, j.Reason
		}
		return j, nil
	}
	if err := f.decideCells(&j); err != nil {
		return j, err
	}
	for i := range j.Cells {
		f.plan(i, &j.Cells[i])
	}
	j.Decision, j.Reason = f.together(j)
	return j, nil
}

// decideCells decides each cell of a described family as its plan asks.
func (f Family) decideCells(j *Judgement) error {
	if f.Anytime {
		return f.anytime(j)
	}
	return f.fixed(j)
}

func (f Family) check() error {
	if len(f.Cells) == 0 {
		return fmt.Errorf("verdict: the family has no cells, want at least one")
	}
	if !(f.Margin > 0) || math.IsInf(f.Margin, 0) {
		return fmt.Errorf("verdict: margin is %v, want a fraction above 0", f.Margin)
	}
	if err := f.checkHosts(); err != nil {
		return err
	}
	for _, c := range f.Cells {
		if len(c.LogRatios) != f.rounds() || len(c.CandidateFirst) != f.rounds() {
			return fmt.Errorf("verdict: %s has %d log ratios and %d coins, want %d of both", c.Name, len(c.LogRatios), len(c.CandidateFirst), f.rounds())
		}
	}
	return nil
}

func (f Family) rounds() int { return len(f.Cells[0].LogRatios) }

func (f Family) margin() float64 { return math.Log1p(f.Margin) }

// undecidable says why nothing can be decided, if so.
func (f Family) undecidable() (decision, reason string) {
	var missing []string
	for _, c := range f.Cells {
		for i, l := range c.LogRatios {
			if math.IsNaN(l) {
				missing = append(missing, fmt.Sprintf("%s in round %d", c.Name, i))
				break
			}
		}
	}
	switch n := f.rounds(); {
	case n < MinRounds:
		return Insufficient, fmt.Sprintf("%d rounds, and no interval exists below %d", n, MinRounds)
	case len(missing) > 0:
		return Inconclusive, "a family with a hole decides nothing: no value of " + strings.Join(missing, ", ")
	}
	return "", ""
}

// matrix has the log ratios by round, as stats wants them.
func (f Family) matrix() [][]float64 {
	rounds := make([][]float64, f.rounds())
	for i := range rounds {
		for _, c := range f.Cells {
			rounds[i] = append(rounds[i], c.LogRatios[i])
		}
	}
	return rounds
}

// rejects says whether some cell was found slower or faster.
func (j Judgement) rejects() bool {
	for _, c := range j.Cells {
		if c.Decision == Improved || c.Decision == Regressed {
			return true
		}
	}
	return false
}

// together is the decision of the family, from those of its cells.
func (f Family) together(j Judgement) (decision, reason string) {
	if j.ControlFailed {
		return Inconclusive, "the control failed: the reference differs from itself in this run (" + j.Control.Reason + ")"
	}
	names := map[string][]string{}
	for i, c := range j.Cells {
		names[c.Decision] = append(names[c.Decision], f.Cells[i].Name)
	}
	list := func(decision string) string { return strings.Join(names[decision], ", ") }
	open := ""
	if len(names[Inconclusive]) > 0 {
		open = "; inconclusive: " + list(Inconclusive)
	}
	switch {
	case len(names[Regressed]) > 0:
		return Regressed, fmt.Sprintf("slower in %d of %d primary cells: %s%s", len(names[Regressed]), len(j.Cells), list(Regressed), open)
	case len(names[Improved]) > 0:
		return Improved, fmt.Sprintf("faster in %d of %d primary cells: %s%s", len(names[Improved]), len(j.Cells), list(Improved), open)
	case open == "":
		return Equivalent, fmt.Sprintf("all %d primary cells are within the margin of %.4g %%", len(j.Cells), 100*f.Margin)
	}
	return Inconclusive, fmt.Sprintf("%d of %d primary cells are not settled: %s", len(names[Inconclusive]), len(j.Cells), list(Inconclusive))
}

// Settled says whether an anytime plan may end: every cell is decided. Before
// MinRounds, and in a family with a hole, it may not. It is asked after every round,
// so it leaves out what Judge says beside the decisions: what would settle a cell
// takes longer to find than whether it is settled.
func Settled(f Family) (bool, error) {
	if err := f.check(); err != nil {
		return false, err
	}
	if decision, _ := f.undecidable(); decision != "" {
		return false, nil
	}
	j := Judgement{Cells: make([]Judged, len(f.Cells))}
	for i := range f.Cells {
		f.describe(i, &j.Cells[i])
	}
	if err := f.decideCells(&j); err != nil {
		return false, err
	}
	for _, c := range j.Cells {
		if c.Decision == Inconclusive {
			return false, nil
		}
	}
	return true, nil
}

// A statistic that exists.
func some(v float64, ok bool) *float64 {
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// describe fills in what a cell's own log ratios say without a decision.
func (f Family) describe(i int, c *Judged) {
	x := f.Cells[i].LogRatios
	c.Estimate = some(stats.Median(x), true)
	c.Spread = some(stats.RobustSpread(x), true)
	lag, ok := stats.Autocorrelation(x, Level)
	c.Lag1 = some(lag.R, ok)
	position, ok := stats.PositionEffect(x, f.Cells[i].CandidateFirst)
	c.PositionP = some(position.P, ok)
}

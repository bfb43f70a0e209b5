package results

import (
	"math"

	"github.com/fanoutbench/fanoutbench/results/verdict"
	"github.com/fanoutbench/fanoutbench/stats"
)

// Analyze says what the trials of a complete run mean for the plan's family; nil
// for a plan without one. It is a function of plan and trials alone.
func Analyze(p Plan, trials []Trial) (*Analysis, error) {
	if len(p.Primary) == 0 {
		return nil, nil
	}
	j, err := verdict.Judge(p.families(trials))
	if err != nil {
		return nil, err
	}
	a := &Analysis{
		Decision: j.Decision, Reason: j.Reason, Level: verdict.Level, Rounds: p.Rounds,
		Flips: j.Flips, Sampled: j.Sampled, Primary: primaries(p, j), Effects: p.effects(byCell(trials)),
	}
	if j.Control != nil {
		a.Control = &ControlAnalysis{Failed: j.ControlFailed, Reason: j.Control.Reason, Primary: primaries(p, *j.Control)}
	}
	return a, nil
}

// families is the plan's family with that of its control.
func (p Plan) families(trials []Trial) verdict.Family {
	counted := byCell(trials)
	family := p.family(counted, Candidate)
	if p.Control != nil {
		control := p.family(counted, Control)
		family.Control = &control
	}
	return family
}

// Settled says whether a run of an anytime plan may end with these trials: those
// of whole rounds, the last of which is the plan's.
func Settled(p Plan, trials []Trial) (bool, error) {
	return verdict.Settled(p.family(byCell(trials), Candidate))
}

// byCell are the trials that count, by their cells.
func byCell(trials []Trial) map[cell][]Trial {
	cells := map[cell][]Trial{}
	for _, t := range trials {
		if t.Round >= 0 {
			key := cell{t.Count, t.Metadata}
			cells[key] = append(cells[key], t)
		}
	}
	return cells
}

// family is the plan's family with the arm of that name against the reference.
func (p Plan) family(trials map[cell][]Trial, arm string) verdict.Family {
	f := verdict.Family{Margin: p.MarginPct / 100, Anytime: p.Kind == KindAnytime, Seed: p.Seed}
	var first []bool
	for round := range p.Rounds {
		first = append(first, p.before(round, arm))
	}
	for _, c := range p.Primary {
		f.Cells = append(f.Cells, verdict.Cell{
			Name: c.String(), NonInferiority: c.Role == RoleNonInferiority, CandidateFirst: first,
			LogRatios: p.logRatios(trials[cell{c.Count, c.Metadata}], arm, c.Metric),
		})
	}
	return f
}

// before says whether the arm runs before the reference in a round.
func (p Plan) before(round int, arm string) bool {
	for _, name := range p.Order(round) {
		if name == arm {
			return true
		}
		if name == Reference {
			break
		}
	}
	return false
}

// logRatios has ln(arm/reference) of the means of each round, NaN where one of
// them is missing or not above zero.
func (p Plan) logRatios(trials []Trial, arm, metric string) []float64 {
	reference, other := roundMeans(p, trials, Reference, metric), roundMeans(p, trials, arm, metric)
	ratios := make([]float64, p.Rounds)
	for i := range ratios {
		ratios[i] = math.NaN()
		if reference[i] == nil || other[i] == nil {
			continue
		}
		if l, ok := stats.LogRatio(*reference[i], *other[i]); ok {
			ratios[i] = l
		}
	}
	return ratios
}

func primaries(p Plan, j verdict.Judgement) []PrimaryAnalysis {
	out := make([]PrimaryAnalysis, len(j.Cells))
	for i, c := range j.Cells {
		member := p.Primary[i]
		out[i] = PrimaryAnalysis{
			Count: member.Count, Metadata: member.Metadata, Metric: member.Metric, Role: member.Role,
			Decision: c.Decision, Reason: c.Reason,
			SlowdownPct: slowdown(c.Estimate), LowerPct: slowdown(c.Lower), UpperPct: slowdown(c.Upper),
			P: six(c.P), EValue: six(c.E),
			SpreadPct: slowdown(c.Spread), SmallestEffectPct: slowdown(c.SmallestEffect), RoundsNeeded: c.RoundsNeeded,
			Lag1: six(c.Lag1), PositionP: six(c.PositionP),
		}
	}
	return out
}

// effects has every cell and metric in the order of the summary.
func (p Plan) effects(trials map[cell][]Trial) []Effect {
	var out []Effect
	for _, count := range p.Counts {
		for _, metadata := range p.Metadata {
			for _, metric := range Metrics {
				e := Effect{Count: count, Metadata: metadata, Metric: metric}
				e.estimate(p.logRatios(trials[cell{count, metadata}], Candidate, metric))
				out = append(out, e)
			}
		}
	}
	return out
}

// estimate fills in what the rounds that have a ratio say.
func (e *Effect) estimate(ratios []float64) {
	var x []float64
	for _, l := range ratios {
		if !math.IsNaN(l) {
			x = append(x, l)
		}
	}
	if len(x) == 0 {
		return
	}
	estimate := stats.HodgesLehmann(x)
	e.SlowdownPct = slowdown(&estimate)
	if i, ok := stats.SignedRank(x, Level); ok {
		e.CI = &Interval{Low: *slowdown(&i.Low), High: *slowdown(&i.High)}
		if !math.IsNaN(i.Level) {
			e.CI.Level = six(&i.Level)
		}
	}
}

// slowdown is a log ratio in per cent, with six significant digits.
func slowdown(l *float64) *float64 {
	if l == nil {
		return nil
	}
	pct := 0 - stats.ReductionOf(*l)
	return six(&pct)
}

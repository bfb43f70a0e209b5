package batchrun

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
	"github.com/fanoutbench/fanoutbench/results/verdict"
	"github.com/fanoutbench/fanoutbench/stats"
)

// pairs are a metric of a cell in both arms, by round.
func pairs(p Plan, rounds []Figures, cell int, metric string) (reference, candidate []*float64) {
	reference, candidate = make([]*float64, p.Rounds), make([]*float64, p.Rounds)
	for _, f := range rounds {
		if f.Cell != cell {
			continue
		}
		if f.Arm == Reference {
			reference[*f.Round] = f.Metric(metric)
		} else {
			candidate[*f.Round] = f.Metric(metric)
		}
	}
	return reference, candidate
}

func summarize(p Plan, rounds []Figures) []SummaryRow {
	var rows []SummaryRow
	for cell := range p.Cells {
		for _, metric := range Metrics {
			reference, candidate := pairs(p, rounds, cell, metric)
			rows = append(rows, summaryRow(cell, metric, reference, candidate))
		}
	}
	return rows
}

func summaryRow(cell int, metric string, reference, candidate []*float64) SummaryRow {
	row := SummaryRow{Cell: cell, Metric: metric, ReferenceMS: median(reference), CandidateMS: median(candidate)}
	var reductions []float64
	for i := range reference {
		row.Reductions = append(row.Reductions, nil)
		if reference[i] == nil || candidate[i] == nil {
			continue
		}
		if pct, ok := stats.PairedReduction(*reference[i], *candidate[i]); ok {
			row.Reductions[i] = &pct
			reductions = append(reductions, pct)
		}
	}
	row.Rounds, row.FasterRounds = len(reductions), stats.FasterRounds(reductions)
	row.MedianPairedReductionPct = median(row.Reductions)
	if i, err := stats.BootstrapMedian(reductions, verdict.Level); err == nil {
		row.BootstrapCI = shown(i)
	} // no reductions: none
	if i, ok := stats.OrderStatistic(reductions, verdict.Level); ok {
		row.OrderCI = shown(i)
	}
	return row
}

func median(values []*float64) *float64 {
	var x []float64
	for _, v := range values {
		x = some(x, v)
	}
	if len(x) == 0 {
		return nil
	}
	m := stats.Median(x)
	return &m
}

func shown(i stats.Interval) *results.Interval {
	out := &results.Interval{Low: i.Low, High: i.High}
	if !math.IsNaN(i.Level) {
		out.Level = &i.Level
	}
	return out
}

func agreement(p Plan, requests [][]Request) Agreement {
	var a Agreement
	for _, of := range requests {
		for _, r := range of {
			d := r.ScoreDifference
			if d == nil {
				continue
			}
			a.Compared++
			if *d != 0 {
				a.Different++
			}
			if *d > p.ScoreTolerance {
				a.Intolerant++
			}
			if a.Largest == nil || *d > *a.Largest {
				a.Largest = d
			}
		}
	}
	return a
}

// invalidity says why the figures cannot be taken for what the plan asked: the
// sender did not send it, too much failed, or the arms do not answer alike.
func invalidity(p Plan, trials []Trial, requests [][]Request, a Agreement) []string {
	why := append(p.apart(trials), p.lateness(trials, requests)...)
	for _, t := range trials {
		where := fmt.Sprintf("round %d, %s, %s: ", t.Round, p.Cells[t.Cell], t.Arm)
		for _, reason := range t.Reasons {
			why = append(why, where+reason)
		}
		if t.Unsent > 0 && t.Valid {
			why = append(why, where+fmt.Sprintf("%d of %d requests were not sent", t.Unsent, t.Requests))
		}
		if pct := 100 * float64(t.Failed) / float64(t.Requests); pct > p.MaxFailedPct {
			why = append(why, where+fmt.Sprintf("%d of %d requests failed, %.4g %%, want at most %.4g %%", t.Failed, t.Requests, pct, p.MaxFailedPct))
		}
	}
	switch {
	case a.Intolerant > 0:
		why = append(why, fmt.Sprintf("%d of %d compared answers lie further apart than %g, the furthest %g", a.Intolerant, a.Compared, p.ScoreTolerance, *a.Largest))
	case a.Compared == 0 && p.API == APIScore:
		why = append(why, "no answer was compared with one of the reference to the same request")
	}
	return why
}

// MostLatePct is how many in a hundred of an arm's requests at a rate, over all rounds, may be sent later than their trials'
// limits.
const MostLatePct = 1

// sender is who sent an arm's requests in a cell: of a merged run a shard, otherwise number 0.
type sender struct {
	cell  int
	arm   string
	shard int
}

// lateness says of which arms and rates too many requests were late. Of one trial the sender allows more: it has few
// requests, and what a machine does now and then shows in one round and not in the others. Where a trial has been
// found late by itself, that says it. Of a merged run each shard is judged for itself, since one that was late
// would pass among many that were not; their limit is the least that a shard had.
func (p Plan) lateness(trials []Trial, requests [][]Request) (why []string) {
	late, sent := lateRequests(trials, requests)
	for cell, c := range p.Cells {
		for _, arm := range []string{Reference, Candidate} {
			if foundLate(trials, cell, arm) {
				continue
			}
			for shard := range max(1, len(p.Parts)) {
				s, of := sender{cell, arm, shard}, ""
				if 100*late[s] <= MostLatePct*sent[s] {
					continue
				}
				if p.merged() {
					of = fmt.Sprintf("shard %d: ", shard)
				}
				why = append(why, fmt.Sprintf("%s, %s: %slateness: in all rounds %d of %d requests, %.3g %%, were sent later than their trials allow, at most %d %% may",
					c, arm, of, late[s], sent[s], 100*float64(late[s])/float64(sent[s]), MostLatePct))
			}
		}
	}
	return why
}

// lateRequests counts, of the trials whose lateness was judged, who sent how many requests, and how many of them later than
// their trial allows.
func lateRequests(trials []Trial, requests [][]Request) (late, sent map[sender]int) {
	late, sent = map[sender]int{}, map[sender]int{}
	for i, t := range trials {
		for _, r := range requests[i] {
			if t.Judged == nil || r.SentMS == nil {
				continue
			}
			s := sender{cell: t.Cell, arm: t.Arm}
			if r.Shard != nil {
				s.shard = *r.Shard
			}
			sent[s]++
			if r.latenessMS() > t.Judged.LatenessLimitMS {
				late[s]++
			}
		}
	}
	return late, sent
}

// foundLate says whether a trial of the arm in the cell was found late by itself.
func foundLate(trials []Trial, cell int, arm string) bool {
	return slices.ContainsFunc(trials, func(t Trial) bool {
		return t.Cell == cell && t.Arm == arm && slices.ContainsFunc(t.Reasons, func(r string) bool { return strings.Contains(r, "lateness: ") })
	})
}

// analyze says what the rounds mean for the plan's family; nil for a plan without
// one.
func analyze(p Plan, rounds []Figures) (*Analysis, error) {
	if len(p.Primary) == 0 {
		return nil, nil
	}
	j, err := verdict.Judge(p.family(rounds))
	if err != nil {
		return nil, err
	}
	a := &Analysis{Decision: j.Decision, Reason: j.Reason, Level: verdict.Level, Rounds: p.Rounds, Flips: j.Flips, Sampled: j.Sampled}
	for i, c := range j.Cells {
		member := p.Primary[i]
		a.Primary = append(a.Primary, PrimaryAnalysis{
			Cell: member.Cell, Metric: member.Metric, Role: member.Role, Decision: c.Decision, Reason: c.Reason,
			SlowdownPct: slowdown(c.Estimate), LowerPct: slowdown(c.Lower), UpperPct: slowdown(c.Upper), P: form.Six(c.P),
			SpreadPct: slowdown(c.Spread), SmallestEffectPct: slowdown(c.SmallestEffect), RoundsNeeded: c.RoundsNeeded,
			Lag1: form.Six(c.Lag1), PositionP: form.Six(c.PositionP),
		})
	}
	return a, nil
}

// family is the plan's family as package verdict takes it.
func (p Plan) family(rounds []Figures) verdict.Family {
	f := verdict.Family{Margin: p.MarginPct / 100, Seed: p.Seed}
	var first []bool
	for _, arm := range p.First {
		first = append(first, arm == Candidate)
	}
	for _, member := range p.Primary {
		reference, candidate := pairs(p, rounds, member.Cell, member.Metric)
		cell := verdict.Cell{Name: p.Name(member), NonInferiority: member.Role == results.RoleNonInferiority, CandidateFirst: first}
		for i := range reference {
			ratio := math.NaN()
			if reference[i] != nil && candidate[i] != nil {
				if l, ok := stats.LogRatio(*reference[i], *candidate[i]); ok {
					ratio = l
				}
			}
			cell.LogRatios = append(cell.LogRatios, ratio)
		}
		f.Cells = append(f.Cells, cell)
	}
	return f
}

// slowdown is a log ratio in per cent, with six significant digits.
func slowdown(l *float64) *float64 {
	if l == nil {
		return nil
	}
	pct := 0 - stats.ReductionOf(*l)
	return form.Six(&pct)
}

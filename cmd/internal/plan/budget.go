package plan

import (
	"fmt"
	"math"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/verdict"
	"github.com/fanoutbench/fanoutbench/stats"
)

// Choices are the numbers of rounds that a budget chooses from: those at which
// interval and level are near what is asked for.
var Choices = []int{9, 12, 17, 20, 25, 30}

// Cost is what a run takes: what comes before its first counted round, which is
// starts, full streams and round -1, and every round from then on.
type Cost struct{ Before, Round time.Duration }

// Of is the time that so many rounds take.
func (c Cost) Of(rounds int) time.Duration { return c.Before + time.Duration(rounds)*c.Round }

// Noise is what is known, before a run, of the spread of one round's log ratios
// where nothing differs. The zero value knows nothing.
type Noise struct {
	Source string                                // where it comes from
	Spread func(results.Primary) (float64, bool) // of a member of the family
}

// Rounds chooses the number of rounds of a plan for a budget, of which spent has
// gone already. It is the first of Choices that would settle every member of the
// plan's family against the margin, were there no difference, with the power that
// package verdict has; where that is not known, or does not fit, the most that fit,
// as always where the plan may end early by itself.
// needed is what was asked for, 0 where it is not known. Where not even 9 fit it
// is what fits, down to verdict.MinRounds; a *BudgetError says that less would.
func Rounds(p results.Plan, n Noise, c Cost, budget, spent time.Duration) (rounds, needed int, err error) {
	for _, choice := range Choices {
		if spent+c.Of(choice) <= budget {
			rounds = choice
		}
	}
	for less := Choices[0] - 1; rounds == 0 && less >= verdict.MinRounds; less-- {
		if spent+c.Of(less) <= budget {
			rounds = less
		}
	}
	if rounds == 0 {
		return 0, 0, &BudgetError{Budget: budget, Needed: spent + c.Of(verdict.MinRounds), Cost: c, Spent: spent}
	}
	if p.Kind == results.KindAnytime {
		return rounds, 0, nil
	}
	needed = settling(p, n)
	for _, choice := range Choices {
		if needed > 0 && choice >= needed && choice <= rounds {
			return choice, needed, nil
		}
	}
	return rounds, needed, nil
}

// settling is the number of rounds that every member needs, 0 if one is not known.
func settling(p results.Plan, n Noise) int {
	most := 0
	level := 1 - (1-verdict.Level)/float64(len(p.Primary))
	for _, member := range p.Primary {
		if n.Spread == nil {
			return 0
		}
		spread, ok := n.Spread(member)
		if !ok {
			return 0
		}
		need := stats.RoundsEquivalent
		if member.Role == results.RoleNonInferiority {
			need = stats.RoundsNonInferior
		}
		needed, ok := need(math.Log1p(p.MarginPct/100), spread, level, verdict.Power)
		if !ok {
			return 0
		}
		most = max(most, needed)
	}
	return most
}

// Widest is the largest spread of the family, in per cent as a plan's budget has
// it; nil if one is not known.
func (n Noise) Widest(p results.Plan) *float64 {
	widest := 0.0
	for _, member := range p.Primary {
		if n.Spread == nil {
			return nil
		}
		spread, ok := n.Spread(member)
		if !ok {
			return nil
		}
		widest = max(widest, spread)
	}
	if pct := -stats.ReductionOf(widest); pct > 0 {
		return &pct
	}
	return nil
}

// BudgetError is that of a budget in which nothing could be decided.
type BudgetError struct {
	Budget, Needed, Spent time.Duration
	Cost                  Cost
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("budget %v is too small: %d rounds, below which no interval exists, need %.0f seconds, of which %.1f go before the first round, %.1f into each, and %.1f went into the pilot",
		e.Budget, verdict.MinRounds, math.Ceil(e.Needed.Seconds()), e.Cost.Before.Seconds(), e.Cost.Round.Seconds(), e.Spent.Seconds())
}

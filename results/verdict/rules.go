package verdict

import (
	"errors"
	"fmt"
	"math"

	"github.com/fanoutbench/fanoutbench/stats"
)

// fixed decides each cell of a plan whose number of rounds was fixed.
func (f Family) fixed(j *Judgement) error {
	rounds := f.matrix()
	test, err := stats.MaxT(rounds, stats.Either, stats.FlipSample{Draws: Draws, Seed: f.Seed})
	if err != nil {
		return fmt.Errorf("verdict: %w", err)
	}
	j.Flips, j.Sampled = test.Flips, !test.Exact
	bounds, err := stats.SimultaneousBounds(rounds, Level)
	var few *stats.FewRoundsError
	if err != nil && !errors.As(err, &few) {
		return fmt.Errorf("verdict: %w", err)
	}
	for i := range j.Cells {
		c := &j.Cells[i]
		c.P = some(test.Cells[i].Adjusted, true)
		if few == nil {
			c.Lower, c.Upper = some(bounds.Cells[i].Lower, true), some(bounds.Cells[i].Upper, true)
		}
		c.Decision, c.Reason = f.decide(i, *c, *c.P <= 1-Level, fmt.Sprintf("p = %.3g over the family", *c.P))
		if few != nil {
			c.Reason += fmt.Sprintf("; bounds for %d cells at once need %d rounds", len(f.Cells), few.Needed)
		}
	}
	return nil
}

// anytime decides each cell of a plan that is looked at after every round.
func (f Family) anytime(j *Judgement) error {
	threshold, err := stats.EThreshold(len(f.Cells), Level)
	if err != nil {
		return fmt.Errorf("verdict: %w", err)
	}
	for i := range j.Cells {
		c := &j.Cells[i]
		e, interval, ok, err := f.signs(i)
		if err != nil {
			return fmt.Errorf("verdict: %s: %w", f.Cells[i].Name, err)
		}
		c.E = some(e, true)
		if ok {
			c.Lower, c.Upper = some(interval.Low, true), some(interval.High, true)
		}
		c.Decision, c.Reason = f.decide(i, *c, e >= threshold, fmt.Sprintf("e-value %.4g, %.4g is wanted", e, threshold))
	}
	return nil
}

// decide is the table of the package documentation. found says that the cell was
// found to differ from zero, evidence by what.
func (f Family) decide(i int, c Judged, found bool, evidence string) (decision, reason string) {
	m := f.margin()
	below := c.Upper != nil && *c.Upper < m
	above := c.Lower != nil && *c.Lower > -m
	estimate := *c.Estimate
	if f.Cells[i].NonInferiority {
		switch {
		case below:
			return NotInferior, "the upper bound is within the margin"
		case c.Lower != nil && *c.Lower > 0 && estimate > m:
			return Regressed, "the lower bound is above zero, the estimate beyond the margin"
		}
		return Inconclusive, "the bounds hold both zero and the margin"
	}
	switch {
	case below && above:
		return Equivalent, "both bounds are within the margin"
	case found && estimate < 0:
		return Improved, evidence
	case found && estimate > 0:
		return Regressed, evidence
	}
	return Inconclusive, evidence
}

// plan says what these rounds could have found, and what would settle the cell.
// Noise is taken from the control where there is one. Each cell of m has the
// level 1-0.05/m here: the price of the family when nothing is known of how its
// cells hang together.
func (f Family) plan(i int, c *Judged) {
	spread := c.Spread
	if f.Control != nil && i < len(f.Control.Cells) {
		spread = some(stats.RobustSpread(f.Control.Cells[i].LogRatios), true)
	}
	if spread == nil {
		return
	}
	level := 1 - (1-Level)/float64(len(f.Cells))
	effect, ok := stats.SmallestEffect(*spread, f.rounds(), level, Power)
	c.SmallestEffect = some(effect, ok)
	if c.Decision != Inconclusive {
		return
	}
	if n := f.roundsFor(i, *c.Estimate, *spread, level); n > f.rounds() {
		c.RoundsNeeded = &n
	}
}

// roundsFor is the smaller of the numbers of rounds after which, were the estimate
// the truth, the difference would be found, or the bounds lie within the margin;
// 0 where neither is to be had.
func (f Family) roundsFor(i int, estimate, spread, level float64) int {
	least := 0
	take := func(n int, ok bool) {
		if ok && (least == 0 || n < least) {
			least = n
		}
	}
	distance := math.Abs(estimate)
	if f.Cells[i].NonInferiority {
		distance = estimate
	}
	take(stats.RoundsNeeded(distance, spread, level, Power))
	take(stats.RoundsNonInferior(f.margin()-distance, spread, level, Power))
	return least
}

package batchdriver

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
	"github.com/fanoutbench/fanoutbench/cmd/internal/scoring"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// The search for a rate. It begins where a small model on two processors is at ease.
const (
	rateFrom   = 8
	rateBudget = 12 * time.Second // an arm
)

// findRate looks for a rate that both arms hold: on the reference, and then on the
// candidate no higher than what the reference held.
func (r *requests) findRate(ctx context.Context, conf *Config, p pair) (float64, error) {
	rate, most := 0.0, 4096.0
	for _, name := range arms {
		s, err := r.set(r.load.Items, "rate-"+name)
		if err != nil {
			return 0, err
		}
		// The bodies of a second must fit in memory beside the sender's copies of them.
		most = min(most, float64(maxBodies/2/len(s.Body(0))))
		search := load.DefaultRateSearch(conf.Seed)
		search.From, search.Most, search.Budget = min(rateFrom, most), most, rateBudget
		if name == batchrun.Candidate {
			search.From, search.Refine = most, 0
		}
		search.Limits.Failures = conf.limits().Failures
		if conf.MaxLateness > 0 {
			search.Limits.Lateness, search.Limits.LatenessShare = max(search.Limits.Lateness, conf.MaxLateness.Seconds()), 0
		}
		conf.say("looking for a rate that the %s holds", name)
		found, err := load.FindRate(ctx, search, r.target(s, p[name]), fresh(s), func(sent load.Sent) error {
			_, err := s.Answer(sent.Request, sent.Status, sent.Body)
			return err
		})
		if err != nil {
			return 0, fmt.Errorf("%s: %w; give one with --rps", name, err)
		}
		rate, most = found.RPS, found.Highest
		conf.say("the %s holds %.4g requests a second; the search ended at %s", name, found.Highest, found.Stopped)
	}
	rate = round2(rate)
	conf.say("half of what both hold, rounded down, is safe: --rps %v", rate)
	return rate, nil
}

// fresh has a body of its own for every request of a search, so that of a cold load none
// finds in the cache what a burst before it has left there.
func fresh(s *scoring.Set) load.Bodies {
	return func(first, n int) ([][]byte, error) { return bodiesFrom(s, first, n) }
}

// round2 rounds down to two significant digits, which can be typed again.
func round2(rate float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(rate))-1)
	// Through text, so that 0.3 is what a reader of "0.3" has.
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(math.Floor(rate/unit)*unit, 'g', 2, 64), 64)
	if err != nil { // text of a number is one
		return rate
	}
	return rounded
}

// limits are what a valid trial keeps to.
func (c *Config) limits() load.Limits {
	l := load.DefaultLimits()
	l.Failures = c.MaxFailedPct / 100
	if c.MaxLateness > 0 {
		l.Lateness, l.LatenessShare = c.MaxLateness.Seconds(), 0
	}
	return l
}

package batchdriver

import (
	"context"
	"fmt"

	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
	"github.com/fanoutbench/fanoutbench/cmd/internal/scoring"
	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

const (
	// defaultTolerance is for servers of this program, whose arithmetic does not depend on
	// what is computed beside an item but for the last digits.
	defaultTolerance = 1e-5
	// spreads of the reference's own answers are what those of another server may differ by.
	spreads = 3
	// together is how many requests are sent at once to have their items batched otherwise.
	together = 4
)

// tolerance is how far scores may lie apart: as given, the default for two servers of this
// program, else what the reference's own answers show when they are batched differently.
func (d *driver) tolerance(ctx context.Context, reference *running) (float64, error) {
	switch {
	case d.conf.Tolerance != nil:
		return *d.conf.Tolerance, nil
	case d.conf.Load.API != scoring.Score:
		return defaultTolerance, nil // nothing has scores
	}
	others := false
	for _, a := range d.conf.Arms {
		others = others || a.Kind != servearm.KindBuiltin
	}
	if !others {
		return defaultTolerance, nil
	}
	spread, err := d.requests.spread(ctx, reference)
	if err != nil {
		return 0, fmt.Errorf("%s: its own spread of scores: %w", batchrun.Reference, err)
	}
	tolerance := max(defaultTolerance, spreads*spread)
	d.note("the scores' tolerance is %.3g: %d times the reference's own spread over differently batched repeats, %.3g, and at least %g", tolerance, spreads, spread, defaultTolerance)
	return tolerance, nil
}

// spread sends bodies again, several at once, and gives the largest difference between
// any two answers to one body.
func (r *requests) spread(ctx context.Context, reference *running) (float64, error) {
	worst := 0.0
	for _, size := range r.load.sizes() {
		s, err := r.set(size, "spread")
		if err != nil {
			return 0, err
		}
		n := max(2*together, min(s.Len(), 32))
		all, err := bodies(s, n)
		if err != nil {
			return 0, err
		}
		schedule := load.Schedule{At: make([]float64, n), Request: make([]int, n)}
		for i := range n {
			schedule.At[i], schedule.Request[i] = float64(i/together)*0.05, i
		}
		answers := map[int]scoring.Answer{}
		if _, err := load.Run(ctx, schedule, r.target(s, reference), all, keep(s, answers)); err != nil {
			return 0, err
		}
		same := make([][]scoring.Answer, s.Len()) // to one body
		for i := range s.Len() {
			if base, known := r.base[bodyKey{size, i}]; known {
				same[i] = append(same[i], base)
			}
		}
		for i, a := range answers {
			same[i%s.Len()] = append(same[i%s.Len()], a)
		}
		for _, answers := range same {
			if len(answers) == 0 {
				continue
			}
			widest, err := scoring.Widest(answers)
			if err != nil {
				return 0, err
			}
			worst = max(worst, widest.Value)
		}
	}
	return worst, nil
}

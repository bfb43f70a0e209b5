package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/driver"
	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/results"
)

// checkBudget refuses a budget beside a number of rounds, and plans for the most
// rounds that one may choose.
func (f *runFlags) checkBudget() error {
	switch {
	case !f.given("budget"):
		return nil
	case f.given("rounds"):
		return fmt.Errorf("budget %v and rounds %d, want one of them: the rounds are chosen by the budget", f.budget, f.rounds)
	case f.budget <= 0:
		return fmt.Errorf("budget %v, want a time above 0", f.budget)
	}
	f.rounds = plan.Choices[len(plan.Choices)-1]
	return nil
}

// budgeted is the plan with the rounds that the budget allows, where there is one.
func (f *runFlags) budgeted(ctx context.Context, stderr io.Writer, arms map[string]arm.Arm, p results.Plan, s stream.Source) (results.Plan, stream.Source, error) {
	if !f.given("budget") {
		return p, s, nil
	}
	if err := f.chooseRounds(ctx, stderr, arms, p); err != nil {
		return p, s, err
	}
	return f.plan(arms)
}

// chooseRounds sets the number of rounds by the budget, by what a pilot takes.
func (f *runFlags) chooseRounds(ctx context.Context, stderr io.Writer, arms map[string]arm.Arm, p results.Plan) error {
	noise := knownNoise(stderr, p)
	_, _ = fmt.Fprintln(stderr, "pilot: one round, to see what a round takes; its times decide nothing and are not kept") // progress, for whoever reads it
	began := time.Now()
	cost, err := f.pilot(ctx, arms)
	if err != nil {
		return fmt.Errorf("pilot of --budget: %w", err)
	}
	rounds, needed, err := plan.Rounds(p, noise, cost, f.budget, time.Since(began))
	if err != nil {
		return cli.Usage(err)
	}
	f.rounds = rounds
	f.chosen = &results.Budget{Seconds: f.budget.Seconds(), RoundSeconds: cost.Round.Seconds(), SpreadPct: noise.Widest(p), Spread: noise.Source}
	why := "the spread of this machine is unknown, so they are the most that fit"
	switch {
	case needed > rounds:
		why = fmt.Sprintf("the most that fit; %d would settle every primary cell by the spread of %s, were there no difference", needed, noise.Source)
	case needed > 0:
		why = fmt.Sprintf("which settle every primary cell by the spread of %s, were there no difference", noise.Source)
	}
	_, _ = fmt.Fprintf(stderr, "budget %v: a round takes %.1f s; %d rounds: %s\n", f.budget, cost.Round.Seconds(), rounds, why)
	return nil
}

// pilot runs one round in a temporary folder and says what it took. A pilot that
// fails is a run that would have.
func (f *runFlags) pilot(ctx context.Context, arms map[string]arm.Arm) (cost plan.Cost, err error) {
	small := *f
	small.rounds, small.kind, small.primary = 1, planFixed, []string{noPrimary}
	small.given = func(flag string) bool { return flag != "margin" && flag != "budget" && f.given(flag) }
	p, source, err := small.plan(arms)
	if err != nil {
		return cost, err
	}
	dir, err := os.MkdirTemp("", "fanoutbench-pilot-")
	if err != nil {
		return cost, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	clock := stopwatch{began: time.Now()}
	result, err := driver.Run(ctx, driver.Config{
		Plan: p, Source: source, Arms: arms, Output: filepath.Join(dir, "run"), Progress: &clock, AnyPackages: f.anyPackages,
	})
	if err != nil {
		if failure := result.Verdict.Failure; failure != nil {
			err = fmt.Errorf("%w: %s", err, failure.Message)
		}
		return cost, err
	}
	return plan.Cost{Before: clock.before.Sub(clock.began), Round: clock.last.Sub(clock.before)}, nil
}

// stopwatch notes when a run's round -1 ended, and its last round.
type stopwatch struct{ began, before, last time.Time }

func (s *stopwatch) Trial(_, _, round int) {
	s.last = time.Now()
	if round == -1 {
		s.before = s.last
	}
}

func (s *stopwatch) Settled(int, int) {}

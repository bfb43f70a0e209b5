package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/verdict"
)

// familyFlags say what a run decides, and when it ends.
type familyFlags struct {
	kind, margin string
	primary      []string
	control      bool
	budget       time.Duration
	chosen       *results.Budget // by which the number of rounds was chosen
}

// Kinds of plans as the command line names them.
const (
	planFixed   = "fixed"
	planAnytime = results.KindAnytime
)

const (
	anytimeRounds = 30     // at most, if --rounds does not say
	noPrimary     = "none" // the family of a run that decides nothing
	defaultMargin = "5%"
)

func (f *runFlags) addFamily(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.kind, "plan", planFixed, "fixed: --rounds rounds; anytime: at most so many (default 30), ending after the sixth or a later one as soon as every primary cell is settled")
	fl.StringVar(&f.margin, "margin", defaultMargin, "slow-down that still counts as equal, in per cent")
	fl.StringSliceVar(&f.primary, "primary", nil, "what is decided, COUNT:METADATA:METRIC[:ROLE], repeatable; ROLE is superiority or non-inferiority; none: nothing (default: complete_ms, worker_cpu_ms and, as non-inferiority, first_ms of the rich cells of 32 and 310 rows, or of the largest count)")
	fl.BoolVar(&f.control, "control", false, "run the reference once more in every round, a third arm that shows what this run makes of no difference")
	fl.DurationVar(&f.budget, "budget", 0, "choose the rounds so that the run takes at most about this long: 9, 12, 17, 20, 25 or 30 (fewer if 9 do not fit), after a pilot of one round")
}

// family adds to a plan what is decided by it.
func (f *runFlags) family(p *results.Plan) error {
	if f.control {
		p.Control = &results.ArmPlan{} // plan.New fills it in
	}
	switch f.kind {
	case planFixed:
	case planAnytime:
		p.Kind = results.KindAnytime
		if !f.given("rounds") && f.chosen == nil {
			p.Rounds = anytimeRounds
		}
	default:
		return fmt.Errorf("plan %q, want %q or %q", f.kind, planFixed, planAnytime)
	}
	if len(f.primary) == 1 && f.primary[0] == noPrimary {
		return f.decidesNothing()
	}
	var err error
	if p.MarginPct, err = parseMargin(f.margin); err != nil {
		return err
	}
	p.Primary, p.Budget = results.DefaultPrimary(p.Counts, p.Metadata), f.chosen
	if !f.given("primary") {
		return nil
	}
	p.Primary = nil
	for _, member := range f.primary {
		c, err := parsePrimary(member)
		if err != nil {
			return err
		}
		p.Primary = append(p.Primary, c)
	}
	if len(p.Primary) == 0 {
		return fmt.Errorf("primary is empty, want cells, or %s for a run that decides nothing", noPrimary)
	}
	return nil
}

// decidesNothing refuses what only a decision has a use for.
func (f *runFlags) decidesNothing() error {
	for _, flag := range []string{"margin", "budget"} {
		if f.given(flag) {
			return fmt.Errorf("%s is given, but with --primary %s nothing is decided", flag, noPrimary)
		}
	}
	if f.kind == planAnytime {
		return fmt.Errorf("plan is %q, but with --primary %s there is nothing to settle", f.kind, noPrimary)
	}
	return nil
}

// parseMargin reads 5, 5% or 0.5%.
func parseMargin(s string) (float64, error) {
	pct, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err != nil || !(pct >= results.MinMargin && pct <= results.MaxMargin) {
		return 0, fmt.Errorf("margin %q, want a slow-down of %v to %v per cent, such as %s", s, results.MinMargin, results.MaxMargin, defaultMargin)
	}
	return pct, nil
}

// parsePrimary reads COUNT:METADATA:METRIC[:ROLE]. Whether there is such a cell,
// metric or role is for the plan to say.
func parsePrimary(s string) (results.Primary, error) {
	parts := strings.Split(s, ":")
	if len(parts) == 3 {
		parts = append(parts, results.RoleSuperiority)
	}
	count, err := strconv.Atoi(parts[0])
	if err != nil || len(parts) != 4 {
		return results.Primary{}, fmt.Errorf("primary %q, want COUNT:METADATA:METRIC[:ROLE] such as 310:rich:complete_ms, or %s alone", s, noPrimary)
	}
	return results.Primary{Count: count, Metadata: parts[1], Metric: parts[2], Role: parts[3]}, nil
}

// noteFewRounds says before a run what its number of rounds cannot decide.
func noteFewRounds(stderr io.Writer, p results.Plan) {
	if len(p.Primary) > 0 && p.Rounds < verdict.MinRounds {
		_, _ = fmt.Fprintf(stderr, "note: %d rounds decide nothing, no interval exists below %d\n", p.Rounds, verdict.MinRounds)
	}
}

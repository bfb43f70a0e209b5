package results

import "fmt"

// figures are what follows from plan and trials of a complete run: all that a
// result holds beside what the driver knows.
type figures struct {
	plan     Plan // with as many rounds as were run
	summary  []SummaryRow
	control  []SummaryRow
	analysis *Analysis
}

// figuresOf computes the figures of a complete run. An anytime plan's run is
// complete when it ended where its rule says, or at the plan's last round.
func figuresOf(p Plan, trials []Trial) (f figures, err error) {
	if f.plan, err = p.ran(trials); err != nil {
		return f, err
	}
	if f.summary, err = Summarize(f.plan, trials); err != nil {
		return f, err
	}
	if p.Control != nil {
		if f.control, err = summarize(f.plan, trials, Control); err != nil {
			return f, err
		}
	}
	f.analysis, err = Analyze(f.plan, trials)
	return f, err
}

// UpTo is the plan as if it had had so many rounds.
func (p Plan) UpTo(rounds int) Plan {
	if rounds >= p.Rounds || rounds < 0 {
		return p
	}
	cut := p
	cut.Rounds = rounds
	cut.RowsPerRun = p.RowsPerRun / (p.Rounds + 1) * (rounds + 1)
	cut.FencePerRun = p.FencePerRun / (p.Rounds + 1) * (rounds + 1)
	cut.First = p.First[:rounds+1]
	cut.Reference, cut.Candidate = p.Reference.upTo(rounds), p.Candidate.upTo(rounds)
	if p.Control != nil {
		control := p.Control.upTo(rounds)
		cut.Control, cut.ControlAt = &control, p.ControlAt[:rounds+1]
	}
	return cut
}

func (a ArmPlan) upTo(rounds int) ArmPlan {
	if len(a.Layout) > 0 {
		a.Layout = a.Layout[:rounds+1]
	}
	return a
}

// ran is the plan with the rounds that were run, which must be those that its kind
// asks for: all of them, or those up to the first at which an anytime plan may
// end. Trials that end within a round, or too early, are left for Summarize to
// complain about.
func (p Plan) ran(trials []Trial) (Plan, error) {
	if p.Kind != KindAnytime {
		return p, nil
	}
	if err := p.Validate(); err != nil {
		return p, err
	}
	rounds := len(trials)/p.perRound() - 1
	if rounds < 1 || len(trials)%p.perRound() != 0 {
		return p, nil
	}
	for n := 1; n <= min(rounds, p.Rounds); n++ {
		settled, err := Settled(p.UpTo(n), trials[:(n+1)*p.perRound()])
		switch {
		case err != nil:
			return p, err
		case settled && n < rounds:
			return p, fmt.Errorf("the plan is settled after round %d, but the trials go on to round %d", n-1, rounds-1)
		case settled:
			return p.UpTo(n), nil
		}
	}
	return p, nil
}

package results

import (
	"math"
	"strings"
	"testing"
)

// familyOutcome is a verified run's end of a plan with a control.
func familyOutcome(p Plan, rounds int) Outcome {
	p = p.UpTo(rounds)
	out := exampleOutcome(p)
	out.VerifiedRows, out.FenceRows, out.WarmupRows, out.FullRows = p.RowsPerRun, p.FencePerRun, p.WarmupRows(), p.FullRows
	if p.Control != nil {
		out.Arms[Control] = out.Arms[Reference]
	}
	return out
}

// familyRun writes a verified run of a plan with a family, as far as it goes.
func familyRun(t testing.TB, p Plan, change func(*Trial)) (*Run, Outcome) {
	t.Helper()
	r := create(t, p)
	trials := trialsOf(p, source())
	rounds := p.Rounds
	for i, trial := range trials {
		if change != nil {
			change(&trial)
		}
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
		if p.Kind != KindAnytime || (i+1)%p.perRound() != 0 {
			continue
		}
		settled, err := r.Settled()
		if err != nil {
			t.Fatal(err)
		}
		if settled {
			rounds = trial.Round + 1
			break
		}
	}
	return r, familyOutcome(p, rounds)
}

func TestDecisionOfARun(t *testing.T) {
	r, out := familyRun(t, withFamily(), nil)
	result, err := r.Finish(out)
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict.Decision != DecisionImproved || result.Analysis == nil || result.Analysis.Control.Failed {
		t.Fatalf("%+v, analysis %+v; want improved beside a quiet control", result.Verdict, result.Analysis)
	}
	for _, c := range result.Analysis.Primary {
		if c.Metric == "complete_ms" && (c.Decision != DecisionImproved || math.Abs(*c.SlowdownPct+25) > 8 || *c.P > 0.05 || *c.UpperPct >= 0) {
			t.Errorf("%s: %+v, want a quarter less", c.member(), c)
		}
		if c.SmallestEffectPct == nil || c.SpreadPct == nil || c.Lag1 == nil || c.PositionP == nil {
			t.Errorf("%s: %+v, want every diagnosis", c.member(), c)
		}
	}
	if len(result.Control) != len(result.Summary) || len(result.Analysis.Effects) != len(result.Summary) {
		t.Errorf("%d control rows, %d effects, want %d as in the summary", len(result.Control), len(result.Analysis.Effects), len(result.Summary))
	}
	f, err := Read(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CheckFigures(); err != nil {
		t.Error(err)
	}
	verifies(t, r.Dir())
}

func verifies(t *testing.T, dir string) {
	t.Helper()
	checks, err := Verify(dir, VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}

// A decision that was changed, or a figure behind it, does not verify.
func TestVerifyFindsAnotherDecision(t *testing.T) {
	for _, c := range []struct{ old, new string }{
		{`"decision": "improved",`, `"decision": "regressed",`},
		{`"failed": false`, `"failed": true`},
		{`"flips": 512`, `"flips": 256`},
	} {
		r, out := familyRun(t, withFamily(), nil)
		if _, err := r.Finish(out); err != nil {
			t.Fatal(err)
		}
		result := content(t, r.Dir(), ResultFile)
		if !strings.Contains(result, c.old) {
			t.Fatalf("the result has no %s", c.old)
		}
		overwrite(t, r.Dir(), ResultFile, strings.ReplaceAll(result, c.old, c.new))
		checks, err := Verify(r.Dir(), VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		bad := false
		for _, check := range checks {
			bad = bad || !check.OK
		}
		if !bad {
			t.Errorf("%s instead of %s verifies", c.new, c.old)
		}
	}
}

func TestIdenticalArms(t *testing.T) {
	p := withFamily()
	p.Candidate = p.Reference
	r, out := familyRun(t, p, nil)
	out.Arms[Candidate] = out.Arms[Reference]
	result, err := r.Finish(out)
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict.Decision != DecisionIdentical || result.Analysis.Decision != DecisionImproved {
		t.Errorf("%s, by the trials %s; want identical arms named before whatever their trials say", result.Verdict.Decision, result.Analysis.Decision)
	}
	for name, change := range map[string]func(*Arm){
		"options":  func(a *Arm) { a.Options = map[string]string{"zmq": "zmq4"} },
		"packages": func(a *Arm) { a.Packages = map[string]string{"go": "go1.27.0"} },
		"binary":   func(a *Arm) { a.BinarySHA256 = []string{sum([]byte("another"))} },
		"sources":  func(a *Arm) { a.Sources = nil },
		"strategy": func(a *Arm) { a.Strategy = "reuse" },
	} {
		a, b := out.Arms[Reference], out.Arms[Reference]
		change(&b)
		if a.SameAs(b) {
			t.Errorf("arms of other %s count as identical", name)
		}
	}
	a, b := out.Arms[Reference], out.Arms[Reference]
	a.Spec, b.Spec = "exec:python a.py", "exec:python b.py"
	if !a.SameAs(b) {
		t.Error("two names of one revision, say, do not count as identical")
	}
	if a.OwnClock, b.OwnClock = true, true; a.SameAs(b) {
		t.Error("two commands that say the same of themselves count as identical")
	}
	if (Arm{}).SameAs(Arm{}) {
		t.Error("arms of which nothing is known count as identical")
	}
}

func TestDescriptiveArmsDecideNothing(t *testing.T) {
	r, out := familyRun(t, withFamily(), nil)
	arm := out.Arms[Candidate]
	arm.Descriptive = "it cannot be forked"
	out.Arms[Candidate] = arm
	result, err := r.Finish(out)
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict.Decision != DecisionNone || !strings.Contains(result.Verdict.Reason, "candidate are descriptive: it cannot be forked") {
		t.Errorf("%s: %s; want none, and why", result.Verdict.Decision, result.Verdict.Reason)
	}
	verifies(t, r.Dir())
}

// An anytime run ends when it may, not earlier and not later.
func TestAnytimeRun(t *testing.T) {
	p := withFamily()
	p.Kind = KindAnytime
	p.Primary = p.Primary[:1]
	r, out := familyRun(t, p, nil)
	result, err := r.Finish(out)
	if err != nil {
		t.Fatal(err)
	}
	// One cell of nine rounds that all have the same sign: round 8.
	if result.Rounds != 8 || result.Verdict.Decision != DecisionImproved || *result.Analysis.Primary[0].EValue < 20 {
		t.Errorf("%d rounds, %s, %+v; want improved after 8", result.Rounds, result.Verdict.Decision, result.Analysis.Primary)
	}
	verifies(t, r.Dir())

	for name, rounds := range map[string]int{"too early": 7, "too late": 9} {
		r := create(t, p)
		trials := trialsOf(p, source())
		for _, trial := range trials[:(rounds+1)*p.perRound()] {
			if err := r.Append(trial); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Finish(familyOutcome(p, rounds)); err == nil {
			t.Errorf("a run that ended %s was finished as verified", name)
		}
	}
}

// A metric that an arm lacks in one round leaves the family undecided, and the
// others' figures stay.
func TestFamilyWithAHole(t *testing.T) {
	p := withFamily()
	r, out := familyRun(t, p, func(trial *Trial) {
		if trial.Round == 3 && trial.Arm == Candidate {
			trial.WorkerCPUMS = nil
		}
	})
	result, err := r.Finish(out)
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict.Decision != DecisionInconclusive || !strings.Contains(result.Verdict.Reason, "worker_cpu_ms in round 3") {
		t.Errorf("%s: %s; want inconclusive for want of a round", result.Verdict.Decision, result.Verdict.Reason)
	}
	verifies(t, r.Dir())
}

func TestPlanWithoutFamilyDecidesNothing(t *testing.T) {
	f, err := Read(exampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	if f.Result.Analysis != nil || f.Result.Verdict.Decision != DecisionNone {
		t.Errorf("%s, analysis %v; want none", f.Result.Verdict.Decision, f.Result.Analysis)
	}
}

func TestUpToIsAPlan(t *testing.T) {
	p := withFamily()
	for rounds := 1; rounds <= p.Rounds; rounds++ {
		cut := p.UpTo(rounds)
		if err := cut.Validate(); err != nil || cut.Rounds != rounds {
			t.Errorf("%d rounds: %v, %d", rounds, err, cut.Rounds)
		}
		i := 0
		for slot := range cut.Trials() {
			if want := p.slot(i); slot != want {
				t.Fatalf("%d rounds: trial %d is %s, want %s", rounds, i, slot, want)
			}
			i++
		}
	}
}

// A control that is another program than the reference does not pass as one.
func TestControlIsTheReference(t *testing.T) {
	r, out := familyRun(t, withFamily(), nil)
	out.Arms[Control] = out.Arms[Candidate]
	_, err := r.Finish(out)
	wantError(t, err, "arms.control")
	r, out = familyRun(t, withFamily(), nil)
	control := out.Arms[Control]
	control.BinarySHA256 = []string{sum([]byte("another"))}
	out.Arms[Control] = control
	_, err = r.Finish(out)
	wantError(t, err, "arms.control differs from arms.reference")
}

package results

import (
	"strings"
	"testing"
)

// pooledPlan is the example plan with a pool of two for the candidate.
func pooledPlan() Plan {
	p := examplePlan()
	p.Candidate.Layouts, p.Candidate.Layout = 2, []int{0, 1, 1, 0, 1, 0, 0, 0, 1, 1}
	return p
}

func pooledTrials(p Plan) []Trial {
	trials := trialsOf(p, source())
	for i, t := range trials {
		if t.Arm == Candidate {
			trials[i].Layout = ref(p.Candidate.Layout[t.Round+1])
		}
	}
	return trials
}

func pooledOutcome(p Plan) Outcome {
	out := exampleOutcome(p)
	a := out.Arms[Candidate]
	a.Layouts = []Layout{{Seed: 5, SHA256: sum([]byte("five"))}, {Seed: 6, SHA256: sum([]byte("six"))}}
	a.BinarySHA256 = append(a.BinarySHA256, a.Layouts[0].SHA256, a.Layouts[1].SHA256)
	a.Revision, a.Modified, a.Patch = "0123", "true", "diff --git a/x b/x\n"
	out.Arms[Candidate] = a
	return out
}

// pooledRun writes a verified run of a source tree with a pool.
func pooledRun(t testing.TB) string {
	t.Helper()
	p := pooledPlan()
	r := create(t, p)
	for _, trial := range pooledTrials(p) {
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Finish(pooledOutcome(p)); err != nil {
		t.Fatal(err)
	}
	return r.Dir()
}

// A run with a pool, written and read, verified and reported.
func TestPooledRun(t *testing.T) {
	p, dir := pooledPlan(), pooledRun(t)
	checks, err := Verify(dir, VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range f.Trials {
		if want := p.LayoutIn(trial.Arm, trial.Round); (want == nil) != (trial.Layout == nil) || want != nil && *want != *trial.Layout {
			t.Errorf("%s: layout %v, want %v", trial.Slot(), trial.Layout, want)
		}
	}
	var b strings.Builder
	if err := Report(&b, f, "text"); err != nil || !strings.Contains(b.String(), "revision 0123 with uncommitted changes, one of 2 layouts a round") {
		t.Errorf("report: %v\n%s", err, &b)
	}
	for _, name := range []string{PlanFile, RawFile, ResultFile} { // a reference without a pool has no key of it
		if n := strings.Count(content(t, dir, name), `"layout"`); name == RawFile && n != p.Len()/2 || name == PlanFile && n != 1 {
			t.Errorf("%s has the key layout %d times", name, n)
		}
	}
}

func TestPlanLayouts(t *testing.T) {
	if err := pooledPlan().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Plan){
		"candidate.layouts is -1, want 0 to 64":               func(p *Plan) { p.Candidate.Layouts = -1 },
		"candidate.layouts is 65, want 0 to 64":               func(p *Plan) { p.Candidate.Layouts = 65 },
		`candidate.layout is "10 indices", want none without`: func(p *Plan) { p.Candidate.Layouts = 0 },
		"candidate.layouts is 2, want 0 with process run":     func(p *Plan) { p.Process = ProcessRun },
		`candidate.layout is "9 indices", want 10`:            func(p *Plan) { p.Candidate.Layout = p.Candidate.Layout[1:] },
		"candidate.layout[2] is 2, want 0 to 1":               func(p *Plan) { p.Candidate.Layout[2] = 2 },
		"candidate.layout[0] is -1, want 0 to 1":              func(p *Plan) { p.Candidate.Layout[0] = -1 },
		`reference.layout is "0 indices", want 10, one for`:   func(p *Plan) { p.Reference.Layouts = 1 },
	} {
		p := pooledPlan()
		change(&p)
		wantError(t, p.Validate(), want)
	}
}

// A trial with another executable than the drawn one, with none, or with one
// that its arm does not have, is refused.
func TestTrialLayout(t *testing.T) {
	for want, change := range map[string]func(t *Trial){
		"layout is absent, want 0 as drawn in the plan": func(t *Trial) { t.Layout = nil },
		"layout is 1, want 0 as drawn in the plan":      func(t *Trial) { t.Layout = ref(1) },
	} {
		p := pooledPlan()
		r := create(t, p)
		trials := pooledTrials(p)
		if err := r.Append(trials[0]); err != nil {
			t.Fatal(err)
		}
		change(&trials[1])
		wantError(t, r.Append(trials[1]), want)
	}
	p := examplePlan()
	trial := trialsOf(p, source())[0]
	trial.Layout = ref(0)
	wantError(t, create(t, p).Append(trial), "layout is 0, want none: the arm has no pool of executables")
}

func TestArmLayoutsAndTree(t *testing.T) {
	p := pooledPlan()
	for want, change := range map[string]func(*Arm){
		"layouts is \"1 executables\", want 2 by the plan": func(a *Arm) { a.Layouts = a.Layouts[1:] },
		"layouts[1].seed is 0, want 1 or more":             func(a *Arm) { a.Layouts[1].Seed = 0 },
		"want one of binary_sha256":                        func(a *Arm) { a.BinarySHA256 = a.BinarySHA256[:2] },
		`modified is "perhaps"`:                            func(a *Arm) { a.Modified = "perhaps" },
		`modified is "true", want none without a revision`: func(a *Arm) { a.Revision = "" },
		`patch is "", want one where modified`:             func(a *Arm) { a.Patch = "" },
		`here it is "false"`:                               func(a *Arm) { a.Modified = "false" },
	} {
		r := Result{Arms: pooledOutcome(p).Arms, Verdict: Verdict{Status: StatusVerified}}
		if err := r.checkArms(p); err != nil {
			t.Fatal(err)
		}
		a := r.Arms[Candidate]
		change(&a)
		r.Arms[Candidate] = a
		wantError(t, r.checkArms(p), "arms.candidate", want)
	}
}

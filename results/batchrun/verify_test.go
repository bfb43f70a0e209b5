package batchrun

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
)

// failed are the names of the checks that are not OK.
func failed(t *testing.T, dir string) []string {
	t.Helper()
	checks, err := Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range checks {
		if c.Detail == "" {
			t.Errorf("check %s says nothing", c.Name)
		}
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestVerifyHolds(t *testing.T) {
	dir, _ := exampleRun(t, examplePlan(7), nil)
	if names := failed(t, dir); len(names) > 0 {
		t.Errorf("failed %q, want none", names)
	}
}

// edit replaces once in a file, and fails where there is nothing to replace.
func edit(t *testing.T, dir, name, old, with string) {
	t.Helper()
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(b, []byte(old), []byte(with), 1)
	if bytes.Equal(changed, b) {
		t.Fatalf("%s has no %q", name, old)
	}
	if err := os.WriteFile(path, changed, 0o644); err != nil {
		t.Fatal(err)
	}
}

// rehash makes the result name the files as they are: only what follows from them is
// wrong then.
func rehash(t *testing.T, dir string, result Result) {
	t.Helper()
	for name, old := range map[string]string{RawFile: result.RawSHA256, TrialsFile: result.TrialsSHA256, PlanFile: result.PlanSHA256} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if sum := form.Sum(b); sum != old {
			edit(t, dir, ResultFile, old, sum)
		}
	}
}

// Whatever is changed, some check of that name fails.
func TestVerifyFindsChanges(t *testing.T) {
	p := examplePlan(7)
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string, r Result)
		want   []string
	}{
		"no plan":        {func(t *testing.T, dir string, _ Result) { remove(t, dir, PlanFile) }, []string{PlanFile}},
		"no raw":         {func(t *testing.T, dir string, _ Result) { remove(t, dir, RawFile) }, []string{RawFile}},
		"no result":      {func(t *testing.T, dir string, _ Result) { remove(t, dir, ResultFile) }, []string{ResultFile}},
		"no summary":     {func(t *testing.T, dir string, _ Result) { remove(t, dir, SummaryFile) }, []string{SummaryFile}},
		"no schedule":    {func(t *testing.T, dir string, _ Result) { remove(t, dir, ScheduleName(3, 2)) }, []string{ScheduleFolder}},
		"other schedule": {func(t *testing.T, dir string, _ Result) { edit(t, dir, ScheduleName(3, 2), `"seed":3`, `"seed":4`) }, []string{ScheduleFolder}},
		"body": {func(t *testing.T, dir string, _ Result) {
			edit(t, dir, RawFile, `"cell":2,"arm":"reference","index":1,"body":1`, `"cell":2,"arm":"reference","index":1,"body":2`)
		}, []string{ScheduleFolder}},
		"no histogram": {func(t *testing.T, dir string, _ Result) { remove(t, dir, HistName(1, Candidate)) }, []string{HistFolder}},
		"histogram tag": {func(t *testing.T, dir string, _ Result) {
			edit(t, dir, HistName(1, Candidate), "Tag=round-3", "Tag=round-4")
		}, []string{HistFolder}},
		"histogram": {func(t *testing.T, dir string, _ Result) { swapArms(t, dir) }, []string{HistFolder}},
		"raw": {func(t *testing.T, dir string, _ Result) {
			edit(t, dir, RawFile, `"prompt_tokens":15000`, `"prompt_tokens":15001`)
		}, []string{"sha256 of raw.jsonl"}},
		"trials": {func(t *testing.T, dir string, _ Result) { edit(t, dir, TrialsFile, `"cpu_ms":12.5`, `"cpu_ms":1.5`) }, []string{"sha256 of trials.jsonl"}},
		"plan":   {func(t *testing.T, dir string, _ Result) { edit(t, dir, PlanFile, `"seed": 7`, `"seed": 8`) }, []string{"sha256 of plan.json"}},
		"a latency, hashes right": {func(t *testing.T, dir string, r Result) {
			edit(t, dir, RawFile, `"leading_ms":`, `"leading_ms":9`)
			rehash(t, dir, r)
		}, []string{"figures", "summary"}},
		"a difference, hashes right": {func(t *testing.T, dir string, r Result) {
			edit(t, dir, RawFile, `"score_difference":0`, `"score_difference":0.5`)
			rehash(t, dir, r)
		}, []string{"agreement", "validity"}},
		"an invalid trial, hashes right": {func(t *testing.T, dir string, r Result) {
			edit(t, dir, TrialsFile, `"valid":true,"reasons":[]`, `"valid":false,"reasons":["late"]`)
			rehash(t, dir, r)
		}, []string{"validity"}},
		"a figure": {func(t *testing.T, dir string, _ Result) {
			edit(t, dir, ResultFile, `"leading_ms": `, `"leading_ms": 1`)
		}, []string{"figures", SummaryFile}},
		"a reduction": {func(t *testing.T, dir string, _ Result) {
			edit(t, dir, ResultFile, `"faster_rounds": 7`, `"faster_rounds": 6`)
		}, []string{"summary"}},
		"a bound": {func(t *testing.T, dir string, _ Result) {
			edit(t, dir, ResultFile, `"lower_pct": -`, `"lower_pct": -1`)
		}, []string{"decision"}},
		"a decision": {func(t *testing.T, dir string, _ Result) {
			edit(t, dir, ResultFile, `"decision": "none"`, `"decision": "improved"`)
		}, []string{ResultFile}},
		"a request": {func(t *testing.T, dir string, _ Result) {
			edit(t, dir, ResultFile, `"requests": 784`, `"requests": 783`)
		}, []string{"counts"}},
		"summary.csv": {func(t *testing.T, dir string, _ Result) { edit(t, dir, SummaryFile, `single`, `Single`) }, []string{SummaryFile}},
	} {
		if name == "a decision" {
			p.Primary, p.MarginPct = nil, 0
		} else {
			p = examplePlan(7)
		}
		dir, result := exampleRun(t, p, nil)
		c.change(t, dir, result)
		names := failed(t, dir)
		for _, want := range c.want {
			if !slices.Contains(names, want) {
				t.Errorf("%s: failed %q, want %q among them", name, names, want)
			}
		}
		if f, err := Read(dir); err == nil && f.CheckFigures() == nil && !strings.Contains(name, "summary") && !strings.Contains(name, "schedule") && !strings.Contains(name, "histogram") {
			t.Errorf("%s: the folder is read, and its figures hold", name)
		}
	}
}

// One bad byte is one failed check, which names all that could not be looked at; nothing that
// a good run has checked is left unsaid.
func TestVerifySaysOnce(t *testing.T) {
	p := examplePlan(7)
	dir, _ := exampleRun(t, p, nil)
	good, err := Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{PlanFile, TrialsFile, ResultFile} {
		dir, _ := exampleRun(t, p, nil)
		edit(t, dir, file, "{", "[")
		checks, err := Verify(dir)
		if err != nil {
			t.Fatal(err)
		}
		said, bad := map[string]bool{}, 0
		for _, c := range checks {
			said[c.Name] = true
			if !c.OK {
				bad++
				_, skipped, _ := strings.Cut(c.Detail, "; so not checked: ")
				for name := range strings.SplitSeq(skipped, ", ") {
					said[name] = true
				}
			}
		}
		if bad != 1 {
			t.Errorf("%s: %d checks failed, want 1 of %+v", file, bad, checks)
		}
		for _, c := range good {
			if !said[c.Name] {
				t.Errorf("%s: nothing is said of %s", file, c.Name)
			}
		}
	}
}

// A run whose servers say nothing of their items holds as well.
func TestVerifyWithoutEvidence(t *testing.T) {
	dir, _ := exampleRun(t, examplePlan(7), func(trial *Trial, q []Request) {
		trial.Evidence = ""
		for i := range q {
			q[i].Prefills, q[i].FirstItemMS, q[i].LastItemMS, q[i].LeadingMS = nil, nil, nil, nil
		}
	})
	if names := failed(t, dir); len(names) > 0 {
		t.Errorf("failed checks %q", names)
	}
}

// swapArms gives the candidate the reference's histograms.
func swapArms(t *testing.T, dir string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, HistName(2, Reference)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, HistName(2, Candidate)), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// Two late requests of 280 are hiccups of the machine, in one of 40 or in two.
func TestFewLateRequests(t *testing.T) {
	_, result := exampleRun(t, examplePlan(7), func(t *Trial, q []Request) {
		if t.Cell == 2 && t.Round < 2 {
			late := q[5].IntendedMS + 1.5
			q[5].SentMS = &late
		}
	})
	if v := result.Verdict; v.Status != results.StatusVerified {
		t.Errorf("verdict %+v, want it verified", v)
	}
}

// Where a trial was found late, its arm's lateness over all rounds is not told as well.
func TestLatenessIsToldOnce(t *testing.T) {
	_, result := exampleRun(t, examplePlan(7), func(t *Trial, q []Request) {
		if t.Cell != 2 || t.Arm != Candidate {
			return
		}
		for i := range 6 {
			late := q[i].IntendedMS + 1.5
			q[i].SentMS = &late
		}
		if t.Round == 1 {
			t.Valid, t.Reasons = false, []string{"lateness: too late"}
		}
	})
	if why := result.Verdict.Invalid; len(why) != 1 || !strings.HasSuffix(why[0], ", candidate: lateness: too late") {
		t.Errorf("invalid by %q, want the trial's reason alone", why)
	}
}

// What makes a run invalid, and that its figures stay but decide nothing.
func TestInvalid(t *testing.T) {
	far := 1e-3
	fails := func(q []Request, n int) {
		for i := range n {
			q[i].Error, q[i].Status = "status 503", 503
		}
	}
	for name, c := range map[string]struct {
		change func(*Trial, []Request)
		want   string
	}{
		"a late sender": {func(t *Trial, _ []Request) {
			if t.Round == 1 && t.Cell == 2 {
				t.Valid, t.Reasons = false, []string{"lateness: too late"}
			}
		}, "round 1, poisson 50 items 10 rps, reference: lateness: too late"},
		"a sender late in every round": {func(t *Trial, q []Request) { // 280 requests, of which two may be
			if t.Cell == 2 && t.Arm == Candidate && t.Round < 3 {
				late := q[5].IntendedMS + 1.5
				q[5].SentMS = &late
			}
		}, "poisson 50 items 10 rps, candidate: lateness: in all rounds 3 of 280 requests, 1.07 %, were sent later than their trials allow, at most 1 % may"},
		"a lossy server": {func(t *Trial, q []Request) {
			if t.Round == 1 && t.Cell == 2 && t.Arm == Candidate {
				fails(q, 3)
			}
		}, "round 1, poisson 50 items 10 rps, candidate: 3 of 40 requests failed, 7.5 %, want at most 5 %"},
		"unsent": {func(t *Trial, q []Request) {
			if t.Round == 0 && t.Cell == 2 {
				q[7] = Request{Round: 0, Cell: 2, Arm: t.Arm, Index: 7, Body: q[7].Body, IntendedMS: q[7].IntendedMS, Error: "no descriptor"}
			}
		}, "1 of 40 requests were not sent"},
		"other scores": {func(t *Trial, q []Request) {
			if t.Arm == Candidate {
				q[2].ScoreDifference = &far
			}
		}, "21 of 784 compared answers lie further apart than 1e-05, the furthest 0.001"},
		"no scores": {func(_ *Trial, q []Request) {
			for i := range q {
				q[i].ScoreDifference = nil
			}
		}, "no answer was compared"},
	} {
		dir, result := exampleRun(t, examplePlan(7), c.change)
		v := result.Verdict
		if v.Status != results.StatusInvalid || v.Decision != results.DecisionNone || !strings.Contains(strings.Join(v.Invalid, "\n"), c.want) {
			t.Errorf("%s: verdict %+v, want invalid with %q", name, v, c.want)
		}
		if len(result.Figures) != 6 || result.Figures[0].Response.AvgMS == nil {
			t.Errorf("%s: the figures are gone", name)
		}
		if names := failed(t, dir); !slices.Equal(names, []string{"status"}) {
			t.Errorf("%s: failed %q, want the status alone", name, names)
		}
	}
	// Failures within the plan's allowance do not.
	_, result := exampleRun(t, examplePlan(7), func(trial *Trial, q []Request) {
		if trial.Cell == 2 {
			fails(q, 2)
		}
	})
	if result.Verdict.Status != results.StatusVerified || result.Figures[4].Failed != 14 {
		t.Errorf("2 of 40 failures: %+v, %d failed", result.Verdict, result.Figures[4].Failed)
	}
}

// The decision is what the arms and the rounds make it.
func TestDecisions(t *testing.T) {
	p := examplePlan(9)
	dir, _ := exampleRun(t, p, nil)
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Gate(f, 0)
	if err != nil || g.Outcome != results.Pass || len(g.Cells) != 3 {
		t.Errorf("gate %+v (%v), want a pass of three cells", g, err)
	}
	if g, err := Gate(f, 50); err != nil || len(g.Notes) != 1 || g.MarginPct != 50 {
		t.Errorf("gate at 50 %%: %+v (%v), want a note about the margin", g, err)
	}
	for name, c := range map[string]struct {
		change   func(*Result)
		want     string
		decision string
	}{
		"same files": {func(r *Result) { r.Arms[Candidate] = r.Arms[Reference] }, "the same files", results.DecisionIdentical},
		"descriptive": {func(r *Result) {
			a := r.Arms[Candidate]
			a.Descriptive = "no clock of ours"
			r.Arms[Candidate] = a
		}, "no clock of ours", results.DecisionNone},
		"no family": {func(r *Result) { r.Analysis = nil }, "", results.DecisionNone},
	} {
		f, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		c.change(&f.Result)
		if v := f.Result.decided(); v.Decision != c.decision || !strings.Contains(v.Reason, c.want) {
			t.Errorf("%s: %+v, want %s", name, v, c.decision)
		}
	}
	f.Result.Arms[Candidate] = Arm{Descriptive: "no clock of ours"}
	g, err = Gate(&Folder{Plan: f.Plan, Result: f.Result, Trials: f.Trials, Requests: f.Requests}, 0)
	if err == nil {
		t.Errorf("gate %+v of a result whose decision does not follow", g)
	}
	v := f.Result
	v.Verdict = v.decided()
	g, err = Gate(&Folder{Plan: f.Plan, Result: v, Trials: f.Trials, Requests: f.Requests}, 0)
	if err != nil || g.Outcome != results.Unclear || !strings.Contains(g.Reason, "no clock of ours; otherwise pass") {
		t.Errorf("gate %+v (%v), want nothing decided of a descriptive arm", g, err)
	}
	slow, _ := exampleRun(t, p, func(trial *Trial, q []Request) {
		if trial.Arm == Candidate {
			for i := range q {
				done := *q[i].DoneMS + 100 // behind the reference's
				q[i].DoneMS = &done
			}
		}
	})
	if f, err = Read(slow); err != nil {
		t.Fatal(err)
	}
	if g, err := Gate(f, 99.99); err != nil || g.Outcome != results.Pass { // it is slower by four fifths
		t.Errorf("gate at 99.99 %%: %+v (%v), want a pass", g, err)
	}
	if g, err := Gate(f, 0); err != nil || g.Outcome != results.Fail || f.Result.Verdict.Decision != results.DecisionRegressed {
		t.Errorf("gate %+v (%v) of %+v, want a failure", g, err, f.Result.Verdict)
	}
}

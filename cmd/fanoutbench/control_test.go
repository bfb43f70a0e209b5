package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/worker/faulty"
	"github.com/fanoutbench/fanoutbench/results"
)

// A control runs in every round, in the plan's order, from processes of its own, on
// the streams of the others, and is verified like them.
func TestControl(t *testing.T) {
	t.Parallel()
	root := results.ModuleRoot(".")
	p := measure(t, nil, "--control", "--rounds", "6", "--process", "round")
	p.cmd.Dir = root
	p.run(exitOK)
	f := p.folder()
	works := map[string]map[string]bool{}
	orders := map[string]bool{}
	for i, trial := range f.Trials {
		order := f.Plan.Order(trial.Round)
		orders[strings.Join(order, " ")] = true
		if order[i%3] != trial.Arm || trial.Position != i%3 || trial.IdleCPUMS == nil {
			t.Errorf("%s, want the order %q and the idle arms' CPU time", trial.Slot(), order)
		}
		if works[trial.WorkSHA256] == nil {
			works[trial.WorkSHA256] = map[string]bool{}
		}
		works[trial.WorkSHA256][trial.Arm] = true
	}
	if len(f.Trials) != 7*3 || len(works) != 7 || len(works[f.Trials[0].WorkSHA256]) != 3 || len(orders) < 3 {
		t.Errorf("%d trials of %d streams in %d orders, want 21 of 7, each of three arms, in several orders", len(f.Trials), len(works), len(orders))
	}
	if n := len(p.pids("__worker")); n != 1+7*3 { // the list, and each round's
		t.Errorf("%d worker processes, want 22", n)
	}
	if !fileExists(filepath.Join(p.output, results.LogFolder, "control.log")) {
		t.Error("the control has no log")
	}
	if r := f.Result; r.Analysis == nil || r.Analysis.Control == nil || len(r.Control) != len(r.Summary) || len(r.Arms) != 3 {
		t.Errorf("analysis %+v, %d control rows, %d arms", r.Analysis, len(r.Control), len(r.Arms))
	}
	v := newProgram(t, nil, "verify", p.output, "--reference-tree", root)
	v.run(exitOK)
	v.has("verify", v.stdout.String(), "ok    decision: ", "ok    control sources: ", "ok    trials: 21")
	e := newProgram(t, nil, "explain", p.output)
	e.run(exitOK)
	e.has("explain", e.stdout.String(), "control ms", strings.Join(f.Plan.Order(0), " "), "the control: reference ")

	without := measure(t, nil, "--rounds", "6")
	without.run(exitOK)
	if !slices.Equal(without.folder().Plan.First, f.Plan.First) {
		t.Error("the control has changed the coins")
	}
}

// The tree of the reference is held against the control's sources too.
func TestControlOfAnotherTree(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--control")
	p.cmd.Dir = results.ModuleRoot(".")
	p.run(exitOK)
	v := newProgram(t, nil, "verify", p.output, "--reference-tree", p.dir)
	v.run(exitInvalid)
	v.has("verify", v.stdout.String(), "FAIL  reference sources: ", "FAIL  control sources: ")
}

// A reference that differs from itself makes every decision inconclusive.
func TestFailedControl(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--control", "--rounds", "6", "--reference", fakeArm(t, "slow control"), "--candidate", fakeArm(t, "takes 10"), "--primary", "5:rich:complete_ms")
	p.run(exitOK)
	r := p.folder().Result
	if r.Verdict.Decision != results.DecisionInconclusive || !r.Analysis.Control.Failed || r.Analysis.Primary[0].Decision != results.DecisionImproved {
		t.Errorf("verdict %+v, analysis %+v; want inconclusive for the control, of an improved cell", r.Verdict, r.Analysis)
	}
	p.has("reason", r.Verdict.Reason, "the control failed: the reference differs from itself in this run")
	newProgram(t, nil, "verify", p.output).run(exitOK)
}

// A control that is another program than the reference, or loses a row, is a fault.
func TestFaultyControl(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--control", "--reference", fakeArm(t, "another control"), "--candidate", fakeArm(t, "honest"))
	p.run(exitInvalid)
	f := p.failed(results.StatusInvalid)
	p.has("failure", f.Message, "the control is another program than the reference: receipt: strategy is another one, but it was per-row in the reference")
	if f.Arm != results.Control || len(p.folder().Trials) != 0 {
		t.Errorf("failure %+v after %d trials, want the control's before the first", f, len(p.folder().Trials))
	}

	lost := faulty.Fault{Kind: faulty.Drop, RID: "rid-00000003-00001", Step: 1, Only: "/control-"}
	p = measure(t, []string{envFault + "=" + lost.String()}, "--control", "--candidate", "builtin:per-row", "--timeout", "6s")
	p.run(exitInvalid)
	if f := p.failed(results.StatusInvalid); f.Arm != results.Control || f.Count != 5 {
		t.Errorf("failure %+v, want the control's", f)
	}
	if log, err := os.ReadFile(filepath.Join(p.output, results.LogFolder, "control.log")); err != nil {
		t.Errorf("%s, %v", log, err)
	}
}

// An SGLang tree is its own control with a controller of its own, whether that can be
// used again or not.
func TestControlOfSGLang(t *testing.T) {
	t.Parallel()
	dir, _, _ := sglangCheckout(t)
	for _, process := range []string{results.ProcessRound, results.ProcessSpawn} {
		p := measure(t, nil, "--control", "--rounds", "2", "--process", process, "--python", interpreter(t, "")).in(dir)
		p.run(exitOK)
		f := p.folder()
		if r := f.Result; len(f.Trials) != 3*3 || len(r.Control) != len(r.Summary) || r.Arms[results.Control].Revision != r.Arms[results.Reference].Revision {
			t.Errorf("--process %s: %d trials, %d control rows, control %+v", process, len(f.Trials), len(r.Control), r.Arms[results.Control])
		}
		newProgram(t, nil, "verify", p.output).run(exitOK)
	}
}

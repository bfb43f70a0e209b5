package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// Each limit is a run of its own, all with the rate that was found for the first, and
// the same schedules. Whether a busy machine holds the rate is not looked at.
func TestSweep(t *testing.T) {
	t.Parallel()
	p := measure(t, "--sweep", "max-tokens=0,10", "--rounds", "2", "--duration", "1s")
	at := slices.Index(p.args, "--rps")
	p.args = slices.Delete(p.args, at, at+2)
	p.run(exitOK, exitInvalid).says("max-tokens", "recommended  ", "prefill batches", "looking for a rate that the reference holds", "looking for a rate that the candidate holds")
	var plans []batchrun.Plan
	for _, name := range []string{"max-tokens-0", "max-tokens-10"} {
		f, err := batchrun.Read(filepath.Join(p.output, name))
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, f.Plan)
		limit := strings.TrimPrefix(name, "max-tokens-")
		if got := f.Plan.Candidate.Options["batch-send-max-tokens"]; got != limit {
			t.Errorf("%s: option %q", name, got)
		}
		if _, has := f.Plan.Reference.Options["batch-send-max-tokens"]; has {
			t.Errorf("%s: the reference has a limit too", name)
		}
		log, err := os.ReadFile(filepath.Join(p.output, name, "logs", "candidate.log"))
		if err != nil {
			t.Fatal(err)
		}
		if len(log) == 0 {
			t.Errorf("%s: no log of the candidate", name)
		}
	}
	swept, err := batchrun.ReadSweep(p.output)
	if err != nil {
		t.Fatal(err)
	}
	if s := swept.Sweep; len(s.Runs) != 2 || len(s.Cells) != 2 || s.Cells[0].Points[1].LeadingMS == nil || *s.Cells[0].Points[1].Batches < 1 {
		t.Errorf("sweep %+v, want two runs of two cells with all figures", s)
	}
	want := []string{"--seed=7", "--candidate-set=batch-send-max-tokens=10"}
	if again := swept.Runs[1].Result.Repeat; !slices.Contains(again, want[0]) || again[len(again)-1] != want[1] || strings.Contains(strings.Join(again, " "), "--sweep") {
		t.Errorf("to repeat one run: %q, want %q in it", again, want)
	}
	command(t, "verify", p.output).run(exitOK, exitInvalid).says("ok   curves", "ok   sweep.csv")
	command(t, "gate", p.output).run(exitInvalid).says("this is a sweep, want one of its runs: max-tokens-0, max-tokens-10")
	for format, want := range map[string]string{"text": "recommended", "markdown": "| max-tokens |", "csv": "cell,value,ratio,status,", "json": `"within_pct": 10`, "html": "by limit</title>"} {
		command(t, "report", p.output, "--format", format).run(exitOK, exitInvalid).says(want)
	}
	for i := range plans[0].Schedules {
		if plans[0].Schedules[i].SHA256 != plans[1].Schedules[i].SHA256 {
			t.Errorf("schedule %d differs between the limits", i)
		}
	}
	measure(t, "--sweep", "max-tokens=0", "--candidate", (&fake{}).serve(t)).run(exitUsage).says("--sweep means nothing")
}

// Both arms have the swept part of a step, their servers say so, and so does the command
// that repeats one run.
func TestSweepOfTheStepBase(t *testing.T) {
	t.Parallel()
	p := measure(t, "--sweep", "step-base=0.001,0.0040", "--set", "sim-machine=h100-llama-3.1-8b", "--reference-set", "sim-step-base=9")
	p.run(exitOK, exitInvalid).says("step-base of both arms", "it cannot be told whether the candidate wins at the largest ratio of these", "which needs 6 rounds", "prefill batches")
	swept, err := batchrun.ReadSweep(p.output)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"0.004", "0.001"} {
		f := swept.Runs[i]
		if want := "step-base-" + text; swept.Sweep.Runs[i].Folder != want || filepath.Base(f.Dir) != want {
			t.Errorf("%s is in %s, want %s", f.Dir, swept.Sweep.Runs[i].Folder, want)
		}
		for name, arm := range f.Result.Arms {
			if got := arm.Server["sim_step_base"]; got != text {
				t.Errorf("%s: the %s has a base of %q", text, name, got)
			}
			if got := arm.Server["sim_step_per_token"]; got != "1.725086436834028e-05" {
				t.Errorf("%s: the %s takes %q a token, want the machine's", text, name, got)
			}
		}
		again := strings.Join(f.Result.Repeat, " ")
		if want := "--reference-set=sim-step-base=" + text + " --candidate-set=sim-step-base=" + text; !strings.HasSuffix(again, want) || strings.Contains(again, "--sweep") || strings.Contains(again, "sim-step-base=9") {
			t.Errorf("to repeat one run: %q, want it to end with %q", again, want)
		}
	}
	if ratio := swept.Sweep.Runs[0].Ratio; ratio == nil || math.Abs(*ratio-0.004/1.725086436834028e-05) > 1e-9 {
		t.Errorf("the ratio is %v", ratio)
	}
	command(t, "verify", p.output).run(exitOK, exitInvalid).says("ok   curves", "ok   sweep.csv")
	for format, want := range map[string]string{"text": "wins", "markdown": "| step-base |", "csv": "cell,value,ratio,status,", "json": `"wins_from": null`, "html": "by fixed part of a step</title>"} {
		command(t, "report", p.output, "--format", format).run(exitOK, exitInvalid).says(want)
	}
}

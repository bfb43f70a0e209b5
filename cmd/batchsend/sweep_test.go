package main

import (
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
	p := measure(t, "--sweep", "max-tokens=0,10", "--rounds", "2", "--duration", "1s")
	at := slices.Index(p.args, "--rps")
	p.args = slices.Delete(p.args, at, at+2)
	p.run(exitOK, exitInvalid).says("max-tokens", "recommended: ", "prefill batches", "looking for a rate that the reference holds", "looking for a rate that the candidate holds")
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
	for i := range plans[0].Schedules {
		if plans[0].Schedules[i].SHA256 != plans[1].Schedules[i].SHA256 {
			t.Errorf("schedule %d differs between the limits", i)
		}
	}
	measure(t, "--sweep", "max-tokens=0", "--candidate", (&fake{}).serve(t)).run(exitUsage).says("--sweep means nothing")
}

// Both arms have the swept part of a step, and their servers say so.
func TestSweepOfTheStepBase(t *testing.T) {
	p := measure(t, "--sweep", "step-base=0.004,0.001", "--set", "sim-machine=h100-llama-3.1-8b")
	p.run(exitOK, exitInvalid).says("step-base", "the candidate wins: not at the largest", "reference's prefill batches")
	for _, word := range []string{"0.004", "0.001"} {
		f, err := batchrun.Read(filepath.Join(p.output, "step-base-"+word))
		if err != nil {
			t.Fatal(err)
		}
		for name, arm := range f.Result.Arms {
			if got := arm.Server["sim_step_base"]; got != word {
				t.Errorf("%s: the %s has a base of %q", word, name, got)
			}
			if got := arm.Server["sim_step_per_token"]; got != "1.725086436834028e-05" {
				t.Errorf("%s: the %s takes %q a token, want the machine's", word, name, got)
			}
		}
	}
}

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

func TestRecommend(t *testing.T) {
	nan := math.NaN()
	for name, k := range map[string]struct {
		points []point // leading and average as paired reductions
		limit  float64
		ok     bool
	}{
		"no limit is the largest":    {[]point{{limit: 2048, leading: 5, avg: 9}, {limit: 0, leading: -3, avg: 9}, {limit: 4096, leading: 1, avg: 2}}, 0, true},
		"the largest that is within": {[]point{{limit: 0, leading: -80, avg: 9}, {limit: 2048, leading: -9, avg: 3}, {limit: 4096, leading: -10, avg: 2}, {limit: 8192, leading: -11, avg: 9}}, 4096, true},
		"not if requests are slower": {[]point{{limit: 0, leading: 5, avg: -1}, {limit: 100, leading: 5, avg: 0}}, 100, true},
		"none":                       {[]point{{limit: 0, leading: -80, avg: 9}, {limit: 5, leading: 3, avg: -2}}, 0, false},
		"not an invalid run":         {[]point{{limit: 0, leading: 5, avg: 9, invalid: true}, {limit: 5, leading: 3, avg: 2}}, 5, true},
		"not what is not known":      {[]point{{limit: 0, leading: nan, avg: 9}, {limit: 5, leading: 3, avg: nan}}, 0, false},
	} {
		if limit, ok := recommend(k.points, 10); limit != k.limit || ok != k.ok {
			t.Errorf("%s: %v, %v, want %v, %v", name, limit, ok, k.limit, k.ok)
		}
	}
}

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

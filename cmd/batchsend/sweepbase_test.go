package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

func TestThreshold(t *testing.T) {
	between := func(low float64) *results.Interval { return &results.Interval{Low: low, High: low + 5} }
	for name, k := range map[string]struct {
		points []basePoint
		want   string // the word of the point; "": none
	}{
		"from one on":              {[]basePoint{{word: "a", ratio: 2000, interval: between(9)}, {word: "b", ratio: 500, interval: between(1)}, {word: "c", ratio: 10, interval: between(-1)}}, "b"},
		"in any order":             {[]basePoint{{word: "c", ratio: 10, interval: between(-1)}, {word: "a", ratio: 2000, interval: between(9)}, {word: "b", ratio: 500, interval: between(1)}}, "b"},
		"everywhere":               {[]basePoint{{word: "a", ratio: 20, interval: between(9)}, {word: "b", ratio: 0, interval: between(1)}}, "b"},
		"not at the largest":       {[]basePoint{{word: "a", ratio: 2000, interval: between(0)}, {word: "b", ratio: 500, interval: between(1)}}, ""},
		"a gap ends it":            {[]basePoint{{word: "a", ratio: 9, interval: between(9)}, {word: "b", ratio: 8, interval: between(-3)}, {word: "c", ratio: 7, interval: between(1)}}, "a"},
		"not without an interval":  {[]basePoint{{word: "a", ratio: 9}}, ""},
		"not of an invalid run":    {[]basePoint{{word: "a", ratio: 9, interval: between(9), invalid: true}}, ""},
		"not where none is known":  {[]basePoint{{word: "a", ratio: math.NaN(), interval: between(9)}}, ""},
		"nothing of an empty list": {nil, ""},
	} {
		if p, ok := threshold(k.points); p.word != k.want || ok != (k.want != "") {
			t.Errorf("%s: %q, %v, want %q", name, p.word, ok, k.want)
		}
	}
}

func TestRatio(t *testing.T) {
	server := map[string]string{"sim_step_base": "0.005", "sim_step_per_token": "9e-06", "sim_step_per_context": "1e-06"}
	if got := ratio(server); math.Abs(got-500) > 1e-9 {
		t.Errorf("got %v, want 500", got)
	}
	server["sim_step_per_token"], server["sim_step_per_context"] = "0", "0"
	for _, s := range []map[string]string{server, nil, {"sim_step_base": "x"}} {
		if got := ratio(s); !math.IsNaN(got) {
			t.Errorf("%v: got %v, want NaN", s, got)
		}
	}
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

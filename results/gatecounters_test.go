package results

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseAllowances(t *testing.T) {
	got, err := ParseAllowances("opaque_decodes=0,bytes=1%,messages=2.5,allocations=5%+2000")
	want := []Allowance{{"opaque_decodes", 0, 0}, {"bytes", 0, 1}, {"messages", 2.5, 0}, {"allocations", 2000, 5}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if got, err := ParseAllowances("default"); err != nil || len(got) != 4 {
		t.Errorf("default is %v, %v; want four counters", got, err)
	}
	for s, part := range map[string]string{
		"": "COUNTER=N", "messages": "COUNTER=N", "=1": "COUNTER=N", "a=1,,b=2": "COUNTER=N", "a b=1": "COUNTER=N", "a=-1": `"-1"`, "a=NaN": `"NaN"`,
		"a=inf%": `"inf%"`, "a=x": `"x"`, "a=1%%": `"1%%"`, "a=1%+": `"1%+"`, "a=1%2": `"1%2"`, "a=1+2%": `"1+2%"`, "a=1%+-2": `"1%+-2"`, "a=%": `"%"`, "a=1e10": `"1e10"`, "a=1,a=2": "twice",
	} {
		_, err := ParseAllowances(s)
		wantError(t, err, part)
	}
}

func FuzzParseAllowances(f *testing.F) {
	f.Add(DefaultAllowances)
	f.Add("a=1%,b=0")
	f.Fuzz(func(t *testing.T, s string) {
		all, err := ParseAllowances(s)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, a := range all {
			if a.Counter == "" || seen[a.Counter] || !(a.Absolute >= 0 && a.Absolute <= MaxAllowance) || !(a.Pct >= 0 && a.Pct <= MaxAllowance) {
				t.Errorf("%q gives %+v", s, all)
			}
			seen[a.Counter] = true
		}
	})
}

// One round of one repetition, without a family: the counters are exact all the same.
func smallest() Plan {
	p := examplePlan()
	p.RowsPerRun, p.FencePerRun, p.Repetitions = p.RowsPerRun/2, p.FencePerRun/2, 1
	return p.UpTo(1)
}

func TestGateCounters(t *testing.T) {
	count := func(arm, name string, v float64) func(*Trial) {
		return func(trial *Trial) {
			if trial.Arm == arm && trial.Count == 32 && trial.Metadata == MetadataRich {
				trial.Counters[name] = v
			}
		}
	}
	for _, c := range []struct {
		name, allowances string
		change           func(*Trial)
		outcome, reason  string
	}{
		{"the same", "messages=0,opaque_decodes=0", nil, Pass, "none of 8 counters"},
		{"one more", "messages=0,opaque_decodes=0", count(Candidate, "messages", 33), Fail, "1 of 8 counters rise beyond their allowance: 32 rich messages"},
		{"one less", "messages=0", count(Candidate, "messages", 31), Pass, ""},
		{"one more, allowed", "messages=1", count(Candidate, "messages", 33), Pass, ""},
		{"two more, one allowed", "messages=1", count(Candidate, "messages", 34), Fail, ""},
		{"3.125 per cent more, allowed", "messages=3.125%", count(Candidate, "messages", 33), Pass, ""},
		{"3.125 per cent more, less allowed", "messages=3.12%", count(Candidate, "messages", 33), Fail, ""},
		{"3.125 per cent more, and one allowed", "messages=0%+1", count(Candidate, "messages", 33), Pass, ""},
		{"6.25 per cent more, half of it allowed", "messages=3%+0.5", count(Candidate, "messages", 34), Fail, ""},
		{"from nothing, by any share", "messages=50%", count(Reference, "messages", 0), Fail, "32 rich messages"},
		{"to nothing", "messages=0", count(Candidate, "messages", 0), Pass, ""},
	} {
		g, err := GateCounters(gated(t, smallest(), c.change, nil), must(ParseAllowances(c.allowances))(t))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if g.Outcome != c.outcome || !strings.Contains(g.Reason, c.reason) {
			t.Errorf("%s: %s: %s, want %s: %s", c.name, g.Outcome, g.Reason, c.outcome, c.reason)
		}
		for _, cell := range g.Cells {
			if cell.Varies != "" {
				t.Errorf("%s: %s varies over one trial: %s", c.name, cell, cell.Varies)
			}
		}
	}
	f := gated(t, smallest(), nil, nil)
	_, err := GateCounters(f, must(ParseAllowances("allocations=0"))(t))
	var none *NoCounterError
	if !errors.As(err, &none) {
		t.Errorf("%v, want that there is no such counter", err)
	}
	wantError(t, err, f.Dir, `"allocations"`, "reference", "messages, opaque_decodes")
}

// One trial against any other of the same arm, cell and run passes the default: in
// every committed run.
func TestDefaultAllowancesPassOneArmTwice(t *testing.T) {
	allowances := must(ParseAllowances("default"))(t)
	runs, err := filepath.Glob(filepath.Join("runs", "*", ResultFile))
	if err != nil || len(runs) < 5 {
		t.Fatalf("%d committed runs, %v", len(runs), err)
	}
	for _, result := range runs {
		f, err := Read(filepath.Dir(result))
		if err != nil {
			t.Fatal(err)
		}
		if f.Plan.Stream != StreamSeed { // whose trials are all of one size
			continue
		}
		for key, trials := range byCell(f.Trials) {
			for _, a := range allowances {
				low, high := map[string]float64{}, map[string]float64{}
				for _, trial := range trials {
					v, ok := trial.Counters[a.Counter]
					if _, seen := low[trial.Arm]; ok && !seen {
						low[trial.Arm], high[trial.Arm] = v, v
					}
					low[trial.Arm], high[trial.Arm] = min(low[trial.Arm], v), max(high[trial.Arm], v)
				}
				for arm := range low {
					if a.exceeded(low[arm], high[arm]) {
						t.Errorf("%s, %s, %d %s: %s is from %v to %v", f.Dir, arm, key.count, key.metadata, a.Counter, low[arm], high[arm])
					}
				}
			}
		}
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// What is not the same in all trials is said with its range, and equal counts in
// another order are equal.
func TestGateCountersThatVary(t *testing.T) {
	f := gated(t, examplePlan(), func(trial *Trial) {
		shift := trial.Round
		if trial.Arm == Candidate {
			shift = 8 - trial.Round
		}
		trial.Counters["messages"] = 0.1 * float64(1+shift)
	}, nil)
	g, err := GateCounters(f, must(ParseAllowances("messages=0,opaque_decodes=0"))(t))
	if err != nil || g.Outcome != Pass {
		t.Fatalf("%+v, %v; want a pass", g, err)
	}
	for _, c := range g.Cells {
		want := ""
		if c.Allowance.Counter == "messages" {
			want = "reference 0.1 to 0.9, candidate 0.1 to 0.9"
		}
		if c.Varies != want {
			t.Errorf("%s varies %q, want %q", c, c.Varies, want)
		}
	}
}

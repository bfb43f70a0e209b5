package results

import (
	"errors"
	"strings"
	"testing"
)

// attempt is a run of an anytime plan with one primary cell, whose candidate is
// slower in the rounds of which slow says so.
func attempt(t *testing.T, seed uint64, slow func(round int) bool, change func(*Plan)) *Folder {
	t.Helper()
	p := uncontrolled()
	p.Kind, p.Seed, p.Primary = KindAnytime, seed, p.Primary[:1]
	if change != nil {
		change(&p)
	}
	return gated(t, p, func(trial *Trial) {
		factor := 0.8
		if slow(trial.Round) {
			factor = 1.25
		}
		even(factor, 0.01*float64(seed))(trial)
	}, nil)
}

func mixed(round int) bool { return round%2 == 0 }
func always(int) bool      { return true }

// Two attempts that tell nothing each tell something together: their rounds are
// one e-process.
func TestGateJoinsAttempts(t *testing.T) {
	early := func(round int) bool { return round != 2 }
	first, second := attempt(t, 1, early, nil), attempt(t, 2, early, nil)
	for _, f := range []*Folder{first, second} {
		g, err := Gate(f, GateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if f.Result.Rounds != 9 || g.Outcome != Unclear {
			t.Fatalf("%s alone: %d rounds, %s: %s; want 9 that tell nothing", f.Dir, f.Result.Rounds, g.Outcome, g.Reason)
		}
	}
	g, err := Gate(second, GateOptions{Earlier: []*Folder{first}})
	if err != nil {
		t.Fatal(err)
	}
	if g.Rounds != 18 || g.Outcome != Fail {
		t.Errorf("%d rounds, %s: %s; want a regression by 18", g.Rounds, g.Outcome, g.Reason)
	}
	if said := strings.Join(g.Notes, "\n"); !strings.Contains(said, first.Dir+" (9 rounds), "+second.Dir) {
		t.Errorf("notes %q do not name the runs", said)
	}
	again, err := Gate(first, GateOptions{Earlier: []*Folder{second}})
	if err != nil || *again.Cells[0].LowerPct != *g.Cells[0].LowerPct || again.Outcome != g.Outcome {
		t.Errorf("in the other order %s, %v; want the same", again.Outcome, err)
	}
}

func TestGateRefusesOtherRunsAsAttempts(t *testing.T) {
	run := attempt(t, 1, mixed, nil)
	executed := attempt(t, 2, mixed, nil)
	a := executed.Result.Arms[Candidate]
	a.BinarySHA256 = []string{sum([]byte("rebuilt"))}
	executed.Result.Arms[Candidate] = a
	sources := attempt(t, 2, mixed, nil)
	b := sources.Result.Arms[Reference]
	b.Sources[0].SHA256 = sum([]byte("edited"))
	for _, c := range []struct {
		name     string
		run      *Folder
		earlier  []*Folder
		expected string
	}{
		{"itself", run, []*Folder{run}, "its coins are those of"},
		{"twice the same", run, []*Folder{attempt(t, 3, mixed, nil), attempt(t, 3, always, nil)}, "seed 3"},
		{"another margin", run, []*Folder{attempt(t, 2, mixed, func(p *Plan) { p.MarginPct = 10 })}, "margin_pct is 10 and 5"},
		{"another transport", run, []*Folder{attempt(t, 2, mixed, func(p *Plan) { p.Transport = "native" })}, "transport"},
		{"another tool", run, []*Folder{attempt(t, 2, mixed, func(p *Plan) { p.ToolVersion = "v9" })}, "tool_version"},
		{"another program", run, []*Folder{executed}, "its candidate is another: binary_sha256"},
		{"other sources", run, []*Folder{sources}, "its reference is another: sources"},
		{"a fixed plan", gated(t, uncontrolled(), nil, nil), []*Folder{run}, "fixed beforehand"},
	} {
		_, err := Gate(c.run, GateOptions{Earlier: c.earlier})
		var join *JoinError
		if !errors.As(err, &join) || !strings.Contains(err.Error(), c.expected) || !strings.Contains(err.Error(), c.earlier[0].Dir) {
			t.Errorf("%s: %v, want it refused for %q", c.name, err, c.expected)
		}
	}
}

// The controls of the attempts are joined as well: what neither shows alone they
// show together.
func TestGateJoinsControls(t *testing.T) {
	run := func(seed uint64) *Folder {
		p := withFamily()
		p.Kind, p.Seed, p.Primary = KindAnytime, seed, p.Primary[:1]
		return gated(t, p, func(trial *Trial) {
			even(1.1, 0.01*float64(seed))(trial)
			if trial.Arm == Candidate && mixed(trial.Round) || trial.Arm == Control && trial.Round != 2 {
				times(trial.Arm, 1.3)(trial)
			}
			if trial.Arm == Candidate && !mixed(trial.Round) {
				times(trial.Arm, 0.7)(trial)
			}
			if trial.Arm == Control && trial.Round == 2 {
				times(trial.Arm, 0.9)(trial)
			}
		}, nil)
	}
	first, second := run(1), run(2)
	alone, err := Gate(second, GateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(alone.Reason, "control failed") {
		t.Fatalf("alone %s: %s; want a control that tells nothing", alone.Outcome, alone.Reason)
	}
	g, err := Gate(second, GateOptions{Earlier: []*Folder{first}})
	if err != nil || g.Outcome != Unclear || !strings.Contains(g.Reason, "control failed") {
		t.Errorf("%s: %s, %v; want that the controls failed", g.Outcome, g.Reason, err)
	}
}

package verdict

import (
	"math"
	"reflect"
	"testing"
)

func familyOf(anytime bool, cells ...Cell) Family {
	return Family{Cells: cells, Margin: 0.05, Anytime: anytime, Seed: 3}
}

// A fixed plan's hosts are judged as one run with all their rounds.
func TestFixedHostsAreOneTest(t *testing.T) {
	one := familyOf(false, cellOf("a", around(9, 0.10, 0.3)...))
	two := familyOf(false, cellOf("a", around(9, 0.11, 0.3)...))
	joined, err := Join([]Family{one, two})
	if err != nil {
		t.Fatal(err)
	}
	all := familyOf(false, cellOf("a", append(around(9, 0.10, 0.3), around(9, 0.11, 0.3)...)...))
	all.Cells[0].CandidateFirst = joined.Cells[0].CandidateFirst
	got, err := Judge(joined)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Judge(all)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// An anytime plan's hosts have the mean of their e-values, and bounds by it.
func TestAnytimeHostsHaveTheMean(t *testing.T) {
	won := familyOf(true, cellOf("a", around(9, -0.5, 0.2)...))
	open := familyOf(true, cellOf("a", around(9, -0.3, 0.5)...))
	alone := judged(t, won)
	other := judged(t, open)
	joined, err := Join([]Family{won, open})
	if err != nil {
		t.Fatal(err)
	}
	got := judged(t, joined)
	if mean := (*alone.Cells[0].E + *other.Cells[0].E) / 2; *got.Cells[0].E != mean {
		t.Errorf("e-value %v, want the mean %v", *got.Cells[0].E, mean)
	}
	if got.Decision != Improved || got.Cells[0].Lower == nil || *got.Cells[0].Upper >= 0 {
		t.Errorf("%+v; want improved, with bounds below zero: one host's e-value carries both", got)
	}
	effects := HostEffects(joined)
	if e := effects[0]; math.Abs(*e.Estimates[0]+0.5) > 1e-9 || math.Abs(*e.Estimates[1]+0.3) > 1e-9 || *e.P > 0.5 {
		t.Errorf("host effects %+v, want -0.5 and -0.3, and p below a half", e)
	}
}

func judged(t *testing.T, f Family) Judgement {
	t.Helper()
	j, err := Judge(f)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestJoinHasControlsAndHoles(t *testing.T) {
	control := familyOf(false, cellOf("a", around(9, 0.2, 0.02)...))
	f := familyOf(false, cellOf("a", around(9, -0.5, 0.1)...))
	f.Control = &control
	joined, err := Join([]Family{f, f})
	if err != nil {
		t.Fatal(err)
	}
	if got := judged(t, joined); !got.ControlFailed || got.Decision != Inconclusive {
		t.Errorf("%+v; want inconclusive by the control of all hosts", got)
	}
	f.Control = nil
	f.Cells[0].LogRatios[4] = math.NaN()
	joined, err = Join([]Family{f, f})
	if err != nil {
		t.Fatal(err)
	}
	if got := judged(t, joined); got.Decision != Inconclusive || HostEffects(joined)[0].P != nil {
		t.Errorf("%+v; want inconclusive with a hole, and no p of hosts", got)
	}
}

func TestJoinRefuses(t *testing.T) {
	a := familyOf(false, cellOf("a", around(9, 0, 0.1)...))
	other := map[string]func(*Family){
		"another cell":   func(f *Family) { f.Cells = []Cell{cellOf("b", around(9, 0, 0.1)...)} },
		"more cells":     func(f *Family) { f.Cells = append(f.Cells, f.Cells[0]) },
		"another margin": func(f *Family) { f.Margin = 0.1 },
		"another kind":   func(f *Family) { f.Anytime = true },
		"a control":      func(f *Family) { c := *f; f.Control = &c },
	}
	for name, change := range other {
		b := a
		change(&b)
		if _, err := Join([]Family{a, b}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Join(nil); err == nil {
		t.Error("no hosts: no error")
	}
	for _, hosts := range [][]int{{4, 4}, {9, 0}, {10}} {
		b := a
		b.Hosts = hosts
		if _, err := Judge(b); err == nil {
			t.Errorf("hosts %v of 9 rounds: no error", hosts)
		}
	}
}

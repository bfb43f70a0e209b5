package verdict

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// rounds makes a cell of log ratios with coins that alternate.
func cellOf(name string, ratios ...float64) Cell {
	c := Cell{Name: name, LogRatios: ratios}
	for i := range ratios {
		c.CandidateFirst = append(c.CandidateFirst, i%2 == 0)
	}
	return c
}

// around has n log ratios about a centre, evenly spread over centre +- reach.
func around(n int, centre, reach float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[(i*4)%n] = centre + reach*(2*float64(i)/float64(n-1)-1) // 4 and n have no common factor
	}
	return x
}

func TestJudgeFixed(t *testing.T) {
	ni := func(c Cell) Cell { c.NonInferiority = true; return c }
	for _, c := range []struct {
		name     string
		cells    []Cell
		decision string
		of       []string // the cells' decisions
		reason   string
	}{
		{"a clear win", []Cell{cellOf("a", around(9, -0.5, 0.1)...)}, Improved, []string{Improved}, "faster in 1 of 1"},
		{"a clear loss", []Cell{cellOf("a", around(9, 0.5, 0.1)...)}, Regressed, []string{Regressed}, "slower in 1 of 1"},
		{"no difference, little noise", []Cell{cellOf("a", around(9, 0, 0.01)...)}, Equivalent, []string{Equivalent}, "within the margin of 5 %"},
		{"no difference, much noise", []Cell{cellOf("a", around(9, 0, 0.3)...)}, Inconclusive, []string{Inconclusive}, "not settled: a"},
		{"a difference within the margin is equal", []Cell{cellOf("a", around(9, -0.02, 0.005)...)}, Equivalent, []string{Equivalent}, ""},
		{"one won, one lost", []Cell{cellOf("a", around(9, -0.5, 0.1)...), cellOf("b", around(9, 0.5, 0.1)...)}, Regressed, []string{Improved, Regressed}, "slower in 1 of 2 primary cells: b"},
		{"one won, one open", []Cell{cellOf("a", around(9, -0.5, 0.1)...), cellOf("b", around(9, 0, 0.3)...)}, Improved, []string{Improved, Inconclusive}, "inconclusive: b"},
		{"one won, one not inferior", []Cell{cellOf("a", around(9, -0.5, 0.1)...), ni(cellOf("b", around(9, -0.3, 0.3)...))}, Improved, []string{Improved, NotInferior}, ""},
		{"not inferior alone", []Cell{ni(cellOf("a", around(9, -0.3, 0.1)...))}, Equivalent, []string{NotInferior}, ""},
		{"inferior", []Cell{ni(cellOf("a", around(9, 0.3, 0.1)...))}, Regressed, []string{Regressed}, "slower"},
		{"five rounds", []Cell{cellOf("a", around(5, -0.5, 0.1)...)}, Insufficient, []string{Insufficient}, "below 6"},
		{"a hole", []Cell{cellOf("a", around(9, -0.5, 0.1)...), cellOf("b", 0, 0, math.NaN(), 0, 0, 0, 0, 0, 0)}, Inconclusive, []string{Inconclusive, Inconclusive}, "no value of b in round 2"},
	} {
		j, err := Judge(Family{Cells: c.cells, Margin: 0.05})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if j.Decision != c.decision || !strings.Contains(j.Reason, c.reason) {
			t.Errorf("%s: %s (%s), want %s (%s)", c.name, j.Decision, j.Reason, c.decision, c.reason)
		}
		for i, want := range c.of {
			if j.Cells[i].Decision != want || j.Cells[i].Reason == "" {
				t.Errorf("%s: cell %d is %s (%s), want %s", c.name, i, j.Cells[i].Decision, j.Cells[i].Reason, want)
			}
		}
	}
}

// The same nine signs: over one cell they are evidence, over many they are not.
func TestJudgeCorrectsForTheFamily(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	one := cellOf("a", 0.05, 0.06, 0.02, 0.09, -0.01, 0.05, 0.08, 0.03, 0.04)
	cells := []Cell{one}
	for range 20 {
		noise := make([]float64, 9)
		for i := range noise {
			noise[i] = rng.NormFloat64() / 10
		}
		cells = append(cells, cellOf("noise", noise...))
	}
	alone, err := Judge(Family{Cells: cells[:1], Margin: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	together, err := Judge(Family{Cells: cells, Margin: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	if alone.Cells[0].Decision != Regressed || *together.Cells[0].P <= *alone.Cells[0].P {
		t.Errorf("alone %s p %v, in a family of 21 p %v; want regressed, and a larger p", alone.Cells[0].Decision, *alone.Cells[0].P, *together.Cells[0].P)
	}
}

// What would settle an open cell is said, and would: with so many rounds of the
// same spread about the same centre it is settled.
func TestJudgeSaysWhatWouldSettle(t *testing.T) {
	f := Family{Cells: []Cell{cellOf("a", around(9, 0.004, 0.07)...)}, Margin: 0.05}
	j, err := Judge(f)
	if err != nil {
		t.Fatal(err)
	}
	c := j.Cells[0]
	if c.Decision != Inconclusive || c.SmallestEffect == nil || c.RoundsNeeded == nil {
		t.Fatalf("%+v, want inconclusive with a smallest effect and the rounds needed", c)
	}
	if *c.RoundsNeeded <= 9 {
		t.Errorf("%d rounds needed, want more than the 9 there are", *c.RoundsNeeded)
	}
	const runs = 100
	settled := 0
	rng := rand.New(rand.NewPCG(3, 4))
	for range runs {
		x := make([]float64, *c.RoundsNeeded)
		for i := range x {
			x[i] = *c.Estimate + *c.Spread*rng.NormFloat64()
		}
		j, err := Judge(Family{Cells: []Cell{cellOf("a", x...)}, Margin: 0.05})
		if err != nil {
			t.Fatal(err)
		}
		if j.Decision != Inconclusive {
			settled++
		}
	}
	if settled < runs*64/100 { // 80 % are promised; four standard errors are 16 %
		t.Errorf("%d of %d runs of %d rounds are settled, want four in five", settled, runs, *c.RoundsNeeded)
	}
}

func TestControl(t *testing.T) {
	win := []Cell{cellOf("a", around(9, -0.5, 0.1)...)}
	quiet := Family{Cells: []Cell{cellOf("a", around(9, 0, 0.02)...)}, Margin: 0.05}
	j, err := Judge(Family{Cells: win, Margin: 0.05, Control: &quiet})
	if err != nil || j.Decision != Improved || j.ControlFailed {
		t.Errorf("with a quiet control: %s, failed %v, %v; want improved", j.Decision, j.ControlFailed, err)
	}
	failed := Family{Cells: []Cell{cellOf("a", around(9, 0.2, 0.02)...)}, Margin: 0.05}
	j, err = Judge(Family{Cells: win, Margin: 0.05, Control: &failed})
	if err != nil || j.Decision != Inconclusive || !j.ControlFailed || !strings.Contains(j.Reason, "the control failed") {
		t.Errorf("with a control that differs: %s (%s), %v; want inconclusive", j.Decision, j.Reason, err)
	}
	// A wide control makes a wide noise floor, whatever the candidate's own spread.
	wide := Family{Cells: []Cell{cellOf("a", around(9, 0, 0.9)...)}, Margin: 0.05}
	noisy, err := Judge(Family{Cells: win, Margin: 0.05, Control: &wide})
	if err != nil || *noisy.Cells[0].SmallestEffect <= *j.Cells[0].SmallestEffect {
		t.Errorf("smallest effect %v with a wide control, %v with a narrow one, %v; want it larger", *noisy.Cells[0].SmallestEffect, *j.Cells[0].SmallestEffect, err)
	}
}

// An anytime plan of one cell stops at round 8 when all signs agree, of six cells
// later, and the same rounds under a fixed plan are no worse.
func TestAnytime(t *testing.T) {
	for _, c := range []struct{ cells, stop int }{{1, 8}, {6, 11}} {
		stopped := 0
		for n := 1; n <= 20 && stopped == 0; n++ {
			f := Family{Margin: 0.01, Anytime: true}
			for range c.cells {
				x := make([]float64, n)
				for i := range x {
					x[i] = -0.5 + 0.01*float64(i)
				}
				f.Cells = append(f.Cells, cellOf("a", x...))
			}
			settled, err := Settled(f)
			if err != nil {
				t.Fatal(err)
			}
			if settled {
				stopped = n
				if j, err := Judge(f); err != nil || j.Decision != Improved || j.Cells[0].E == nil || j.Cells[0].P != nil {
					t.Errorf("%d cells: %+v, %v; want improved by an e-value", c.cells, j, err)
				}
			}
		}
		if stopped != c.stop {
			t.Errorf("%d cells stop at round %d, want %d", c.cells, stopped, c.stop)
		}
	}
	// No difference: settled as equivalent, once the interval is narrow enough.
	f := Family{Margin: 0.05, Anytime: true, Cells: []Cell{cellOf("a", around(9, 0, 0.01)...)}}
	if settled, err := Settled(f); err != nil || !settled {
		t.Errorf("an equal pair is not settled, %v", err)
	}
	if j, err := Judge(f); err != nil || j.Decision != Equivalent {
		t.Errorf("%+v, %v; want equivalent", j, err)
	}
}

func TestJudgeRefuses(t *testing.T) {
	short := cellOf("b", 1, 2, 3)
	for _, c := range []struct {
		name string
		f    Family
		want string
	}{
		{"no cell", Family{Margin: 0.05}, "no cells"},
		{"no margin", Family{Cells: []Cell{cellOf("a", 1, 2)}}, "margin is 0"},
		{"unlike rounds", Family{Margin: 0.05, Cells: []Cell{cellOf("a", 1, 2), short}}, "b has 3 log ratios"},
		{"a bad control", Family{Margin: 0.05, Cells: []Cell{cellOf("a", around(9, 0, 1)...)}, Control: &Family{}}, "control: "},
	} {
		if _, err := Judge(c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// The family's false alarms: twelve cells of one noise each, which hang together.
func TestFalseAlarms(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const m = 12
	runs := simulations(200, 200)
	alarms := 0
	for range runs {
		f := Family{Margin: 0.05}
		shared := make([]float64, 9)
		for i := range shared {
			shared[i] = rng.NormFloat64()
		}
		for range m {
			x := make([]float64, 9)
			for i := range x {
				x[i] = 0.1 * (shared[i] + rng.NormFloat64())
			}
			f.Cells = append(f.Cells, cellOf("a", x...))
		}
		j, err := Judge(f)
		if err != nil {
			t.Fatal(err)
		}
		if j.Decision == Improved || j.Decision == Regressed {
			alarms++
		}
	}
	if limit := 0.05*float64(runs) + 4*math.Sqrt(float64(runs)*0.05*0.95); float64(alarms) > limit {
		t.Errorf("%d of %d null runs were decided, want at most %.0f", alarms, runs, limit)
	}
}

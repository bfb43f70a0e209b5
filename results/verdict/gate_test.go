package verdict

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestGate(t *testing.T) {
	quiet := &Family{Cells: []Cell{cellOf("a", around(9, 0, 0.02)...)}, Margin: 0.05}
	failed := &Family{Cells: []Cell{cellOf("a", around(9, 0.2, 0.02)...)}, Margin: 0.05}
	for _, c := range []struct {
		name    string
		cells   []Cell
		control *Family
		want    string
	}{
		{"faster", []Cell{cellOf("a", around(9, -0.5, 0.2)...)}, nil, Pass},
		{"equal", []Cell{cellOf("a", around(9, 0, 0.02)...)}, nil, Pass},
		{"slower", []Cell{cellOf("a", around(9, 0.3, 0.1)...)}, nil, Fail},
		{"slower within the margin", []Cell{cellOf("a", around(9, 0.02, 0.01)...)}, nil, Pass},
		{"slower by about the margin", []Cell{cellOf("a", around(9, 0.05, 0.02)...)}, nil, Fail},
		{"slower, perhaps by more", []Cell{cellOf("a", around(9, 0.04, 0.03)...)}, nil, Unclear},
		{"noise", []Cell{cellOf("a", around(9, 0, 0.3)...)}, nil, Unclear},
		{"one of two", []Cell{cellOf("a", around(9, -0.5, 0.1)...), cellOf("b", around(9, 0.5, 0.1)...)}, nil, Fail},
		{"five rounds", []Cell{cellOf("a", around(5, -0.5, 0.1)...)}, nil, Unclear},
		{"a hole", []Cell{cellOf("a", -1, -1, -1, math.NaN(), -1, -1, -1, -1, -1)}, nil, Unclear},
		{"a quiet control", []Cell{cellOf("a", around(9, 0.3, 0.1)...)}, quiet, Fail},
		{"a failed control stops a pass", []Cell{cellOf("a", around(9, 0, 0.02)...)}, failed, Unclear},
		{"a failed control stops a failure", []Cell{cellOf("a", around(9, 0.3, 0.1)...)}, failed, Unclear},
	} {
		f := Family{Cells: c.cells, Margin: 0.05, Control: c.control}
		j, err := Judge(f)
		if err != nil {
			t.Fatal(err)
		}
		g := Gate(f, j)
		if g.Outcome != c.want || g.Reason == "" || len(g.Cells) != len(c.cells) {
			t.Errorf("%s: %s (%s) %+v, want %s", c.name, g.Outcome, g.Reason, g.Cells, c.want)
		}
	}
}

// The gate's false alarms where nothing differs, 24 cells that hang together, and
// those of a comparison that ignores pairs and numbers on the same data.
func TestGateFalseAlarms(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const m = 24
	runs := simulations(300, 300)
	alarms := 0
	for range runs {
		f := Family{Margin: 0.001} // a margin that hides nothing
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
		bounds := Judgement{Cells: make([]Judged, m)}
		for i := range f.Cells {
			f.describe(i, &bounds.Cells[i])
		}
		if err := f.fixed(&bounds); err != nil {
			t.Fatal(err)
		}
		if Gate(f, bounds).Outcome == Fail {
			alarms++
		}
	}
	if limit := 0.05*float64(runs) + 4*math.Sqrt(float64(runs)*0.05*0.95); float64(alarms) > limit {
		t.Errorf("%d of %d null runs fail the gate, want at most %.0f", alarms, runs, limit)
	}
}

package verdict

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/stats"
)

// The exhibit: how often the gate fails 24 cells of which none differs, and how
// often a comparison of the same times does that leaves out pairs, coins and the
// number of cells. The machine is that of the exhibit in package stats: 18 slots in
// the order of time, one a measurement of every cell, whose logarithms drift by
// 3 % over the session with a random walk, common to all cells, and have a noise of
// 1 %, half of it common.
const alarmRounds, alarmCells = 9, 24

func driftingSlots(rng *rand.Rand) [][]float64 {
	slots := make([][]float64, 2*alarmRounds)
	walk := 0.0
	for i := range slots {
		walk += 0.002 * rng.NormFloat64()
		drift := walk + 0.03*float64(i)/float64(len(slots)-1)
		shared := rng.NormFloat64()
		for range alarmCells {
			slots[i] = append(slots[i], drift+0.01*0.7071*(shared+rng.NormFloat64()))
		}
	}
	return slots
}

// nullFamily gives each pair of neighbouring slots to the arms by a coin, and has
// what each arm got as well.
func nullFamily(slots [][]float64, rng *rand.Rand, margin float64) (f Family, reference, candidate [][]float64) {
	f = Family{Margin: margin, Cells: make([]Cell, alarmCells)}
	for i := 0; i < len(slots); i += 2 {
		coin := rng.IntN(2)
		r, c := slots[i+coin], slots[i+1-coin]
		reference, candidate = append(reference, r), append(candidate, c)
		for cell := range f.Cells {
			f.Cells[cell].Name = fmt.Sprint(cell)
			f.Cells[cell].LogRatios = append(f.Cells[cell].LogRatios, c[cell]-r[cell])
			f.Cells[cell].CandidateFirst = append(f.Cells[cell].CandidateFirst, coin == 1)
		}
	}
	return f, reference, candidate
}

// someCellIsSlower is the unpaired comparison, a cell at a time: Mann-Whitney, nine
// against nine, two-sided at 4.0 % (U of 17 or less, see package stats), and the
// candidate's the larger times.
func someCellIsSlower(reference, candidate [][]float64) bool {
	for cell := range alarmCells {
		smaller := 0
		for _, r := range reference {
			for _, c := range candidate {
				if c[cell] < r[cell] {
					smaller++
				}
			}
		}
		if smaller <= 17 {
			return true
		}
	}
	return false
}

// simulations is how many runs are simulated, more of them in the long suite, and a
// quarter where an emulator computes them (-short).
func simulations(usual, long int) int {
	switch {
	case os.Getenv("FANOUTBENCH_LONG") != "":
		return long
	case testing.Short():
		return usual / 4
	}
	return usual
}

func TestGateOverTwentyFourNullCells(t *testing.T) {
	runs := simulations(60, 5000)
	rng := rand.New(rand.NewPCG(91, 92))
	alarms := map[string]int{}
	const narrow, usual = "gate, margin 0.1 %", "gate, margin 5 %"
	const interleaved, blocks = "the same times, Mann-Whitney a cell", "first one arm, then the other, Mann-Whitney a cell"
	for range runs {
		slots := driftingSlots(rng)
		f, reference, candidate := nullFamily(slots, rng, 0.001)
		for name, margin := range map[string]float64{narrow: 0.001, usual: 0.05} {
			f.Margin = margin
			j, err := Judge(f)
			if err != nil {
				t.Fatal(err)
			}
			if Gate(f, j).Outcome == Fail {
				alarms[name]++
			}
		}
		if someCellIsSlower(reference, candidate) {
			alarms[interleaved]++
		}
		if someCellIsSlower(slots[:alarmRounds], slots[alarmRounds:]) {
			alarms[blocks]++
		}
	}
	for _, name := range []string{narrow, usual, interleaved, blocks} {
		i, err := stats.BinomialInterval(alarms[name], runs, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-52s fails %5d of %d runs in which nothing differs: %5.1f %% [%.2f, %.2f]", name, alarms[name], runs, 100*float64(alarms[name])/float64(runs), 100*i.Low, 100*i.High)
		if slices.Contains([]string{narrow, usual}, name) && i.Low > 0.05 {
			t.Errorf("%s: at most 5 %% are stated", name)
		}
	}
	if alarms[blocks] < 10*max(alarms[narrow], 1) {
		t.Errorf("the unpaired comparison fails %d runs, the gate %d: expected many times as many", alarms[blocks], alarms[narrow])
	}
}

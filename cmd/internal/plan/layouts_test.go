package plan

import (
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

func pooled(t testing.TB, seed uint64) results.Plan {
	t.Helper()
	p := defaults()
	p.Seed, p.Rounds, p.Process = seed, 199, results.ProcessRound
	p.Reference.Layouts, p.Candidate.Layouts = 4, 4
	return mustNew(t, p)
}

// Draws follow from the seed, use the whole pool evenly, and are not the same on
// both sides; a pool moves no coin.
func TestLayouts(t *testing.T) {
	p, again, other := pooled(t, 1), pooled(t, 1), pooled(t, 2)
	if !slices.Equal(p.Reference.Layout, again.Reference.Layout) || slices.Equal(p.Reference.Layout, other.Reference.Layout) {
		t.Error("draws do not follow from the seed")
	}
	without := defaults()
	without.Rounds = p.Rounds
	if without = mustNew(t, without); !slices.Equal(p.First, without.First) || without.Reference.Layout != nil {
		t.Errorf("without a pool: coins differ, or layouts %v", without.Reference.Layout)
	}
	same := 0
	for name, layout := range map[string][]int{"reference": p.Reference.Layout, "candidate": p.Candidate.Layout} {
		drawn := map[int]int{}
		for i, l := range layout {
			drawn[l]++
			if p.Reference.Layout[i] == p.Candidate.Layout[i] {
				same++
			}
		}
		if len(layout) != 200 || len(drawn) != 4 || slices.Min([]int{drawn[0], drawn[1], drawn[2], drawn[3]}) < 20 { // 50 expected, 5 standard deviations
			t.Errorf("%s draws %v", name, drawn)
		}
	}
	if same /= 2; same < 20 || same > 80 {
		t.Errorf("both arms drew the same index in %d of 200 rounds, about 50 expected", same)
	}
}

func TestLayoutSeeds(t *testing.T) {
	p := pooled(t, 1)
	seeds := LayoutSeeds(p, 64)
	if !slices.Equal(seeds[:4], LayoutSeeds(p, 4)) || slices.Equal(seeds, LayoutSeeds(pooled(t, 2), 64)) {
		t.Error("seeds do not follow from the plan's")
	}
	slices.Sort(seeds)
	if len(slices.Compact(seeds)) != 64 || seeds[0] < 1 {
		t.Errorf("seeds %v, want 64 different ones from 1 on", seeds)
	}
}

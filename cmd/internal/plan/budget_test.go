package plan

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
)

func decided(kind string) results.Plan {
	p := defaults()
	p.Kind, p.MarginPct, p.Primary = kind, 5, results.DefaultPrimary(p.Counts, p.Metadata)
	return p
}

func evenly(spread float64) Noise {
	return Noise{Source: "a calibration", Spread: func(results.Primary) (float64, bool) { return spread, true }}
}

func TestRoundsOfABudget(t *testing.T) {
	unknown := Noise{}
	partly := Noise{Spread: func(c results.Primary) (float64, bool) { return 0.001, c.Metric != "first_ms" }}
	second := Cost{Before: 2 * time.Second, Round: time.Second}
	for _, c := range []struct {
		name   string
		kind   string
		noise  Noise
		budget time.Duration
		rounds int
		needed int
	}{
		{"more than enough", "", unknown, time.Hour, 30, 0},
		{"to the second", "", unknown, 33 * time.Second, 30, 0},
		{"a second less", "", unknown, 32 * time.Second, 25, 0},
		{"nine", "", unknown, 14 * time.Second, 9, 0},
		{"fewer than nine", "", unknown, 11 * time.Second, 8, 0},
		{"six", "", unknown, 9 * time.Second, 6, 0},
		{"no noise", "", evenly(0), time.Hour, 9, 9},
		{"little noise", "", evenly(0.01), time.Hour, 9, 9},
		{"more noise", "", evenly(0.03), time.Hour, 17, 17},
		{"more noise than fits", "", evenly(0.03), 14 * time.Second, 9, 17},
		{"noise beyond every choice", "", evenly(0.5), time.Hour, 30, 0},
		{"a cell unknown", "", partly, time.Hour, 30, 0},
		{"ends by itself", results.KindAnytime, evenly(0), time.Hour, 30, 0},
	} {
		rounds, needed, err := Rounds(decided(c.kind), c.noise, second, c.budget, time.Second)
		if err != nil || rounds != c.rounds || needed != c.needed && c.name != "noise beyond every choice" {
			t.Errorf("%s: %d rounds, %d needed, %v; want %d and %d", c.name, rounds, needed, err, c.rounds, c.needed)
		}
	}
	_, _, err := Rounds(decided(""), unknown, second, 8*time.Second, time.Second)
	var small *BudgetError
	if !errors.As(err, &small) || small.Needed != 9*time.Second || !strings.Contains(err.Error(), "budget 8s is too small: 6 rounds, below which no interval exists, need 9 seconds") {
		t.Errorf("%v, want a budget that is too small, and 9 s", err)
	}
}

// Against counting down: the most rounds that fit, of those that there are.
func TestRoundsFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		c := Cost{Before: time.Duration(rng.Int64N(100)), Round: time.Duration(1 + rng.Int64N(100))}
		budget, spent := time.Duration(rng.Int64N(4000)), time.Duration(rng.Int64N(100))
		want := 0
		for n := 30; n >= 6 && want == 0; n-- {
			if (n < 9 || slices.Contains(Choices, n)) && spent+c.Before+time.Duration(n)*c.Round <= budget {
				want = n
			}
		}
		if got, _, err := Rounds(decided(""), Noise{}, c, budget, spent); got != want || (err != nil) != (want == 0) {
			t.Fatalf("%+v, budget %d, spent %d: %d rounds, %v; want %d", c, budget, spent, got, err, want)
		}
	}
}

func TestWidest(t *testing.T) {
	if w := evenly(0.02).Widest(decided("")); w == nil || *w < 2.02 || *w > 2.03 {
		t.Errorf("widest %v, want e^0.02-1 in per cent", w)
	}
	for name, n := range map[string]Noise{"unknown": {}, "none": evenly(0)} {
		if w := n.Widest(decided("")); w != nil {
			t.Errorf("%s: widest %v, want none", name, *w)
		}
	}
}

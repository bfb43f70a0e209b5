package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/results"
)

func defaults() results.Plan {
	return results.Plan{
		Transport: "msgpack", Counts: []int{1, 32, 310}, Metadata: []string{"plain", "rich"},
		Rounds: 9, Repetitions: 3, Seed: 1, Stream: "seed", HTTPWorkers: 4,
	}
}

func mustNew(t testing.TB, p results.Plan) results.Plan {
	t.Helper()
	source, err := stream.NewSource(p.Stream, p.Seed, p.HTTPWorkers, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = New(p, source); err != nil {
		t.Fatal(err)
	}
	return p
}

// The fence is as wide as the arm that needs more, by rid; by ipc each consumer
// has one detokenizer.
func TestFenceRows(t *testing.T) {
	for _, k := range []struct {
		reference, candidate map[string]string
		rows                 int
	}{
		{nil, nil, 4320},
		{map[string]string{"detokenizers": "2"}, map[string]string{"detokenizers": "3"}, 3 * 4320},
		{map[string]string{"detokenizers": "3", "router": "ipc"}, map[string]string{"detokenizers": "2"}, 2 * 4320},
		{map[string]string{"detokenizers": "3", "router": "ipc"}, nil, 4320},
	} {
		p := defaults()
		p.Reference.Options, p.Candidate.Options = k.reference, k.candidate
		if got := mustNew(t, p).FencePerRun; got != k.rows {
			t.Errorf("%v and %v: %d fence rows, want %d", k.reference, k.candidate, got, k.rows)
		}
	}
	p := defaults()
	p.Candidate.Options = map[string]string{"detokenizers": "many"}
	if _, err := New(p, stream.Source{}); err == nil {
		t.Error("many detokenizers made a plan")
	}
}

// The figures that a full default run is known by.
func TestDefaultRows(t *testing.T) {
	p := mustNew(t, defaults())
	if p.RowsPerRun != 123480 || p.FencePerRun != 4320 {
		t.Fatalf("rows %d, fence rows %d; want 123480 and 4320", p.RowsPerRun, p.FencePerRun)
	}
}

// The same seed gives the same coins, another seed others, and both sides come up.
func TestCoins(t *testing.T) {
	p := defaults()
	p.Rounds = 199
	a, b := mustNew(t, p), mustNew(t, p)
	if !slices.Equal(a.First, b.First) {
		t.Error("the same seed gave other coins")
	}
	p.Seed++
	if slices.Equal(a.First, mustNew(t, p).First) {
		t.Error("another seed gave the same coins")
	}
	heads := 0
	for _, f := range a.First {
		if f == results.Candidate {
			heads++
		}
	}
	if heads < 60 || heads > 140 { // 200 fair coins: 5.6 standard deviations
		t.Errorf("%d of 200 coins name the candidate", heads)
	}
}

// Every stream of a run has an ordinal of its own.
func TestPlaces(t *testing.T) {
	p := mustNew(t, defaults())
	seen := map[uint32]stream.Place{}
	for round := -1; round < p.Rounds; round++ {
		for rep := stream.WarmupRepetition; rep < p.Repetitions; rep++ {
			for _, c := range Cells(p) {
				place := Place(p, round, rep, c)
				if other, ok := seen[place.Ordinal]; ok {
					t.Fatalf("%+v and %+v share an ordinal", place, other)
				}
				seen[place.Ordinal] = place
			}
		}
	}
}

// With a control each of the six orders is as likely, and everything else is as it
// is without: coins, layouts, streams.
func TestControlIsDrawn(t *testing.T) {
	p := defaults()
	p.Rounds = 999
	p.Reference.Layouts, p.Candidate.Layouts, p.Process = 4, 4, results.ProcessRound
	without := mustNew(t, p)
	p.Control = &results.ArmPlan{}
	with := mustNew(t, p)
	if !slices.Equal(with.First, without.First) || !slices.Equal(with.Candidate.Layout, without.Candidate.Layout) {
		t.Error("coins or layouts changed with the control")
	}
	if slices.Equal(with.Control.Layout, with.Reference.Layout) {
		t.Error("control and reference drew the same layouts")
	}
	if with.RowsPerRun != without.RowsPerRun/2*3 || with.FencePerRun != without.FencePerRun/2*3 || with.FullRows != without.FullRows/2*3 {
		t.Errorf("rows %d, fence rows %d, full rows %d; want half as many more than %d, %d, %d",
			with.RowsPerRun, with.FencePerRun, with.FullRows, without.RowsPerRun, without.FencePerRun, without.FullRows)
	}
	orders := map[string]int{}
	for round := range with.Rounds {
		orders[fmt.Sprint(with.Order(round))]++
	}
	for order, n := range orders {
		if n < 999/6-60 || n > 999/6+60 { // five standard deviations
			t.Errorf("order %s in %d of 999 rounds", order, n)
		}
	}
	if len(orders) != 6 {
		t.Errorf("%d orders, want six: %v", len(orders), orders)
	}
}

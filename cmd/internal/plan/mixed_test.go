package plan

import (
	"fmt"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// TestMixedPlan: the plan knows the rows of streams whose requests end at
// different steps, and in none of them a rid or a value of the metadata comes
// twice, those of the full stream included.
func TestMixedPlan(t *testing.T) {
	p := defaults()
	p.Stream, p.Counts, p.Rounds, p.Repetitions = results.StreamMixed, []int{1, 32}, 2, 2
	source, err := stream.NewSource(p.Stream, p.Seed, p.HTTPWorkers, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = New(p, source); err != nil {
		t.Fatal(err)
	}
	rids := ledger{t: t, seen: map[string]string{}, where: "the full stream"}
	values := ledger{t: t, seen: map[string]string{}, where: "the full stream"}
	full, err := source.Full()
	if err != nil {
		t.Fatal(err)
	}
	enterRIDs(&rids, full.Stream[0])
	enterRIDs(&rids, full.Fence[0])
	for _, b := range full.Stream {
		enterMetadata(&values, b)
	}
	rows := 0
	for _, place := range places(p) {
		w, err := source.Work(place)
		if err != nil {
			t.Fatal(err)
		}
		rids.where = fmt.Sprintf("%+v", place)
		enterRIDs(&rids, w.Stream[0])
		enterRIDs(&rids, w.Fence[0])
		for step, b := range w.Stream {
			values.where = fmt.Sprintf("%+v, batch %d", place, step)
			enterMetadata(&values, b)
			if place.Repetition >= 0 {
				rows += 2 * len(b.Consumers) // both arms
			}
		}
	}
	if p.RowsPerRun != rows || p.FullRows != 2*stream.FullRows(p.HTTPWorkers) {
		t.Errorf("the plan has %d rows and %d full ones, want %d and %d", p.RowsPerRun, p.FullRows, rows, 2*stream.FullRows(p.HTTPWorkers))
	}
}

// TestSourceCheck: a plan whose last mixed stream cannot be made is known before
// its first one is.
func TestSourceCheck(t *testing.T) {
	p := defaults()
	p.Stream, p.Counts, p.Rounds, p.Repetitions = results.StreamMixed, nil, 1000, 1
	for i := range 124 {
		p.Counts = append(p.Counts, i+1)
	}
	source, err := stream.NewSource(p.Stream, p.Seed, p.HTTPWorkers, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Check(Place(p, 999, 0, protocol.Cell{Count: 124, Metadata: "rich"})); err == nil {
		t.Error("the last stream of 500,000 trials can be made, want an error")
	}
	if err := source.Check(Place(p, 0, 0, protocol.Cell{Count: 124, Metadata: "rich"})); err != nil {
		t.Error(err)
	}
}

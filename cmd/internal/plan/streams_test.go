package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// places are all streams of a plan, warm-ups of every round included.
func places(p results.Plan) []stream.Place {
	var all []stream.Place
	for round := -1; round < p.Rounds; round++ {
		for rep := stream.WarmupRepetition; rep < p.Repetitions; rep++ {
			for _, c := range Cells(p) {
				all = append(all, Place(p, round, rep, c))
			}
		}
	}
	return all
}

// ledger finds what comes twice in a run.
type ledger struct {
	t     *testing.T
	seen  map[string]string
	where string
}

func (l *ledger) enter(value string) {
	if other, twice := l.seen[value]; twice {
		l.t.Fatalf("%s is in %s and in %s", value, other, l.where)
	}
	l.seen[value] = l.where
}

// leaves enters every number and string below v, but for keys.
func (l *ledger) leaves(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			l.leaves(e)
		}
	case map[string]any:
		for _, e := range v {
			l.leaves(e)
		}
	case json.Number, string:
		l.enter(fmt.Sprint(v))
	}
}

// TestNothingComesTwice walks the streams of a whole default run: no rid is
// used by two requests and no value of the metadata comes twice, whatever its
// kind, so that remembering any gains nothing.
func TestNothingComesTwice(t *testing.T) {
	p := mustNew(t, defaults())
	rids := ledger{t: t, seen: map[string]string{}}
	values := ledger{t: t, seen: map[string]string{}}
	rows := 0
	for _, place := range places(p) {
		w, err := stream.Seed(p.Seed, place, p.HTTPWorkers)
		if err != nil {
			t.Fatal(err)
		}
		rids.where = fmt.Sprintf("%+v", place)
		enterRIDs(&rids, w.Stream[0])
		enterRIDs(&rids, w.Fence[0])
		for step, b := range w.Stream {
			values.where = fmt.Sprintf("%+v, batch %d", place, step)
			rows += enterMetadata(&values, b)
		}
	}
	// 10 rounds of 3 repetitions and a warm-up, 343 rich rows in each of 3 batches.
	if want := 10 * 4 * 343 * 3; rows != want || len(values.seen) != rows*8 {
		t.Errorf("%d rich rows with %d values, want %d with 8 each", rows, len(values.seen), want)
	}
}

func enterRIDs(l *ledger, b protocol.Batch) {
	l.t.Helper()
	var rids []string
	if err := json.Unmarshal(b.Columns["rids"], &rids); err != nil || len(rids) != len(b.Consumers) {
		l.t.Fatalf("%s: %d rids, %v, want %d", l.where, len(rids), err, len(b.Consumers))
	}
	for _, rid := range rids {
		l.enter(rid)
	}
}

// enterMetadata returns the number of rows with metadata.
func enterMetadata(l *ledger, b protocol.Batch) int {
	l.t.Helper()
	rows := 0
	for _, name := range []string{"customized_info", "time_stats"} {
		if b.Columns[name] == nil {
			continue
		}
		d := json.NewDecoder(strings.NewReader(string(b.Columns[name])))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			l.t.Fatal(err)
		}
		l.leaves(v)
		rows = len(b.Consumers)
	}
	return rows
}

// TestPlacesOutside: what the plan does not have makes no stream.
func TestPlacesOutside(t *testing.T) {
	p := mustNew(t, defaults())
	inside := protocol.Cell{Count: 1, Metadata: stream.Plain}
	for _, place := range []stream.Place{
		Place(p, 0, 0, protocol.Cell{Count: 2, Metadata: stream.Plain}),
		Place(p, 0, 0, protocol.Cell{Count: 1, Metadata: "other"}),
		Place(p, -2, 0, inside), Place(p, p.Rounds, 0, inside),
		Place(p, 0, -2, inside), Place(p, 0, p.Repetitions, inside),
	} {
		if _, err := stream.Seed(p.Seed, place, p.HTTPWorkers); err == nil {
			t.Errorf("%+v made a stream, want an error", place)
		}
	}
}

// TestLargestPlans: the last stream of the plans with the most trials can be made.
func TestLargestPlans(t *testing.T) {
	counts := make([]int, results.MaxTrials/8)
	for i := range counts {
		counts[i] = i + 1
	}
	for _, size := range []struct{ rounds, repetitions, counts int }{
		{1, 1, results.MaxTrials / 8}, {results.MaxRounds, 1, 124}, {1, results.MaxRepetitions, 62}, {results.MaxRounds, 124, 1},
	} {
		p := defaults()
		p.Rounds, p.Repetitions, p.Counts = size.rounds, size.repetitions, counts[:size.counts]
		if p.Len() < results.MaxTrials*9/10 || p.Len() > results.MaxTrials {
			t.Errorf("%+v: %d trials, want nearly %d", size, p.Len(), results.MaxTrials)
		}
		last := Place(p, p.Rounds-1, p.Repetitions-1, protocol.Cell{Count: counts[size.counts-1], Metadata: stream.Rich})
		last.Cell.Count = 1 // its own rows would take long
		if _, err := stream.Seed(1, last, 4); err != nil {
			t.Errorf("%+v: %v", size, err)
		}
	}
}

// TestNew: the settings stay, what follows from them is valid, and the coins of
// one seed are known.
func TestNew(t *testing.T) {
	p := defaults()
	p.ToolVersion, p.Consumer, p.Pace, p.Process, p.TimeoutMS, p.StartTimeoutMS = "test", "decode", "arrived", "round", 1000, 1000
	p.Reference.Spec, p.Candidate.Spec = "builtin:per-row", "builtin:splice"
	got := mustNew(t, p)
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	want := []string{
		results.Candidate, results.Candidate, results.Candidate, results.Reference, results.Candidate,
		results.Reference, results.Reference, results.Reference, results.Reference, results.Candidate,
	}
	if !reflect.DeepEqual(got.First, want) {
		t.Errorf("seed %d gives the coins %q, want %q", p.Seed, got.First, want)
	}
	back := got
	back.Schema, back.First, back.RowsPerRun, back.FencePerRun, back.FullRows = p.Schema, p.First, p.RowsPerRun, p.FencePerRun, p.FullRows
	if !reflect.DeepEqual(back, p) {
		t.Errorf("got %+v, want the settings of %+v", back, p)
	}
}

// TestCells: counts as listed, for each the metadata as listed.
func TestCells(t *testing.T) {
	p := results.Plan{Counts: []int{310, 1}, Metadata: []string{"rich", "plain"}}
	want := []protocol.Cell{{Count: 310, Metadata: "rich"}, {Count: 310, Metadata: "plain"}, {Count: 1, Metadata: "rich"}, {Count: 1, Metadata: "plain"}}
	if got := Cells(p); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The streams of profiles are none of the plan's, and none of each other's.
func TestProfilePlaces(t *testing.T) {
	for _, repetitions := range []int{1, 3} {
		p := results.Plan{Counts: []int{1, 32}, Metadata: []string{"plain", "rich"}, Rounds: 4, Repetitions: repetitions, Seed: 1, HTTPWorkers: 2}
		seen := map[uint32]bool{}
		take := func(place stream.Place) {
			if seen[place.Ordinal] || place.Ordinal == nowhere {
				t.Errorf("%+v: its ordinal is taken, or none", place)
			}
			seen[place.Ordinal] = true
		}
		for round := -1; round < p.Rounds; round++ {
			for repetition := stream.WarmupRepetition; repetition < p.Repetitions; repetition++ {
				for _, c := range Cells(p) {
					take(Place(p, round, repetition, c))
				}
			}
		}
		for _, c := range Cells(p) {
			take(ProfilePlace(p, c))
		}
		if place := ProfilePlace(p, protocol.Cell{Count: 7, Metadata: "rich"}); place.Ordinal != nowhere {
			t.Errorf("a cell that the plan does not have is at %+v", place)
		}
	}
}

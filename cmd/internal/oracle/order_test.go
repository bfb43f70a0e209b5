package oracle

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Rows of different rids may change places at a consumer where several
// detokenizers send to it, and must not where one does; rows of one rid never may.
func TestOrderOfSeveralDetokenizers(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	changed := 0
	for range 200 {
		s := samples(t, rng)
		one, two := s.layout, s.layout
		one.Detokenizers, two.Detokenizers = 1, 2
		rows := s.mixed(rng)
		if err := s.want.Check(two, rows); err != nil {
			t.Fatalf("two detokenizers: %v", err)
		}
		var d *Difference
		err := s.want.Check(one, rows)
		if same := slices.EqualFunc(rows, s.rows, func(a, b protocol.Row) bool {
			return string(a.Fields[fieldRID]) == string(b.Fields[fieldRID])
		}); same != (err == nil) || !same && (!errors.As(err, &d) || d.Field != "order") {
			t.Fatalf("one detokenizer, rows in order %v: %v", same, err)
		} else if !same {
			changed++
		}
		if err := s.want.Check(two, s.reversed(rng, rows)); !errors.As(err, &d) {
			t.Fatalf("two detokenizers, rows of a rid in another order: %v", err)
		}
	}
	if changed < 50 {
		t.Errorf("only %d of 200 changed an order", changed)
	}
}

// mixed shuffles the rows of each consumer, but for those of a rid among each
// other.
func (s *sample) mixed(rng *rand.Rand) []protocol.Row {
	var out []protocol.Row
	for c := range s.consumers {
		byRID := map[string][]protocol.Row{}
		var turns []string
		for _, r := range s.copied() {
			if r.Endpoint == c {
				rid := string(r.Fields[fieldRID])
				byRID[rid] = append(byRID[rid], r)
				turns = append(turns, rid)
			}
		}
		rng.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		for _, rid := range turns {
			out = append(out, byRID[rid][0])
			byRID[rid] = byRID[rid][1:]
		}
	}
	return renumbered(out)
}

// reversed exchanges the first and the last row of some rid.
func (s *sample) reversed(rng *rand.Rand, rows []protocol.Row) []protocol.Row {
	rows = slices.Clone(rows)
	rid := string(rows[rng.IntN(len(rows))].Fields[fieldRID])
	of := func(r protocol.Row) bool { return string(r.Fields[fieldRID]) == rid }
	first, last := slices.IndexFunc(rows, of), len(rows)-1
	for !of(rows[last]) {
		last--
	}
	rows[first].Fields, rows[last].Fields = rows[last].Fields, rows[first].Fields
	return rows
}

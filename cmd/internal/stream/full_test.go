package stream

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// received are the columns that a detokenizer reads and no consumer gets.
var received = []string{"decoded_texts", "decode_ids", "read_offsets", "skip_special_tokens", "spaces_between_special_tokens", "no_stop_trim"}

// TestFullIsUnique: no value of a column that consumers get is in another row,
// nor in another column.
func TestFullIsUnique(t *testing.T) {
	for _, consumers := range []int{1, 4} {
		w, err := Full(1, consumers)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		rows := 0
		for step, b := range w.Stream {
			rows += len(b.Consumers)
			for name, raw := range b.Columns {
				if slices.Contains(received, name) || name == "rids" || name == "customized_info" || name == "finished_reasons" && step < FullSteps-1 {
					continue
				}
				var values []json.RawMessage
				if err := json.Unmarshal(raw, &values); err != nil || len(values) != len(b.Consumers) {
					t.Fatalf("%s: %d values, %v", name, len(values), err)
				}
				for _, v := range values {
					if other, twice := seen[string(v)]; twice {
						t.Errorf("%s of %s is also in %s", v, name, other)
					}
					seen[string(v)] = name
				}
			}
		}
		if rows != FullRows(consumers) || len(w.Fence) != Steps {
			t.Errorf("%d rows, %d batches of fence, want %d and %d", rows, len(w.Fence), FullRows(consumers), Steps)
		}
	}
	if _, err := Full(1, 0); err == nil {
		t.Error("a full stream for no consumers")
	}
}

// TestFullApart: its rids and metadata are in no other stream of the run.
func TestFullApart(t *testing.T) {
	full, err := Full(1, 4)
	if err != nil {
		t.Fatal(err)
	}
	last := seed(t, 1, place((maxBatches-FullSteps)/Steps-1, 9, Rich), 4)
	for _, name := range []string{"rids", "time_stats"} {
		seen := map[string]bool{}
		for _, b := range append(last.Stream, last.Fence[0]) {
			for _, v := range column[json.RawMessage](t, b, name) {
				seen[string(v)] = true
			}
		}
		for _, b := range append(full.Stream, full.Fence[0]) {
			for _, v := range column[json.RawMessage](t, b, name) {
				if seen[string(v)] {
					t.Errorf("%s %s is also in the run's last stream", name, v)
				}
			}
		}
		if len(seen) == 0 {
			t.Errorf("no %s to compare", name)
		}
	}
}

// The full stream has a vocabulary of the kind of the run's own, and is the same
// in all else.
func TestFullKind(t *testing.T) {
	want, err := Full(3, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		kind string
		rec  *Recording
		want string
	}{
		{results.StreamSeed, nil, protocol.VocabularyWords},
		{results.StreamMixed, nil, protocol.VocabularyBytes},
		{"recorded:x", &Recording{Vocabulary: protocol.Vocabulary{Kind: protocol.VocabularyBytes}}, protocol.VocabularyBytes},
		{"recorded:x", &Recording{Vocabulary: protocol.Vocabulary{Kind: protocol.VocabularyWords}}, protocol.VocabularyWords},
	} {
		source, err := NewSource(k.kind, 3, 4, k.rec)
		if err != nil {
			t.Fatal(err)
		}
		got, err := source.Full()
		if err != nil {
			t.Fatal(err)
		}
		want.Vocabulary.Kind = k.want
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: a full stream with a vocabulary of kind %q, want %q and nothing else changed", k.kind, got.Vocabulary.Kind, k.want)
		}
	}
}

func TestSource(t *testing.T) {
	rec := &Recording{Batches: []protocol.Batch{{Consumers: []int{0, 2}, Columns: map[string]json.RawMessage{"rids": json.RawMessage(`["x","y"]`)}}}}
	for _, k := range []struct {
		kind      string
		consumers int
		rec       *Recording
		want      string
	}{
		{results.StreamSeed, 4, nil, ""}, {results.StreamMixed, 4, nil, ""}, {"recorded:x", 3, rec, ""},
		{"recorded:x", 2, rec, "2 consumers, the recording has 3"},
		{"recorded:x", 3, nil, `kind "recorded:x" with a recording: false`},
		{results.StreamSeed, 3, rec, `kind "seed" with a recording: true`},
		{"seeds", 3, nil, `kind "seeds", want "seed", "mixed" or recorded:DIR`},
	} {
		_, err := NewSource(k.kind, 1, k.consumers, k.rec)
		if k.want == "" && err != nil || k.want != "" && (err == nil || !strings.Contains(err.Error(), k.want)) {
			t.Errorf("%s: got %v, want %q", k.kind, err, k.want)
		}
	}
	source, err := NewSource("recorded:x", 1, 3, rec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Work(place(0, 2, Plain)); err == nil || !strings.Contains(err.Error(), "a vocabulary of no tokens") {
		t.Errorf("got %v, want the vocabulary missed", err)
	}
	rec.Vocabulary = fixtureVocabulary()
	w, err := source.Work(place(5, 2, Plain))
	if err != nil || string(w.Stream[0].Columns["rids"]) != `["x-00000005","y-00000005"]` || source.Rows(protocol.Cell{}) != 2 || len(w.Fence[0].Consumers) != 3 {
		t.Errorf("got %+v, %v, %d rows", w, err, source.Rows(protocol.Cell{}))
	}
	if string(rec.Batches[0].Columns["rids"]) != `["x","y"]` {
		t.Error("the recording was changed")
	}
	if _, err := source.Work(place(5, 3, Plain)); err == nil || !strings.Contains(err.Error(), "the recording has 2 of plain") {
		t.Errorf("got %v, want another cell refused", err)
	}
}

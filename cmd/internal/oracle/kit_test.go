package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
)

// consumed are the columns that an arm reads and does not hand on.
var consumed = []string{"decoded_texts", "decode_ids", "read_offsets", "skip_special_tokens", "spaces_between_special_tokens", "no_stop_trim"}

// passed are the columns of a work that an arm hands on as they are, rids first.
func passed(w protocol.Work) []string {
	names := map[string]bool{"customized_info": true, "time_stats": true}
	for _, b := range w.Stream {
		for name := range b.Columns {
			names[name] = true
		}
	}
	for _, name := range append(consumed, "rids") {
		delete(names, name)
	}
	return append([]string{"rids"}, slices.Sorted(maps.Keys(names))...)
}

// layout is that of an arm whose message has the fields given and more: some at
// null, one at another default, one that only it has.
func layout(consumers int, fields ...string) Layout {
	l := Layout{Defaults: map[string]json.RawMessage{}}
	for i := range consumers {
		l.Endpoints = append(l.Endpoints, fmt.Sprintf("ipc:///run/c%d", i))
	}
	for _, name := range append([]string{"http_worker_ipcs", "output_strs", "weight_versions", "dp_ranks", "rids", "finished_reasons", "customized_info", "time_stats"}, fields...) {
		l.Defaults[name] = json.RawMessage("null")
	}
	l.Defaults["pooled_tokens"] = json.RawMessage("0")
	l.Defaults["only_here"] = json.RawMessage(`{"a": [1.0, null]}`)
	return l
}

// sample is a trial with what an arm that does everything right delivers.
type sample struct {
	work      protocol.Work
	passed    []string
	consumers int
	layout    Layout
	want      *Expectation
	rows      []protocol.Row // by consumer
	step      []int          // of each row, among those of its rid
	text      map[string]string
}

// newSample models an arm. texts has each rid's text, which the arm cuts into
// steps at random characters.
func newSample(t testing.TB, rng *rand.Rand, w protocol.Work, consumers int, texts map[string]string) *sample {
	t.Helper()
	want, err := New(w, consumers)
	if err != nil {
		t.Fatal(err)
	}
	s := &sample{work: w, passed: passed(w), consumers: consumers, layout: layout(consumers, passed(w)...), want: want, text: texts}
	pieces := map[string][]string{}
	for rid, rows := range rowsByRID(t, w) {
		pieces[rid] = cut(rng, texts[rid], rows)
	}
	for c := range consumers {
		seen := map[string]int{}
		for _, b := range append(slices.Clone(w.Stream), w.Fence...) {
			for i, to := range b.Consumers {
				if to != c {
					continue
				}
				f := s.fields(t, rng, b, i, c)
				var rid string
				if err := json.Unmarshal(f["rids"], &rid); err != nil {
					t.Fatal(err)
				}
				f["output_strs"] = encode(pieces[rid][seen[rid]])
				s.rows = append(s.rows, protocol.Row{Endpoint: c, Fields: f})
				s.step = append(s.step, seen[rid])
				seen[rid]++
			}
		}
	}
	s.rows = renumbered(s.rows)
	return s
}

// fields are row i's values. Those at their default may be left out or written.
func (s *sample) fields(t testing.TB, rng *rand.Rand, b protocol.Batch, i, consumer int) map[string]json.RawMessage {
	t.Helper()
	f := map[string]json.RawMessage{}
	for name, value := range s.layout.Defaults {
		if rng.IntN(2) == 0 && name != "output_strs" {
			f[name] = value
		}
	}
	if rng.IntN(2) == 0 {
		f["http_worker_ipcs"] = encode(s.layout.Endpoints[consumer])
	}
	for _, name := range s.passed {
		if b.Columns[name] != nil {
			f[name] = at(t, b.Columns[name], i)
		}
	}
	return f
}

// at takes row i out of a column by way of plain values, so that an object's
// keys come in another order.
func at(t testing.TB, column json.RawMessage, i int) json.RawMessage {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(column))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if object, ok := v.(map[string]any); ok {
		one := map[string]any{}
		for key, list := range object {
			one[key] = list.([]any)[i]
		}
		return encode(one)
	}
	return encode(v.([]any)[i])
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // what is encoded is made here
	}
	return b
}

// cut cuts text into n pieces between characters, some of them empty.
func cut(rng *rand.Rand, text string, n int) []string {
	runes := []rune(text)
	ends := []int{0, len(runes)}
	for range n - 1 {
		ends = append(ends, rng.IntN(len(runes)+1))
	}
	slices.Sort(ends)
	var pieces []string
	for i := range n {
		pieces = append(pieces, string(runes[ends[i]:ends[i+1]]))
	}
	return pieces
}

// renumbered gives each row its position among those of its endpoint.
func renumbered(rows []protocol.Row) []protocol.Row {
	count := map[int]int{}
	for i := range rows {
		rows[i].Position = count[rows[i].Endpoint]
		count[rows[i].Endpoint]++
	}
	return rows
}

// copied is a delivery that can be changed.
func (s *sample) copied() []protocol.Row {
	rows := slices.Clone(s.rows)
	for i := range rows {
		rows[i].Fields = maps.Clone(rows[i].Fields)
	}
	return rows
}

func (s *sample) rid(i int) string {
	var rid string
	if err := json.Unmarshal(s.rows[i].Fields["rids"], &rid); err != nil {
		panic(err)
	}
	return rid
}

// interleaved shuffles rows of different endpoints among each other.
func interleaved(rng *rand.Rand, rows []protocol.Row) []protocol.Row {
	byEndpoint := map[int][]protocol.Row{}
	var turns []int
	for _, r := range rows {
		byEndpoint[r.Endpoint] = append(byEndpoint[r.Endpoint], r)
		turns = append(turns, r.Endpoint)
	}
	rng.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	var out []protocol.Row
	for _, e := range turns {
		out = append(out, byEndpoint[e][0])
		byEndpoint[e] = byEndpoint[e][1:]
	}
	return out
}

// samples are of every kind of stream.
func samples(t testing.TB, rng *rand.Rand) *sample {
	t.Helper()
	if rng.IntN(3) > 0 {
		return seedSample(t, rng)
	}
	consumers := 1 + rng.IntN(4)
	w, err := stream.Full(rng.Uint64(), consumers)
	if rng.IntN(3) > 0 {
		w, err = stream.Mixed(rng.Uint64(), place(rng), consumers)
	}
	if err != nil {
		t.Fatal(err)
	}
	return newSample(t, rng, w, consumers, textsOf(t, w))
}

func place(rng *rand.Rand) stream.Place {
	return stream.Place{
		Cell:    protocol.Cell{Count: 1 + rng.IntN(9), Metadata: []string{stream.Plain, stream.Rich}[rng.IntN(2)]},
		Ordinal: rng.Uint32N(1000),
	}
}

// count is how many rows row i's request has.
func (s *sample) count(i int) int {
	n := 0
	for j := range s.rows {
		if s.rid(j) == s.rid(i) {
			n++
		}
	}
	return n
}

// seedSample is a seed stream, or one of bytes whose characters are split
// between tokens and steps.
func seedSample(t testing.TB, rng *rand.Rand) *sample {
	t.Helper()
	consumers := 1 + rng.IntN(4)
	w, err := stream.Seed(rng.Uint64(), place(rng), consumers)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	bytesToo := rng.IntN(2) == 0
	for _, part := range [][]protocol.Batch{w.Stream, w.Fence} {
		var rids []string
		if err := json.Unmarshal(part[0].Columns["rids"], &rids); err != nil {
			t.Fatal(err)
		}
		for _, rid := range rids {
			texts[rid] = "a b c"
		}
		if bytesToo {
			splitCharacters(rng, part, rids, texts)
		}
	}
	if bytesToo {
		w.Vocabulary = protocol.Vocabulary{Kind: protocol.VocabularyBytes}
		for id := range int64(256) {
			w.Vocabulary.Tokens = append(w.Vocabulary.Tokens, protocol.Token{ID: id, Bytes: []byte{byte(id)}})
		}
	}
	return newSample(t, rng, w, consumers, texts)
}

// splitCharacters gives each rid a text of long characters, cut into steps at
// any byte, and some an end that is half a character.
func splitCharacters(rng *rand.Rand, part []protocol.Batch, rids []string, texts map[string]string) {
	ids := make([][][]int64, len(part)) // by batch and row
	for _, rid := range rids {
		raw := strings.Repeat("é€😀中", 1+rng.IntN(2)) + []string{"", "\xf0\x9f", "\xe2", "z"}[rng.IntN(4)]
		texts[rid] = twinReplaced(raw)
		ends := []int{0, 1 + rng.IntN(3), 4 + rng.IntN(8), len(raw)}
		for step := range part {
			var row []int64
			for _, b := range []byte(raw[ends[step]:ends[step+1]]) {
				row = append(row, int64(b))
			}
			ids[step] = append(ids[step], row)
		}
	}
	for step := range part {
		part[step].Columns["decode_ids"], part[step].Columns["output_ids"] = encode(ids[step]), encode(ids[step])
	}
}

// seeds is n in the long suite, a third of them usually, and a few where an emulator
// runs them (-short).
func seeds(n uint64) uint64 {
	switch {
	case os.Getenv("FANOUTBENCH_LONG") != "":
		return n
	case testing.Short():
		return n / 15
	}
	return n / 3
}

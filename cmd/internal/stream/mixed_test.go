package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

func mixed(t testing.TB, seed uint64, p Place, consumers int) protocol.Work {
	t.Helper()
	w, err := Mixed(seed, p, consumers)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestMixedGolden: the same bytes in every version, on every machine.
func TestMixedGolden(t *testing.T) {
	var got strings.Builder
	for _, p := range []Place{place(0, 1, Plain), place(3, 1, Rich), place(7, 33, Plain), place(200_000, 310, Rich)} {
		for _, s := range []uint64{1, 1 << 63} {
			fmt.Fprintf(&got, "seed %d, ordinal %d, count %d, metadata %s: %s\n", s, p.Ordinal, p.Cell.Count, p.Cell.Metadata, hash(t, mixed(t, s, p, 4)))
		}
	}
	w, err := Full(1, 4)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&got, "full, 4 consumers: %s\n", hash(t, w))
	if *rewrite {
		if err := os.WriteFile("testdata/golden-mixed.txt", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/golden-mixed.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

// sentRow is a row of a mixed stream as its columns have it.
type sentRow struct {
	RID       string
	Consumer  int
	Reason    json.RawMessage
	Before    string
	Decode    []int64
	Output    []int64
	Offset    int
	Skip      bool
	Keep      bool
	Completed int
	Scores    []*float64
	HasScores bool
}

func column[T any](t testing.TB, b protocol.Batch, name string) []T {
	t.Helper()
	var list []T
	if raw := b.Columns[name]; raw != nil {
		if err := json.Unmarshal(raw, &list); err != nil || len(list) != len(b.Consumers) {
			t.Fatalf("%s: %d values, %v, want %d", name, len(list), err, len(b.Consumers))
		}
	}
	return list
}

func rowsOf(t testing.TB, b protocol.Batch) []sentRow {
	t.Helper()
	rids, reasons := column[string](t, b, "rids"), column[json.RawMessage](t, b, "finished_reasons")
	before, offsets := column[string](t, b, "decoded_texts"), column[int](t, b, "read_offsets")
	decode, output := column[[]int64](t, b, "decode_ids"), column[[]int64](t, b, "output_ids")
	skip, keep := column[bool](t, b, "skip_special_tokens"), column[bool](t, b, "no_stop_trim")
	completed, scores := column[int](t, b, "completion_tokens"), column[[]*float64](t, b, "output_token_logprobs_val")
	rows := make([]sentRow, len(rids))
	for i := range rows {
		rows[i] = sentRow{rids[i], b.Consumers[i], reasons[i], before[i], decode[i], output[i], offsets[i], skip[i], keep[i], completed[i], nil, scores != nil}
		if scores != nil {
			rows[i].Scores = scores[i]
		}
	}
	return rows
}

// TestMixedRows: what holds of every row of every mixed stream.
func TestMixedRows(t *testing.T) {
	for ordinal := range uint32(60) {
		consumers := 1 + int(ordinal)%5
		p := place(ordinal, []int{1, 2, 9, 60}[ordinal%4], []string{Plain, Rich}[ordinal/4%2])
		w := mixed(t, 5, p, consumers)
		ended, tokens, to := map[string]bool{}, map[string]int{}, map[string]int{}
		rows := 0
		for step, b := range w.Stream {
			rows += len(b.Consumers)
			for _, r := range rowsOf(t, b) {
				first := tokens[r.RID] == 0
				want := r.Output
				if first {
					want = append(slices.Clone(r.Decode[:r.Offset]), r.Output...)
					to[r.RID] = r.Consumer
				}
				tokens[r.RID] += len(r.Output)
				switch {
				case first != (step == 0):
					t.Fatalf("%v, batch %d: the first row of %s", p, step, r.RID)
				case ended[r.RID]:
					t.Fatalf("%v, batch %d: %s has ended before", p, step, r.RID)
				case !slices.Equal(r.Decode, want) || r.Offset < 1 || r.Offset > 5 || !first && r.Before != "":
					t.Fatalf("%v, batch %d: decode_ids %v, output_ids %v, read_offset %d, text from before %q", p, step, r.Decode, r.Output, r.Offset, r.Before)
				case len(r.Output) < 1 || len(r.Output) > maxTokens || r.Completed != tokens[r.RID]:
					t.Fatalf("%v, batch %d: %d output ids, completion_tokens %d of %d", p, step, len(r.Output), r.Completed, tokens[r.RID])
				case r.Consumer != to[r.RID] || r.Consumer >= consumers:
					t.Fatalf("%v, batch %d: %s goes to %d", p, step, r.RID, r.Consumer)
				case len(r.Scores) != 0 && len(r.Scores) != len(r.Output):
					t.Fatalf("%v, batch %d: %d logprobs of %d ids", p, step, len(r.Scores), len(r.Output))
				}
				ended[r.RID] = string(r.Reason) != "null"
			}
		}
		if len(w.Stream[0].Consumers) != p.Cell.Count || len(ended) != p.Cell.Count {
			t.Errorf("%v: %d rows in the first batch, %d requests", p, len(w.Stream[0].Consumers), len(ended))
		}
		for rid, done := range ended {
			if !done {
				t.Errorf("%v: %s does not end", p, rid)
			}
		}
		source, err := NewSource(results.StreamMixed, 5, consumers, nil)
		if err != nil || source.Rows(p.Cell) != rows {
			t.Errorf("%v: the source says %d rows, %v, want %d", p, source.Rows(p.Cell), err, rows)
		}
	}
}

// TestMixedCases: everything that the stream is for comes up in a few trials of
// a cell, and most of it in one large trial.
func TestMixedCases(t *testing.T) {
	w := mixed(t, 1, place(1, 310, Plain), 4)
	special := map[int64]bool{}
	pieces := map[int64][]byte{}
	for _, token := range w.Vocabulary.Tokens {
		special[token.ID], pieces[token.ID] = token.Special, token.Bytes
	}
	seen := map[string]int{}
	early := map[string]string{}
	sizes := map[int]int{}
	for _, b := range w.Stream {
		seen[fmt.Sprintf("a batch of %d consumers", len(consumersIn(b)))]++
		for _, r := range rowsOf(t, b) {
			sizes[len(r.Output)]++
			text := ""
			for _, id := range r.Output {
				piece, known := pieces[id]
				switch {
				case !known:
					seen["an id that is none"]++
				case len(piece) == 0:
					seen["a token of nothing"]++
				case special[id]:
					seen[fmt.Sprintf("a special token, skipped %t", r.Skip)]++
				case !utf8.Valid(piece):
					seen["a token of half a character"]++
				}
				if !(special[id] && r.Skip) {
					text += string(piece)
				}
			}
			if r.Before != "" {
				seen["text from before"]++
			}
			if r.HasScores && len(r.Scores) == 0 {
				seen["no logprobs beside others"]++
			}
			countEnding(t, seen, r, early[r.RID], text)
			early[r.RID] += text
		}
	}
	for i := 1; i < len(w.Stream); i++ {
		if len(w.Stream[i].Consumers) < len(w.Stream[0].Consumers) {
			seen["a batch that shrank"]++
		}
	}
	for _, name := range []string{
		"an id that is none", "a token of nothing", "a special token, skipped true", "a special token, skipped false", "a token of half a character",
		"text from before", "no logprobs beside others", "a batch of 4 consumers", "a batch of 3 consumers", "a batch that shrank",
		"length", "abort", "token, kept false", "token, kept true", "text, kept false", "text, kept true",
		"a stop string in two rows, kept true", "half a stop string's first character in the row before, kept false", "text behind a stop string",
	} {
		if seen[name] == 0 {
			t.Errorf("%s does not come up: %v", name, seen)
		}
	}
	if sizes[1] == 0 || sizes[maxTokens] == 0 && sizes[maxTokens-1] == 0 {
		t.Errorf("rows have these numbers of ids: %v, want 1 and about %d", sizes, maxTokens)
	}
}

// countEnding looks at a row that ends its request: early is the text of the
// rows before it.
func countEnding(t *testing.T, seen map[string]int, r sentRow, early, text string) {
	t.Helper()
	var reason struct {
		Type    string
		Matched json.RawMessage
	}
	if string(r.Reason) == "null" {
		return
	}
	if err := json.Unmarshal(r.Reason, &reason); err != nil {
		t.Fatal(err)
	}
	var stop string
	switch {
	case reason.Type != "stop":
		seen[reason.Type]++
		return
	case json.Unmarshal(reason.Matched, &stop) != nil:
		seen[fmt.Sprintf("token, kept %t", r.Keep)]++
		return
	}
	seen[fmt.Sprintf("text, kept %t", r.Keep)]++
	at := strings.Index(early+text, stop)
	if at < 0 {
		t.Fatalf("%s ends by %q, which %q has not", r.RID, stop, early+text)
	}
	if at+len(stop) < len(early+text) {
		seen["text behind a stop string"]++
	}
	if at < len(early) && at+len(stop) > len(early) {
		if utf8.FullRuneInString(early[at:]) {
			seen[fmt.Sprintf("a stop string in two rows, kept %t", r.Keep)]++
		} else {
			seen[fmt.Sprintf("half a stop string's first character in the row before, kept %t", r.Keep)]++
		}
	}
	if seen["a stop string in two rows, kept false"] > 0 {
		t.Fatalf("%s: %q brings part of the stop string %q before the last row", r.RID, early, stop)
	}
}

func consumersIn(b protocol.Batch) map[int]bool {
	seen := map[int]bool{}
	for _, c := range b.Consumers {
		seen[c] = true
	}
	return seen
}

// TestMixedTrials: every trial of a cell has the same shape and another content,
// and all have one vocabulary.
func TestMixedTrials(t *testing.T) {
	first := mixed(t, 3, place(0, 20, Rich), 4)
	for ordinal := range uint32(8) {
		w := mixed(t, 3, place(ordinal, 20, Rich), 4)
		for step := range w.Stream {
			if got, want := len(w.Stream[step].Consumers), len(first.Stream[step].Consumers); got != want {
				t.Errorf("ordinal %d, batch %d: %d rows, want %d", ordinal, step, got, want)
			}
		}
		a, _ := json.Marshal(w.Vocabulary)
		b, _ := json.Marshal(first.Vocabulary)
		if !bytes.Equal(a, b) {
			t.Errorf("ordinal %d has another vocabulary", ordinal)
		}
		if ordinal > 0 && bytes.Equal(w.Stream[0].Columns["decode_ids"], first.Stream[0].Columns["decode_ids"]) {
			t.Errorf("ordinal %d has the ids of ordinal 0", ordinal)
		}
	}
}

func TestMixedBadPlaces(t *testing.T) {
	last := (maxBatches-FullSteps)/MixedSteps - 1
	if _, err := Mixed(1, place(uint32(last), 1, Plain), 4); err != nil {
		t.Error(err)
	}
	if _, err := Mixed(1, place(uint32(last)+1, 1, Plain), 4); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("want 0 to %d", last)) {
		t.Errorf("got %v, want the ordinal refused", err)
	}
	if _, err := Mixed(1, place(0, 0, Plain), 4); err == nil {
		t.Error("a stream of no rows was made")
	}
}

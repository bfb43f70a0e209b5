package detokenizer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
)

// alphabet is what random vocabularies are cut from: one to four bytes a
// character, blanks, line feeds, Han, kana, U+FFFD itself, and bytes that are
// no UTF-8.
const alphabet = "a é€😀中国かz\n� x\xff\x80\xf0\x9f日\xe2\x82 b"

// randomVocabulary cuts the alphabet at random bytes, or at random characters
// for words.
func randomVocabulary(rng *rand.Rand, kind string) []tokenizer.Token {
	var vocab []tokenizer.Token
	for id := range int64(2 + rng.IntN(30)) {
		var piece []byte
		for range rng.IntN(4) {
			at := rng.IntN(len(alphabet))
			piece = append(piece, alphabet[at:at+min(len(alphabet)-at, 1+rng.IntN(4))]...)
		}
		if kind == "words" {
			piece = []byte(strings.ToValidUTF8(string(piece), "�"))
		}
		vocab = append(vocab, tokenizer.Token{ID: id, Bytes: piece, Special: rng.IntN(6) == 0})
	}
	return vocab
}

// request is one random request: its rows in order, all with the same flags.
type request struct {
	rid    string
	rows   []Row
	oracle string // its whole text, when no stop string is involved
}

func randomRequest(rng *rand.Rand, d Decoder, rid string, vocab int) request {
	flags := Row{RID: rid, SkipSpecial: rng.IntN(2) == 0, SpacesBetween: rng.IntN(2) == 0, NoStopTrim: rng.IntN(3) == 0}
	q := request{rid: rid}
	prompt := rng.IntN(6)
	var all []int64
	for step := range 1 + rng.IntN(8) {
		r := flags
		for range rng.IntN(4) {
			r.DecodeIDs = append(r.DecodeIDs, rng.Int64N(int64(vocab)+2)-1)
		}
		if step == 0 {
			for range prompt {
				r.DecodeIDs = append(r.DecodeIDs, rng.Int64N(int64(vocab)))
			}
			r.ReadOffset = prompt
			r.DecodedText = []byte([]string{"", "", "vor é"}[rng.IntN(3)])
		}
		all = append(all, r.DecodeIDs...)
		q.rows = append(q.rows, r)
	}
	last := &q.rows[len(q.rows)-1]
	last.Finish.Done = true
	switch rng.IntN(4) {
	case 0:
		last.Finish.MatchedToken = true
		last.DecodeIDs = append(last.DecodeIDs, 0)
		if last.NoStopTrim {
			all = append(all, 0)
		}
	case 1:
		last.Finish.MatchedText = []string{"a", "中", " x", "�", "zz"}[rng.IntN(5)]
		return q
	}
	w := newTwin(MethodOffset, d)
	q.oracle = string(q.rows[0].DecodedText) + string(w.output(all, prompt, flags))
	return q
}

// TestAgainstTwin holds every row of random interleaved requests, that end at
// different steps, against the twin, and every request against its text
// decoded at once.
func TestAgainstTwin(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		kind := []string{"bytes", "bytes", "words"}[rng.IntN(3)]
		vocab := randomVocabulary(rng, kind)
		d, err := newDecoder(kind, vocab)
		if err != nil {
			t.Fatal(err)
		}
		var open []request
		for i := range 1 + rng.IntN(6) {
			open = append(open, randomRequest(rng, d, fmt.Sprint("r", i), len(vocab)))
		}
		what := fmt.Sprintf("seed %d, %s %v", seed, kind, vocab)
		playAll(t, what, rng, MethodOffset, d, open)
		if kind == "bytes" {
			playAll(t, what, rng, MethodBytes, d, open)
		}
	}
}

// playAll plays the rows of all requests, in each request's order.
func playAll(t *testing.T, what string, rng *rand.Rand, m Method, d Decoder, requests []request) {
	t.Helper()
	detok, err := NewMethod(m, d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	dumb := newTwin(m, d)
	texts := map[string]string{}
	for open := slices.Clone(requests); len(open) > 0; {
		i := rng.IntN(len(open))
		q := &open[i]
		r := q.rows[0]
		q.rows = q.rows[1:]
		got, err := detok.Append(nil, r)
		if err != nil {
			t.Fatalf("%s, %s: %+v: %v", what, m, r, err)
		}
		if want := dumb.append(r); string(got) != want && !dumb.early[q.rid] {
			t.Fatalf("%s, %s: %+v after %q: got %q, twin %q", what, m, r, texts[q.rid], got, want)
		}
		texts[q.rid] += string(got)
		checkText(t, what, r, texts[q.rid], q.oracle)
		if r.Finish.Done {
			open = slices.Delete(open, i, i+1)
		}
		if detok.Len() != len(dumb.requests) {
			t.Fatalf("%s: %d states, twin %d", what, detok.Len(), len(dumb.requests))
		}
	}
}

// checkText: emitted text is a prefix of everything decoded at once, and equal
// to it at the end. U+FFFD that is not there can then not have been emitted.
func checkText(t *testing.T, what string, r Row, emitted, oracle string) {
	t.Helper()
	if oracle == "" {
		return
	}
	if !strings.HasPrefix(oracle, emitted) {
		t.Fatalf("%s: %s: emitted %q is no prefix of %q", what, r.RID, emitted, oracle)
	}
	if r.Finish.Done && emitted != oracle {
		t.Fatalf("%s: %s: emitted %q, decoded at once %q", what, r.RID, emitted, oracle)
	}
}

// evictionModel is the dumb store: two lists, oldest first.
type evictionModel struct {
	capacity     int
	live, graves []string
}

func (m *evictionModel) row(rid string, done bool) (evicted bool) {
	if i := slices.Index(m.graves, rid); i >= 0 {
		if done {
			m.graves = slices.Delete(m.graves, i, i+1)
		}
		return true
	}
	i := slices.Index(m.live, rid)
	switch {
	case i >= 0 && done:
		m.live = slices.Delete(m.live, i, i+1)
	case i < 0 && !done:
		if len(m.live) == m.capacity {
			m.graves = append(m.graves, m.live[0])
			m.live = m.live[1:]
			if len(m.graves) > m.capacity {
				m.graves = m.graves[1:]
			}
		}
		m.live = append(m.live, rid)
	}
	return false
}

func TestEvictionAgainstModel(t *testing.T) {
	d, err := newDecoder("words", []tokenizer.Token{{ID: 0, Bytes: []byte("w")}})
	if err != nil {
		t.Fatal(err)
	}
	evictions := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		m := evictionModel{capacity: 1 + rng.IntN(5)}
		detok := New(d, Options{Capacity: m.capacity})
		for step := range 300 {
			rid, done := fmt.Sprint("rid", rng.IntN(14)), rng.IntN(4) == 0
			got, err := detok.Append([]byte("x"), Row{RID: rid, DecodeIDs: []int64{0}, Finish: Finish{Done: done}})
			var gone *EvictedError
			if want := m.row(rid, done); want != errors.As(err, &gone) {
				t.Fatalf("seed %d, step %d, %s: got %v, want evicted %t", seed, step, rid, err, want)
			}
			if gone != nil {
				evictions++
				if gone.RID != rid || string(got) != "x" {
					t.Fatalf("evicted %q, text %q, want %q and dst as it was", gone.RID, got, rid)
				}
			}
			if detok.Len() != len(m.live) {
				t.Fatalf("seed %d, step %d: %d states, want %d", seed, step, detok.Len(), len(m.live))
			}
		}
	}
	if evictions == 0 {
		t.Error("no row of an evicted rid came up")
	}
}

// TestCallerReusesItsBuffers: rid, ids and text of a row may lie in a receive
// buffer that the next message overwrites.
func TestCallerReusesItsBuffers(t *testing.T) {
	d, err := newDecoder("words", []tokenizer.Token{{ID: 0, Bytes: []byte("w")}, {ID: 1, Bytes: []byte("v")}})
	if err != nil {
		t.Fatal(err)
	}
	detok := New(d, Options{})
	buffer, ids := []byte("rid-1old"), []int64{0}
	r := Row{RID: unsafe.String(&buffer[0], 5), DecodeIDs: ids, DecodedText: buffer[5:]}
	if _, err := detok.Append(nil, r); err != nil {
		t.Fatal(err)
	}
	copy(buffer, "XXXXXXXX")
	ids[0] = 1
	if _, err := detok.Append(nil, Row{RID: "XXXXX", DecodeIDs: []int64{1}}); err != nil {
		t.Fatal(err)
	}
	got, err := detok.Append(nil, Row{RID: "rid-1", DecodeIDs: []int64{1}, Finish: Finish{Done: true, MatchedText: "old"}})
	if err != nil || len(got) != 0 || detok.Len() != 1 {
		t.Errorf("got %q, %v, %d states, want the stop string of the first row's text found, and one state left", got, err, detok.Len())
	}
}

// TestFresh: the same decoder and capacity, none of the states.
func TestFresh(t *testing.T) {
	d, err := newDecoder("words", []tokenizer.Token{{ID: 0, Bytes: []byte("w")}})
	if err != nil {
		t.Fatal(err)
	}
	old := New(d, Options{Capacity: 1})
	row := Row{RID: "a", DecodeIDs: []int64{0}}
	if _, err := old.Append(nil, row); err != nil {
		t.Fatal(err)
	}
	fresh := old.Fresh()
	if got, err := fresh.Append(nil, row); err != nil || string(got) != "w" || fresh.capacity != 1 || old.Len() != 1 {
		t.Errorf("got %q, %v, capacity %d; the first has %d states", got, err, fresh.capacity, old.Len())
	}
}

// TestAllocatesNothingWarm plays waves of new requests with new rids.
func TestAllocatesNothingWarm(t *testing.T) {
	for _, m := range []Method{MethodOffset, MethodBytes} {
		t.Run(string(m), func(t *testing.T) { allocatesNothingWarm(t, m) })
	}
}

func allocatesNothingWarm(t *testing.T, m Method) {
	d, err := newDecoder("bytes", []tokenizer.Token{{ID: 0, Bytes: []byte("\xf0\x9f")}, {ID: 1, Bytes: []byte("a ")}})
	if err != nil {
		t.Fatal(err)
	}
	const waves, requests, steps = 60, 64, 6
	var rids [waves][requests]string
	for w := range rids {
		for i := range rids[w] {
			rids[w][i] = fmt.Sprintf("wave-%d-request-%d", w, i)
		}
	}
	detok, err := NewMethod(m, d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Every second row has so many bytes without end that the window is cut.
	buf, ids := make([]byte, 0, 1024), [2][]int64{{1, 0}, slices.Repeat([]int64{0}, 40)}
	wave := 0
	play := func() {
		for step := range steps {
			for i := range requests {
				r := Row{RID: rids[wave%waves][i], DecodeIDs: ids[step%2]}
				if step == steps-1 {
					r.Finish = Finish{Done: true, MatchedText: "stop"}
				}
				var err error
				if buf, err = detok.Append(buf[:0], r); err != nil {
					t.Fatal(err)
				}
			}
		}
		wave++
	}
	for range 10 {
		play()
	}
	if n := testing.AllocsPerRun(50, play); n != 0 {
		t.Errorf("%v allocations a wave of %d rows, want 0", n, requests*steps)
	}
}

func FuzzAppend(f *testing.F) {
	f.Add([]byte("a\xf0\x9f\x98\x80 中\xc3"), []byte{3, 1, 4, 1, 5, 255, 2, 6}, uint8(2), uint8(3))
	f.Add([]byte("\xe2\x82\xac\n x\xff"), []byte{0, 0, 255, 1, 255, 255, 9}, uint8(0), uint8(12))
	f.Fuzz(func(t *testing.T, pieces, stream []byte, prompt, flags uint8) {
		vocab := []tokenizer.Token{{ID: 0, Bytes: nil, Special: flags&16 != 0}}
		for i := 0; i < len(pieces); i += 1 + i%3 {
			vocab = append(vocab, tokenizer.Token{ID: int64(i + 1), Bytes: pieces[i:min(len(pieces), i+1+i%3)]})
		}
		d, err := newDecoder("bytes", vocab)
		if err != nil {
			t.Fatal(err)
		}
		// 255 in the stream ends a row.
		q := request{rid: "r", rows: []Row{{}}}
		for _, id := range stream {
			if id == 255 {
				q.rows = append(q.rows, Row{})
				continue
			}
			last := &q.rows[len(q.rows)-1]
			last.DecodeIDs = append(last.DecodeIDs, int64(id))
		}
		q.rows[0].ReadOffset = min(int(prompt), len(q.rows[0].DecodeIDs))
		var all []int64
		for i := range q.rows {
			q.rows[i].RID, q.rows[i].SkipSpecial, q.rows[i].NoStopTrim = "r", flags&1 != 0, flags&2 != 0
			all = append(all, q.rows[i].DecodeIDs...)
		}
		last := &q.rows[len(q.rows)-1]
		last.Finish = Finish{Done: true, MatchedToken: flags&4 != 0 && len(last.DecodeIDs) > 0}
		if flags&8 != 0 && !last.Finish.MatchedToken {
			last.Finish.MatchedText = "a"
		} else if !last.Finish.MatchedToken || last.NoStopTrim {
			q.oracle = string(newTwin(MethodOffset, d).output(all, q.rows[0].ReadOffset, *last))
		}
		for _, m := range []Method{MethodOffset, MethodBytes} {
			playAll(t, "fuzz", rand.New(rand.NewPCG(1, 1)), m, d, []request{q})
		}
	})
}

func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"", "a b", "中x", "中", "line\n", "no�", " "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "�")
		if got, want := string(printable([]byte(text))), string(printableTwin([]rune(text))); got != want {
			t.Fatalf("printable of %q: got %q, twin %q", text, got, want)
		}
	})
}

func FuzzCountRunes(f *testing.F) {
	f.Add("aé€😀中�")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "�")
		if got, want := countRunes([]byte(text)), len([]rune(text)); got != want {
			t.Fatalf("%q: got %d characters, want %d", text, got, want)
		}
	})
}

func TestCJKRanges(t *testing.T) {
	for r := rune(0); r < 0x30000; r++ {
		if got, want := isCJK(r), han.MatchString(string(r)); got != want {
			t.Fatalf("%U: got %t, want %t", r, got, want)
		}
	}
}

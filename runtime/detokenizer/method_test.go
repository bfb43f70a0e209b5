package detokenizer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
)

// source is what a scheduler streams for one request, and what comes of it.
type source struct {
	rows []Row
	want string
}

// simulator makes sources as SGLang's scheduler does: tokens come one by one,
// rows hold those since the last row, and a row is withheld while its text ends
// in what may begin the stop string.
type simulator struct {
	*rand.Rand
	decoder Decoder
	flags   Row
	prompt  []int64
	vocab   []tokenizer.Token
}

func newSimulator(rng *rand.Rand, d Decoder, vocab []tokenizer.Token) *simulator {
	s := &simulator{Rand: rng, decoder: d, vocab: vocab}
	s.flags = Row{RID: "r", SkipSpecial: rng.IntN(2) == 0, SpacesBetween: true, NoStopTrim: rng.IntN(3) == 0}
	for range rng.IntN(6) {
		s.prompt = append(s.prompt, s.token(-1))
	}
	return s
}

// token draws one of the vocabulary; of four in five it is favourite, if that is
// one.
func (s *simulator) token(favourite int64) int64 {
	if favourite >= 0 && s.IntN(5) > 0 {
		return favourite
	}
	return s.vocab[s.IntN(len(s.vocab))].ID
}

// text is the output's text decoded at once.
func (s *simulator) text(ids []int64) string {
	w := newTwin(MethodOffset, s.decoder)
	return string(w.output(append(slices.Clone(s.prompt), ids...), len(s.prompt), s.flags))
}

// source streams n tokens, or fewer if the stop string comes up.
func (s *simulator) source(n int, stop string) source {
	var out source
	var ids, row []int64
	favourite := s.token(-1)
	for k := 1; ; k++ {
		id := s.token(favourite)
		if s.IntN(60) == 0 {
			favourite = s.token(-1)
		}
		ids, row = append(ids, id), append(row, id)
		text := s.text(ids)
		switch {
		case stop != "" && strings.Contains(text, stop):
			out.want = cutAt(text, stop, s.flags.NoStopTrim)
			return s.end(out, row, Finish{Done: true, MatchedText: stop})
		case k == n && s.IntN(2) == 0:
			out.want = text
			return s.end(out, row, Finish{Done: true})
		case k == n:
			if out.want = s.text(ids[:k-1]); s.flags.NoStopTrim {
				out.want = text
			}
			return s.end(out, row, Finish{Done: true, MatchedToken: true})
		case s.IntN(3) > 0 && !mayBegin(s.whole(text, ids), stop):
			out, row = s.row(out, row, Finish{}), nil
		}
	}
}

func cutAt(text, stop string, keep bool) string {
	before, _, _ := strings.Cut(text, stop)
	if keep {
		before += stop
	}
	return before
}

// whole is text without a character that is not finished: its beginning must
// not hide that the text before it may begin the stop string.
func (s *simulator) whole(text string, ids []int64) string {
	w := newTwin(MethodBytes, s.decoder)
	if _, ok := s.decoder.(ByteDecoder); ok && w.unfinished(ids, s.flags) {
		return strings.TrimSuffix(text, "�")
	}
	return text
}

func mayBegin(text, stop string) bool {
	for n := 1; n <= len(stop); n++ {
		if strings.HasSuffix(text, stop[:n]) {
			return true
		}
	}
	return false
}

func (s *simulator) row(out source, ids []int64, f Finish) source {
	r := s.flags
	r.DecodeIDs, r.Finish = ids, f
	if len(out.rows) == 0 {
		r.ReadOffset = len(s.prompt)
		r.DecodeIDs = append(slices.Clone(s.prompt), ids...)
	}
	out.rows = append(out.rows, r)
	return out
}

func (s *simulator) end(out source, ids []int64, f Finish) source { return s.row(out, ids, f) }

// playSource checks that what a method emits is a prefix of what is wanted after
// each row, so that no byte of a stop and no U+FFFD of half a character is in it,
// and all of it at the end. It gives the length after each row.
func playSource(t *testing.T, what string, m Method, d Decoder, s source) (lengths []int) {
	t.Helper()
	detok, err := NewMethod(m, d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for i, r := range s.rows {
		if got, err = detok.Append(got, r); err != nil {
			t.Fatalf("%s, %s, row %d: %v", what, m, i, err)
		}
		if !strings.HasPrefix(s.want, string(got)) {
			t.Fatalf("%s, %s, row %d of %+v: emitted %q is no prefix of %q", what, m, i, s.rows, got, s.want)
		}
		for _, e := range detok.store.byRID {
			if n := len(e.ids); n > 2*longest {
				t.Fatalf("%s, %s, row %d: a window of %d ids", what, m, i, n)
			}
		}
		lengths = append(lengths, len(got))
	}
	if string(got) != s.want || detok.Len() != 0 {
		t.Fatalf("%s, %s: emitted %q of %q, %d states left", what, m, got, s.want, detok.Len())
	}
	return lengths
}

// TestMethodsAgree: both methods give the text of everything decoded at once,
// cut at the stop, over random vocabularies and streams whose long stretches
// are of one token: one without text, a byte that completes no character, a
// special one. The byte buffer is never behind.
func TestMethodsAgree(t *testing.T) {
	stops := 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 13))
		kind := []string{"bytes", "bytes", "bytes", "words"}[rng.IntN(4)]
		vocab := randomVocabulary(rng, kind)
		d, err := newDecoder(kind, vocab)
		if err != nil {
			t.Fatal(err)
		}
		s := newSimulator(rng, d, vocab)
		n := []int{1, 4, 30, 150}[rng.IntN(4)]
		stop := []string{"", "a", "é€", "中国か", "\n", "b ", "x😀", " a"}[rng.IntN(8)]
		out := s.source(n, stop)
		what := fmt.Sprintf("seed %d, %s %v, stop %q", seed, kind, vocab, stop)
		offset := playSource(t, what, MethodOffset, d, out)
		if out.rows[len(out.rows)-1].Finish.MatchedText != "" {
			stops++
		}
		if kind == "words" {
			continue
		}
		for i, n := range playSource(t, what, MethodBytes, d, out) {
			if n < offset[i] {
				t.Fatalf("%s, row %d: %d bytes, the offset method has %d", what, i, n, offset[i])
			}
		}
	}
	if stops < 80 {
		t.Errorf("only %d streams ended at a stop string", stops)
	}
}

func TestNewMethodErrors(t *testing.T) {
	words, err := newDecoder("words", []tokenizer.Token{{ID: 0, Bytes: []byte("w")}})
	if err != nil {
		t.Fatal(err)
	}
	for m, want := range map[Method]string{
		MethodBytes: "method bytes with a decoder of type *tokenizer.WordLevel, expected a vocabulary of bytes",
		"byte":      `method "byte", expected offset or bytes`,
		"":          `method "", expected offset or bytes`,
	} {
		if d, err := NewMethod(m, words, Options{}); err == nil || !strings.Contains(err.Error(), want) || d != nil {
			t.Errorf("%q: got %v, %v, want %s", m, d, err, want)
		}
	}
}

// TestFreshKeepsTheMethod: half a character is held and the text before it not.
func TestFreshKeepsTheMethod(t *testing.T) {
	d, err := newDecoder("bytes", []tokenizer.Token{{ID: 0, Bytes: []byte("z\xc3")}})
	if err != nil {
		t.Fatal(err)
	}
	for m, want := range map[Method]string{MethodOffset: "", MethodBytes: "z"} {
		detok, err := NewMethod(m, d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := detok.Fresh().Append(nil, Row{RID: "r", DecodeIDs: []int64{0}})
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", m, got, err, want)
		}
	}
}

// counter is a Decoder that counts its work.
type counter struct {
	*tokenizer.Bytes
	calls, ids, size int
}

func (c *counter) AppendDecode(dst []byte, ids []int64, skipSpecial, spacesBetween bool) []byte {
	return c.count(ids, func() []byte { return c.Bytes.AppendDecode(dst, ids, skipSpecial, spacesBetween) })
}

func (c *counter) AppendBytes(dst []byte, ids []int64, skipSpecial bool) []byte {
	return c.count(ids, func() []byte { return c.Bytes.AppendBytes(dst, ids, skipSpecial) })
}

func (c *counter) count(ids []int64, decode func() []byte) []byte {
	c.calls++
	c.ids += len(ids)
	out := decode()
	c.size += len(out)
	return out
}

// TestWorkIsLinear counts the calls of a decoder, the ids passed to it and the
// bytes it gives, for n rows and for half of them: twice as much, plus a constant.
func TestWorkIsLinear(t *testing.T) {
	vocab := []tokenizer.Token{
		{ID: 0, Bytes: []byte("word ")}, {ID: 1, Bytes: nil}, {ID: 2, Bytes: []byte("\x80")},
		{ID: 3, Bytes: []byte("</s>"), Special: true}, {ID: 4, Bytes: []byte("\xf0\x9f")}, {ID: 5, Bytes: []byte("�")},
	}
	const n, perRow = 10_000, 150 // ids a row: a window twice, and its share of shortening
	for _, c := range []struct {
		name  string
		first []int64
		tail  []int64 // repeated, a row each
	}{
		{"empty tokens", []int64{0}, []int64{1}},
		{"empty tokens behind a long row", slices.Repeat([]int64{0}, n), []int64{1}},
		{"special tokens", []int64{0}, []int64{3}},
		{"bytes that continue nothing", []int64{0}, []int64{2}},
		{"and at once", slices.Repeat([]int64{2}, n), []int64{2}},
		{"beginnings of characters", []int64{0}, []int64{4}},
		{"U+FFFD itself", nil, []int64{5}},
		{"half a character, then empty tokens", []int64{0, 4}, []int64{1}},
		{"bytes and empty tokens", slices.Repeat([]int64{2}, 31), []int64{1, 2, 3}},
	} {
		for _, m := range []Method{MethodOffset, MethodBytes} {
			for _, prompt := range []int{0, len(c.first)}[:min(2, 1+len(c.first))] {
				all, half := tailWork(t, m, vocab, c.first, prompt, c.tail, n), tailWork(t, m, vocab, c.first, prompt, c.tail, n/2)
				what := fmt.Sprintf("%s, %s, prompt of %d", c.name, m, prompt)
				if all.calls > perRow*n || all.ids > perRow*n {
					t.Errorf("%s: %d calls with %d ids for %d rows, want at most %d a row", what, all.calls, all.ids, n, perRow)
				}
				if limit := 10 * perRow; all.calls > 2*half.calls+limit || all.ids > 2*half.ids+limit || all.size > 2*half.size+4*limit {
					t.Errorf("%s: %d calls, %d ids, %d bytes for %d rows; for half of them %d, %d, %d", what, all.calls, all.ids, all.size, n, half.calls, half.ids, half.size)
				}
			}
		}
	}
}

// tailWork streams a first row and n rows of a token, and checks the text.
func tailWork(t *testing.T, m Method, vocab []tokenizer.Token, first []int64, prompt int, tail []int64, n int) *counter {
	t.Helper()
	b, err := tokenizer.NewBytes(vocab)
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{Bytes: b}
	detok, err := NewMethod(m, c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(first)
	r := Row{RID: "r", DecodeIDs: first, ReadOffset: prompt, SkipSpecial: true}
	got, err := detok.Append(nil, r)
	for k := range n {
		if err != nil {
			t.Fatal(err)
		}
		id := tail[k%len(tail)]
		all = append(all, id)
		got, err = detok.Append(got, Row{RID: "r", DecodeIDs: []int64{id}, SkipSpecial: true, Finish: Finish{Done: k == n-1}})
	}
	if want := string(newTwin(m, b).output(all, prompt, r)); err != nil || string(got) != want {
		t.Fatalf("%s, %v %v: got %d bytes of text, %v, want %d", m, first[:min(3, len(first))], tail, len(got), err, len(want))
	}
	return c
}

// TestByteBufferHoldsLittle: of a text whose bytes come one by one everything is
// out but the character that is not finished.
func TestByteBufferHoldsLittle(t *testing.T) {
	text := "aé€😀中\n\xff\x80z\xf0\x9f\x98y"
	var vocab []tokenizer.Token
	for id := range int64(256) {
		vocab = append(vocab, tokenizer.Token{ID: id, Bytes: []byte{byte(id)}})
	}
	d, err := tokenizer.NewBytes(vocab)
	if err != nil {
		t.Fatal(err)
	}
	detok, err := NewMethod(MethodBytes, d, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for i := range len(text) {
		if got, err = detok.Append(got, Row{RID: "r", DecodeIDs: []int64{int64(text[i])}}); err != nil {
			t.Fatal(err)
		}
		want, held := tokenizer.AppendText(nil, []byte(text[:i+1]))
		if !bytes.Equal(got, want) || held > 3 {
			t.Fatalf("after %q: got %q, want %q", text[:i+1], got, want)
		}
	}
}

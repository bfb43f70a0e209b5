package scheduler

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
)

// stopVocabulary has bytes, parts of characters, longer pieces, special tokens
// and tokens without text. Its ids begin at 0.
var stopVocabulary = []string{
	"a", "b", "ab", "ba", "abc", "c", " ", "é", "\xc3", "\xa9", "\xf0", "\x9f\x98", "\x80", "\xff", "", "<s>", "<e>", "b\xc3", "\xa9a",
}

const firstSpecialStop, lastSpecialStop = 15, 16

func stopTokenizer(t testing.TB) *tokenizer.Bytes {
	t.Helper()
	var vocab []tokenizer.Token
	for i, text := range stopVocabulary {
		vocab = append(vocab, tokenizer.Token{ID: int64(i), Bytes: []byte(text), Special: i >= firstSpecialStop && i <= lastSpecialStop})
	}
	b, err := tokenizer.NewBytes(vocab)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// stopTwin decodes everything at every token.
type stopTwin struct {
	d    Decoder
	p    *SamplingParams
	tail []int64
}

// text is that of the generated ids, without an unfinished character at its end.
func (w stopTwin) text(ids []int64) string {
	all := w.d.AppendDecode(nil, append(append([]int64{}, w.tail...), ids...), w.p.SkipSpecialTokens, true)
	prompt := w.d.AppendDecode(nil, w.tail, w.p.SkipSpecialTokens, true)
	runes := []rune(string(all))
	runes = runes[min(len(runes), utf8.RuneCount(prompt)):]
	return strings.TrimSuffix(string(runes), "�")
}

// match tries every end from the left, and at each the longest first.
func (w stopTwin) match(text string) (matched string, at int) {
	for end := range len(text) + 1 {
		for start := range end {
			for _, stop := range w.p.Stop {
				if text[start:end] == stop {
					return stop, start
				}
			}
		}
	}
	return "", -1
}

// held is the length of the longest end of text that begins a stop string.
func (w stopTwin) held(text string) int {
	if w.p.NoStopTrim {
		return 0
	}
	most := 0
	for _, stop := range w.p.Stop {
		for n := range min(len(stop), len(text)+1) {
			if strings.HasSuffix(text, stop[:n]) {
				most = max(most, n)
			}
		}
	}
	return most
}

// sendable is the largest number of ids whose text is not held.
func (w stopTwin) sendable(ids []int64) int {
	text := w.text(ids)
	for n := len(ids); n > 0; n-- {
		if len(w.text(ids[:n])) <= len(text)-w.held(text) {
			return n
		}
	}
	return 0
}

func drawStops(r *rand.Rand) []string {
	var stops []string
	for range 1 + r.IntN(3) {
		text := ""
		for range 1 + r.IntN(4) {
			text += []string{"a", "b", "c", "é", " ", "😀", "<s>", "ab"}[r.IntN(8)]
		}
		stops = append(stops, text)
	}
	return stops
}

// drawToken prefers, in some seeds, tokens that are no text by themselves.
func drawToken(r *rand.Rand, odd bool) int64 {
	if odd && r.IntN(8) > 0 {
		return int64(8 + r.IntN(9))
	}
	return r.Int64N(int64(len(stopVocabulary)))
}

// Each row has exactly the tokens that the twin lets go, a match is the twin's,
// and through a detokenizer, by either method, no byte of a matched stop string
// is ever in the text: output path bugs sglang#11446 (a stop prefix leaked),
// vllm#3574 and TGI#1254 (the same), vllm PR 45636 (more was held than needed).
func TestStopStringsAgainstTwin(t *testing.T) {
	d := stopTokenizer(t)
	found := map[string]int{}
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 11))
		in := ask("r", 1+r.IntN(7), 1+r.IntN(60), 0)
		for i := range in.InputIDs {
			in.InputIDs[i] = drawToken(r, seed%3 == 0)
		}
		p := &in.SamplingParams
		p.Stop, p.SkipSpecialTokens, p.NoStopTrim = drawStops(r), r.IntN(2) == 0, r.IntN(4) == 0
		runStops(t, d, in, func() int64 { return drawToken(r, seed%3 == 0) }, found)
		if t.Failed() {
			t.Fatalf("seed %d: stop %q, prompt %v", seed, p.Stop, in.InputIDs)
		}
	}
	for _, what := range []string{FinishStop, FinishLength, "held", "kept"} {
		if found[what] < 100 {
			t.Errorf("%d times %s: the draw tests too little (%v)", found[what], what, found)
		}
	}
}

func runStops(t *testing.T, d *tokenizer.Bytes, in *TokenizedGenerateReqInput, draw func() int64, found map[string]int) {
	c := usual()
	c.Decoder = d
	s, err := New(c, model.Limits{VocabSize: len(stopVocabulary), ContextLength: 512})
	if err != nil {
		t.Fatal(err)
	}
	twin := stopTwin{d, &in.SamplingParams, in.InputIDs[max(0, len(in.InputIDs)-promptTail):]}
	readers := newStopReaders(t, d)
	if err := s.Receive(0, in); err != nil {
		t.Fatal(err)
	}
	var ids []int64
	sent := 0
	for s.Schedule(1) != nil {
		ids = append(ids, draw())
		if err := s.Finish(1, []model.Choice{{Token: ids[len(ids)-1]}}); err != nil {
			t.Fatal(err)
		}
		matched, at := twin.match(twin.text(ids))
		done := matched != "" || len(ids) == in.SamplingParams.MaxNewTokens
		want := twin.sendable(ids)
		if done {
			want = len(ids)
		} else if want < len(ids) {
			found["held"]++
		}
		rows := s.Take().Rows
		if rows == nil {
			rows = &BatchTokenIDOutput{}
		}
		for i := range rows.RIDs {
			sent += len(rows.OutputIDs[i])
			readers.read(t, rows, i)
		}
		if sent != want {
			t.Errorf("%d of tokens %v sent, want %d", sent, ids, want)
		}
		if done {
			checkStopped(t, in, rows, matched, found)
			readers.check(t, in, twin, ids, matched, at)
			break
		}
	}
	if !s.Idle() {
		t.Error("not idle after the last row")
	}
}

func checkStopped(t *testing.T, in *TokenizedGenerateReqInput, rows *BatchTokenIDOutput, matched string, found map[string]int) {
	t.Helper()
	want := &FinishReason{Type: FinishLength, Length: in.SamplingParams.MaxNewTokens}
	if matched != "" {
		want = &FinishReason{Type: FinishStop, MatchedText: matched}
		if in.SamplingParams.NoStopTrim {
			found["kept"]++
		}
	}
	if rows.Len() == 0 || *rows.FinishedReasons[rows.Len()-1] != *want {
		t.Errorf("finished %v, want %+v", rows.FinishedReasons, want)
	}
	found[want.Type]++
}

// stopReaders are the detokenizers behind the scheduler, and their text.
type stopReaders map[detokenizer.Method]*stopReader

type stopReader struct {
	d    *detokenizer.Detokenizer
	text []byte
}

func newStopReaders(t *testing.T, d *tokenizer.Bytes) stopReaders {
	readers := stopReaders{}
	for _, m := range []detokenizer.Method{detokenizer.MethodOffset, detokenizer.MethodBytes} {
		detok, err := detokenizer.NewMethod(m, d, detokenizer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		readers[m] = &stopReader{d: detok}
	}
	return readers
}

func (rs stopReaders) read(t *testing.T, b *BatchTokenIDOutput, i int) {
	t.Helper()
	row := detokenizer.Row{
		RID: b.RIDs[i], DecodeIDs: b.DecodeIDs[i], ReadOffset: b.ReadOffsets[i],
		SkipSpecial: b.SkipSpecialTokens[i], SpacesBetween: b.SpacesBetweenSpecialTokens[i], NoStopTrim: b.NoStopTrim[i],
	}
	if f := b.FinishedReasons[i]; f != nil {
		row.Finish = detokenizer.Finish{Done: true, MatchedText: f.MatchedText}
	}
	for _, r := range rs {
		var err error
		if r.text, err = r.d.Append(r.text, row); err != nil {
			t.Fatal(err)
		}
	}
}

func (rs stopReaders) check(t *testing.T, in *TokenizedGenerateReqInput, twin stopTwin, ids []int64, matched string, at int) {
	t.Helper()
	want := twin.text(ids)
	if matched != "" {
		want = want[:at]
		if in.SamplingParams.NoStopTrim {
			want += matched
		}
	}
	for m, r := range rs {
		got := string(r.text)
		if matched == "" {
			got = strings.TrimSuffix(got, "�") // an unfinished character, at the end of the request
		}
		if got != want {
			t.Errorf("method %s: text %q of tokens %v, want %q", m, r.text, ids, want)
		}
	}
}

// The text of a window is bounded however long the tail without a whole
// character, or without text.
func TestStopWindowIsBounded(t *testing.T) {
	d := stopTokenizer(t)
	for name, id := range map[string]int64{"invalid bytes": 13, "no text": 14, "special tokens": 15, "half characters": 8} {
		s := newStopper(d, &SamplingParams{SkipSpecialTokens: true, Stop: []string{"never"}}, []int64{0, 1})
		for range 10000 {
			s.add(id)
			if len(s.window) > 16 {
				t.Fatalf("%s: a window of %d ids", name, len(s.window))
			}
		}
	}
}

// A stop string of one repeated byte is found in linear time: the beginnings
// that fail are not tried anew.
func TestStopStringBorders(t *testing.T) {
	for _, text := range []string{"a", "aaaa", "abab", "abcabd", "aabaaab"} {
		s := newStopString(text)
		for end := 1; end <= len(text); end++ {
			want := 0
			for n := 1; n < end; n++ {
				if strings.HasSuffix(text[:end], text[:n]) {
					want = n
				}
			}
			if s.border[end] != want {
				t.Errorf("%q: border of %q is %d, want %d", text, text[:end], s.border[end], want)
			}
		}
	}
}

// Rows are numbered from 0 within their request, also after a retraction, and
// carry the times at which it came to where.
func TestRowNumbersAndTimes(t *testing.T) {
	c := usual()
	c.MaxTotalTokens, c.Conservativeness = 48, 0.01
	b := newBench(t, c, wideLimits)
	next := map[string]int{}
	b.now = 3
	arrive := func() {
		if i := len(next); i < 3 {
			if err := b.s.Receive(b.now, ask(fmt.Sprintf("r%d", i), 5, 30, int64(7*i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	arrive()
	for batch := b.start(); batch != nil; batch = b.start() {
		out, err := b.m.Forward(batch)
		if err != nil {
			t.Fatal(err)
		}
		chosen := make([]model.Choice, len(batch.Work))
		for i := range chosen {
			chosen[i].Token = model.Greedy(out.Logits[i])
		}
		if err := b.s.Finish(b.now+0.125, chosen); err != nil {
			t.Fatal(err)
		}
		rows := b.s.Take().Rows
		for i, rid := range rows.RIDs {
			if rows.Row[i] != next[rid] {
				t.Fatalf("rid %s: row %d, want %d", rid, rows.Row[i], next[rid])
			}
			next[rid]++
			times := rows.TimeStats[i]
			if times.WaitQueueEntry < 3 || times.ForwardEntry != times.WaitQueueEntry+0.25 || times.PrefillFinished != times.ForwardEntry+0.125 {
				t.Fatalf("rid %s: times %+v", rid, times)
			}
		}
		arrive()
	}
	if b.s.Stats().Retracted == 0 {
		t.Error("nothing was retracted: the limits test too little")
	}
	if next["r0"] != 30 || next["r1"] != 30 || next["r2"] != 30 {
		t.Errorf("rows %v, want 30 of each", next)
	}
}

// A sampler that cannot choose for one request ends that one, and what Check
// finds is refused with a row.
func TestErrorsOfOneRequest(t *testing.T) {
	c := usual()
	c.Check = func(in *TokenizedGenerateReqInput) error {
		if in.SamplingParams.Temperature < 0 {
			return fmt.Errorf("temperature is %g, expected at least 0", in.SamplingParams.Temperature)
		}
		return nil
	}
	b := newBench(t, c, wideLimits)
	bad := ask("bad", 5, 3, 0)
	bad.SamplingParams.Temperature = -1
	b.receive(bad)
	if f := b.got["bad"].finish; f.StatusCode != 400 || f.Message != "temperature is -1, expected at least 0" {
		t.Errorf("finished %+v", f)
	}
	b.receive(ask("a", 5, 3, 0))
	b.receive(ask("b", 6, 3, 10))
	if _, err := b.m.Forward(b.start()); err != nil {
		t.Fatal(err)
	}
	if err := b.s.Finish(b.now, []model.Choice{{Err: fmt.Errorf("no token is left")}, {Token: 3}}); err != nil {
		t.Fatal(err)
	}
	b.take()
	if f := b.got["a"].finish; f == nil || f.StatusCode != 500 || f.Message != "no token is left" {
		t.Errorf("finished %+v", f)
	}
	b.run()
	if f := b.got["b"].finish; f.Type != FinishLength {
		t.Errorf("the other request finished with %+v", f)
	}
	b.empty()
}

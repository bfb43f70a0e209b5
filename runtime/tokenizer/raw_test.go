package tokenizer

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"
)

// TestAppendText: text that is whole, and how many bytes are left for later.
func TestAppendText(t *testing.T) {
	for _, c := range []struct {
		in, want string
		held     int
	}{
		{"", "", 0},
		{"a€", "a€", 0},
		{"a\xe2", "a", 1},
		{"a\xe2\x82", "a", 2},
		{"\xf0\x9f\x98", "", 3},
		{"\xf0\x9f\x98\x80", "😀", 0},
		{"\xf0\x9f\x98A", "�A", 0},
		{"\xf0\x9f\xf0\x9f", "�", 2},
		{"a\x80", "a�", 0},
		{"\xff", "�", 0},
		{"\xe0\x80", "��", 0},
		{"\xed\xa0", "��", 0},
		{"\xf4\x90", "��", 0},
		{"\xef\xbf", "", 2},
		{"\x80\x80\x80\xc3", "���", 1},
	} {
		got, held := AppendText([]byte("é"), []byte(c.in))
		if string(got) != "é"+c.want || held != c.held {
			t.Errorf("%x: got %q and %d held, want %q and %d", c.in, got, held, "é"+c.want, c.held)
		}
	}
}

// FuzzAppendText cuts bytes in two. Text in parts is the text of the whole, and
// what is held is what some continuation makes a character of.
func FuzzAppendText(f *testing.F) {
	f.Add([]byte("a€\xf0\x9f\x98\x80\xff"), uint8(5))
	f.Add([]byte("\xe0\x80\xed\xa0\xf4\x90\xc3"), uint8(3))
	f.Fuzz(func(t *testing.T, raw []byte, at uint8) {
		cut := min(int(at), len(raw))
		text, held := AppendText(nil, raw[:cut])
		if tail := raw[cut-held : cut]; held > 0 && !unfinishedSlowly(tail) {
			t.Fatalf("%x: held %x, which begins no character", raw[:cut], tail)
		}
		for n := held + 1; n < 4 && n <= cut; n++ {
			if unfinishedSlowly(raw[cut-n : cut]) {
				t.Fatalf("%x: held %d bytes, but %x begins a character", raw[:cut], held, raw[cut-n:cut])
			}
		}
		rest := slices.Concat(raw[cut-held:cut], raw[cut:])
		text, held = AppendText(text, rest)
		if held > 0 {
			text = append(text, "�"...)
		}
		if want := replaceSlowly(raw); !bytes.Equal(text, want) {
			t.Fatalf("%x cut at %d: got %q, want %q", raw, cut, text, want)
		}
	})
}

// unfinishedSlowly tries continuations: a second byte of 80, 90 or a0 is allowed
// after every lead byte, a later one of 80 always.
func unfinishedSlowly(p []byte) bool {
	for _, next := range []string{"\x80", "\x90", "\xa0"} {
		for _, tail := range []string{"", "\x80", "\x80\x80"} {
			if c := append(bytes.Clone(p), next+tail...); utf8.Valid(c) && utf8.RuneCount(c) == 1 {
				return true
			}
		}
	}
	return false
}

// TestAppendBytes: the pieces of a random vocabulary joined, special ones only
// where they are wanted, ids outside as id 0, and AppendDecode's text of them.
func TestAppendBytes(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		vocab := make([]Token, 1+rng.IntN(9))
		for i := range vocab {
			vocab[i] = Token{ID: int64(2 * i), Bytes: make([]byte, rng.IntN(4)), Special: rng.IntN(3) == 0}
			for k := range vocab[i].Bytes {
				vocab[i].Bytes[k] = []byte("a\xf0\x9f\x98\x80\xc3\xff")[rng.IntN(7)]
			}
		}
		b, err := NewBytes(vocab)
		if err != nil {
			t.Fatal(err)
		}
		skip := rng.IntN(2) == 0
		var ids []int64
		var want []byte
		for range rng.IntN(12) {
			id := rng.Int64N(int64(2*len(vocab)+2)) - 1
			piece := vocab[0]
			if id >= 0 && id%2 == 0 && int(id/2) < len(vocab) {
				piece = vocab[id/2]
			}
			ids = append(ids, id)
			if !piece.Special || !skip {
				want = append(want, piece.Bytes...)
			}
		}
		if got := b.AppendBytes([]byte("|"), ids, skip); string(got) != "|"+string(want) {
			t.Fatalf("seed %d: ids %d: got %x, want %x", seed, ids, got, want)
		}
		if got, want := b.AppendDecode(nil, ids, skip, true), replaceSlowly(want); !bytes.Equal(got, want) {
			t.Fatalf("seed %d: ids %d: text %q, want %q", seed, ids, got, want)
		}
	}
}

func TestAppendTextAllocatesNothing(t *testing.T) {
	b, err := NewBytes([]Token{{ID: 0, Bytes: []byte("\xf0\x9f")}, {ID: 1, Bytes: []byte("a")}})
	if err != nil {
		t.Fatal(err)
	}
	raw, text, ids := make([]byte, 0, 64), make([]byte, 0, 64), []int64{0, 1, 0}
	if n := testing.AllocsPerRun(100, func() {
		raw = b.AppendBytes(raw[:0], ids, true)
		text, _ = AppendText(text[:0], raw)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

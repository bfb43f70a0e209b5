package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// fixture is the published vocabulary.
func fixture() []Token {
	return []Token{
		{ID: 0, Bytes: []byte("[UNK]")}, {ID: 1, Bytes: []byte("a")},
		{ID: 2, Bytes: []byte("b")}, {ID: 3, Bytes: []byte("c")},
	}
}

func words(t *testing.T, vocab []Token) *WordLevel {
	t.Helper()
	w, err := NewWordLevel(vocab)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWordLevelDecode(t *testing.T) {
	special := append(fixture(), Token{ID: 90, Bytes: []byte("</s>"), Special: true})
	noZero := []Token{{ID: 7, Bytes: []byte("x")}, {ID: 1 << 40, Bytes: []byte("far")}}
	for _, c := range []struct {
		name  string
		vocab []Token
		ids   []int64
		skip  bool
		want  string
	}{
		{"fixture", fixture(), []int64{1, 2, 3}, true, "a b c"},
		{"nothing", fixture(), nil, true, ""},
		{"outside becomes id 0", fixture(), []int64{1, 4, -1, 1 << 62, 3}, true, "a [UNK] [UNK] [UNK] c"},
		{"special kept", special, []int64{90, 1, 90}, false, "</s> a </s>"},
		{"special dropped with its blank", special, []int64{90, 1, 90, 2}, true, "a b"},
		{"gaps, and no id 0", noZero, []int64{7, 0, 1 << 40, 8}, true, "x far"},
	} {
		got := words(t, c.vocab).AppendDecode([]byte("|"), c.ids, c.skip, true)
		if string(got) != "|"+c.want {
			t.Errorf("%s: ids %d: got %q, want %q", c.name, c.ids, got, "|"+c.want)
		}
	}
}

func TestWordLevelEncode(t *testing.T) {
	w := words(t, fixture())
	ids, err := w.Encode("  a c\tzzz b ")
	if err != nil || !slices.Equal(ids, []int64{1, 3, 0, 2}) {
		t.Errorf("got %d, %v, want [1 3 0 2]", ids, err)
	}
	_, err = words(t, fixture()[1:]).Encode("a zzz")
	if err == nil || !strings.Contains(err.Error(), `word 1, "zzz"`) {
		t.Errorf("without [UNK]: got %v, want an error that names the word", err)
	}
}

func TestVocabularyErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		vocab []Token
		want  string
	}{
		{"empty", nil, "empty vocabulary"},
		{"negative", append(fixture(), Token{ID: -5, Bytes: []byte("n")}), `"n" has id -5`},
		{"twice", append(fixture(), Token{ID: 2, Bytes: []byte("z")}), `id 2 is given twice, to "b" and to "z"`},
		{"half a character", append(fixture(), Token{ID: 9, Bytes: []byte("\xe2\x82")}), "id 9"},
	} {
		_, err := NewWordLevel(c.vocab)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}

// TestLookupAgainstMap holds the sorted slice against a map, over vocabularies
// with and without gaps.
func TestLookupAgainstMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 300 {
		span := int64(1 + rng.IntN(40))
		byID := map[int64]string{}
		var vocab []Token
		for range 1 + rng.IntN(20) {
			id := rng.Int64N(span)
			if _, taken := byID[id]; taken {
				continue
			}
			byID[id] = string(rune('a' + len(vocab)))
			vocab = append(vocab, Token{ID: id, Bytes: []byte(byID[id])})
		}
		w := words(t, vocab)
		for id := int64(-2); id < span+2; id++ {
			want, ok := byID[id]
			if !ok {
				want = byID[0]
			}
			if got := string(w.AppendDecode(nil, []int64{id}, true, true)); got != want {
				t.Fatalf("trial %d, id %d of %v: got %q, want %q", trial, id, byID, got, want)
			}
		}
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	w, ids, buf := words(t, fixture()), []int64{1, 2, 3, 99}, make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { buf = w.AppendDecode(buf[:0], ids, true, true) }); n != 0 {
		t.Errorf("words: %v allocations a call, want 0", n)
	}
	b, err := NewBytes([]Token{{ID: 0, Bytes: []byte("\xf0\x9f")}, {ID: 1, Bytes: []byte("a")}})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { buf = b.AppendDecode(buf[:0], []int64{0, 1, 0}, true, true) }); n != 0 {
		t.Errorf("bytes: %v allocations a call, want 0", n)
	}
}

// TestVocabularyIsCopied: the caller may reuse what it passed in.
func TestVocabularyIsCopied(t *testing.T) {
	vocab := fixture()
	w := words(t, vocab)
	vocab[1].Bytes[0] = 'X'
	vocab[2] = Token{}
	if got := string(w.AppendDecode(nil, []int64{1, 2}, true, true)); got != "a b" {
		t.Errorf("got %q after the caller changed its slice, want %q", got, "a b")
	}
}

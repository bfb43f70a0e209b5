package tokenizer

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// byteVocabulary is the 256 bytes, and specials behind them.
func byteVocabulary(specials ...string) []Token {
	var vocab []Token
	for i := range 256 {
		vocab = append(vocab, Token{ID: int64(i), Bytes: []byte{byte(i)}})
	}
	for i, s := range specials {
		vocab = append(vocab, Token{ID: int64(256 + i), Bytes: []byte(s), Special: true})
	}
	return vocab
}

func byteTokenizer(t testing.TB, specials ...string) *Bytes {
	t.Helper()
	b, err := NewBytes(byteVocabulary(specials...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBytesEncode(t *testing.T) {
	b := byteTokenizer(t, "<s>", "<s>>", "</s>", "")
	for _, c := range []struct {
		text string
		want []int64
	}{
		{"", nil},
		{"ab", []int64{'a', 'b'}},
		{"é", []int64{0xc3, 0xa9}},
		{"\xff\x00", []int64{0xff, 0}},
		{"a<s>b</s>", []int64{'a', 256, 'b', 258}},
		{"<s>>", []int64{257}},
		{"<s>>>", []int64{257, '>'}},
		{"<<s>", []int64{'<', 256}},
		{"<s", []int64{'<', 's'}},
		{"<s><s>", []int64{256, 256}},
	} {
		got, err := b.Encode(c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: got %v, %v, want %v", c.text, got, err, c.want)
		}
	}
}

// A vocabulary need not have every byte: the one that it lacks is named.
func TestBytesEncodeNamesTheByte(t *testing.T) {
	b, err := NewBytes([]Token{{ID: 5, Bytes: []byte("a")}, {ID: 3, Bytes: []byte("a")}, {ID: 9, Bytes: []byte("bb")}})
	if err != nil {
		t.Fatal(err)
	}
	if ids, err := b.Encode("aa"); err != nil || !slices.Equal(ids, []int64{3, 3}) {
		t.Errorf("got %v, %v, want the lower of two ids", ids, err)
	}
	if ids, err := b.Encode("aabb"); err == nil || !strings.Contains(err.Error(), "byte 2 of the text is 0x62") {
		t.Errorf("got %v, %v, want an error that names the byte and its place", ids, err)
	}
}

// encodeSlowly tries every special token at every place.
func encodeSlowly(vocab []Token, text string) []int64 {
	var ids []int64
	for len(text) > 0 {
		best := vocab[text[0]]
		for _, t := range vocab[256:] {
			if strings.HasPrefix(text, string(t.Bytes)) && (!best.Special || len(t.Bytes) > len(best.Bytes)) && len(t.Bytes) > 0 {
				best = t
			}
		}
		ids = append(ids, best.ID)
		text = text[len(best.Bytes):]
	}
	return ids
}

// FuzzBytesEncode: the ids are the twin's, and have the text's bytes.
func FuzzBytesEncode(f *testing.F) {
	f.Add("a<s>\xff<s>><<s", "<s>", "<s>>")
	f.Add("<think></think>", "<think>", "think")
	f.Fuzz(func(t *testing.T, text, one, two string) {
		b := byteTokenizer(t, one, two, "ab")
		ids, err := b.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if want := encodeSlowly(byteVocabulary(one, two, "ab"), text); !slices.Equal(ids, want) {
			t.Fatalf("%q: got %v, want %v", text, ids, want)
		}
		if raw := b.AppendBytes(nil, ids, false); string(raw) != text {
			t.Fatalf("%q: its ids have the bytes %q", text, raw)
		}
		if got, want := b.AppendDecode(nil, ids, false, true), replaceSlowly([]byte(text)); !bytes.Equal(got, want) {
			t.Fatalf("%q: decoded to %q, want %q", text, got, want)
		}
	})
}

// No text has fewer tokens than LeastTokens says, and a text of the longest tokens
// alone has as many.
func TestBytesLeastTokens(t *testing.T) {
	b := byteTokenizer(t, "<s>", "<|im_end|>")
	for text, want := range map[string]int{
		"": 0, "a": 1, "<|im_end|>": 1, "<|im_end|>a": 2, strings.Repeat("<|im_end|>", 7): 7, strings.Repeat("x", 101): 11,
	} {
		ids, err := b.Encode(text)
		if got := b.LeastTokens(text); err != nil || got != want || got > len(ids) {
			t.Errorf("%q: at least %d of %d tokens, %v, want %d", text, got, len(ids), err, want)
		}
	}
}

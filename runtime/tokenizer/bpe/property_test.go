package bpe

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"
)

// less is text without the bytes that tok has no token for, as U+FFFD shows what
// is left of their characters.
func less(tok *Tokenizer, text string) string {
	var out []byte
	for i := range len(text) {
		if tok.bytes[text[i]] >= 0 {
			out = append(out, text[i])
		}
	}
	return string(out)
}

// A text comes back as NFC has it, or as it was, less the bytes without a token.
func TestRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	qwen3, smollm2 := small(t, "qwen3"), small(t, "smollm2")
	for range cases(5000) {
		text := randomText(rng)
		for tok, want := range map[*Tokenizer]string{qwen3: twinNFC(text), smollm2: less(smollm2, text)} {
			ids, err := tok.Encode(text)
			if err != nil {
				t.Fatalf("%+q: %v", text, err)
			}
			if got := string(tok.AppendBytes(nil, ids, false)); got != want {
				t.Fatalf("%+q comes back as %+q, want %+q", text, got, want)
			}
			if got := string(tok.AppendDecode(nil, ids, false, false)); utf8.ValidString(want) && got != want {
				t.Fatalf("%+q comes back as the text %+q, want %+q", text, got, want)
			}
		}
	}
	if less(smollm2, "\x04") != "" || less(qwen3, "\x04") != "\x04" {
		t.Error("the vocabularies have not the bytes that they should have")
	}
}

// twinNFC is nfc of what lies between Qwen3's added tokens, found one by one.
func twinNFC(text string) string {
	at, which := len(text), ""
	for _, a := range []string{"<|im_end|>", "<|im_start|>", "<think>"} {
		if i := strings.Index(text, a); i >= 0 && i < at {
			at, which = i, a
		}
	}
	if which == "" {
		return string(appendWithout(nil, text))
	}
	return string(appendWithout(nil, text[:at])) + which + twinNFC(text[at+len(which):])
}

// appendWithout is the form NFC by the definition, between newer marks.
func appendWithout(dst []byte, text string) []byte {
	for i, r := range text {
		if unicode.Is(newer, r) {
			dst = appendComposed(dst, text[:i])
			dst = utf8.AppendRune(dst, r)
			return appendWithout(dst, text[i+utf8.RuneLen(r):])
		}
	}
	return appendComposed(dst, text)
}

// Goroutines that share a tokenizer, and its cache, get what one alone gets. The
// race detector watches.
func TestConcurrent(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	texts, want := make([]string, 400), make([][]int64, 400)
	alone := small(t, "smollm2")
	for i := range texts {
		texts[i] = randomText(rng)
		var err error
		if want[i], err = alone.Encode(texts[i]); err != nil {
			t.Fatal(err)
		}
	}
	shared := small(t, "smollm2")
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for k := range 3 * len(texts) {
				i := (k*(g+1) + g) % len(texts)
				if got, err := shared.Encode(texts[i]); err != nil || !slices.Equal(got, want[i]) {
					t.Errorf("%+q: %v, %v, want %v", texts[i], got, err, want[i])
				}
			}
		})
	}
	wait.Wait()
}

// More words than slots: the cache stays as large as it is, gives back only what
// was put in for a word, and takes new words when it is full.
func TestCache(t *testing.T) {
	c := newCache()
	word := func(i int) string { return "w" + strings.Repeat("x", i%7) + string(rune('A'+i%50000)) }
	buffer := []int32{0, 0}
	for i := range 4 * cacheSlots {
		buffer[0], buffer[1] = int32(i), int32(i)
		c.put(word(i), buffer)
		if ids, ok := c.get(word(i)); !ok || ids[0] != int32(i) || ids[1] != int32(i) {
			t.Fatalf("word %d: %v, %v", i, ids, ok)
		}
	}
	buffer[0] = -1
	held := 0
	for i := range cacheSlots {
		if e := c.slots[i].Load(); e != nil {
			held++
			if e.ids[0] < 0 || e.word != word(int(e.ids[0])) {
				t.Fatalf("slot %d has %v for %q", i, e.ids, e.word)
			}
		}
	}
	if held < cacheSlots/2 {
		t.Errorf("%d slots of %d are used", held, cacheSlots)
	}
	long := strings.Repeat("a", cacheWord+1)
	c.put(long, buffer)
	if _, ok := c.get(long); ok {
		t.Error("a long word was kept")
	}
	if _, ok := c.get("never put"); ok {
		t.Error("a word that was not put is there")
	}
}

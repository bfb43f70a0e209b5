package bpe

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// greedy is a tokenizer of bytes with an added token that takes the blanks around it.
func greedy(nfc bool) *Tokenizer {
	d := &definition{tokens: map[string]int32{}, nfc: nfc, steps: []splitter{words(gpt2)}}
	for i, r := range letters {
		d.tokens[string(r)] = int32(i)
	}
	d.added = []added{{id: 300, content: "<|im_end|>", left: true, right: true, normalized: nfc}}
	t, err := d.build()
	if err != nil {
		panic(err)
	}
	return t
}

// No text has fewer tokens than LeastTokens says, with bytes that are left out, tokens
// that take blanks, and characters that NFC makes shorter.
func TestLeastTokens(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for name, tok := range map[string]*Tokenizer{"qwen3": small(t, "qwen3"), "smollm2": small(t, "smollm2"), "blanks": greedy(false), "blanks and NFC": greedy(true)} {
		texts := []string{"", "a", strings.Repeat("\u212a", 50), strings.Repeat("\u1fbe\u0308\u0301", 50), strings.Repeat(" ", 500) + "<|im_end|>" + strings.Repeat("\n\u3000", 500), strings.Repeat("\x04\xf1\x80\x80\x80", 99)}
		for range cases(3000) {
			texts = append(texts, randomText(rng))
		}
		for _, text := range texts {
			ids, err := tok.Encode(text)
			if err != nil {
				continue // no UTF-8
			}
			if n := tok.LeastTokens(text); n > len(ids) || n < 0 {
				t.Fatalf("%s: %+q has %d tokens, said to be at least %d", name, text, len(ids), n)
			}
		}
		// It is worth something: letters are counted, whatever the vocabulary.
		if n, least := tok.LeastTokens(strings.Repeat("a", 1_000_000)), 1_000_000/nfcShrinks/tok.least.longest; n < least {
			t.Errorf("%s: a million letters are at least %d tokens, want %d or more (longest %d)", name, n, least, tok.least.longest)
		}
	}
}

// NFC makes no text shorter than a quarter: what it joins to a character is, of each
// part, at most the longest text that stands for that part alone, and all of these
// together are at most four times the character.
func TestNFCShrinksToAQuarterAtMost(t *testing.T) {
	parts, alone := map[rune]string{}, map[rune]int{}
	for r := range rune(utf8.MaxRune + 1) {
		if !utf8.ValidRune(r) {
			continue
		}
		parts[r] = norm.NFD.String(string(r))
		if whole := []rune(parts[r]); len(whole) == 1 {
			alone[whole[0]] = max(alone[whole[0]], utf8.RuneLen(r))
		}
	}
	most := 0.0
	for r, all := range parts {
		if norm.NFC.String(string(r)) != string(r) {
			continue // it does not come out of NFC
		}
		bytes := 0
		for _, part := range all {
			bytes += alone[part]
		}
		most = max(most, float64(bytes)/float64(utf8.RuneLen(r)))
	}
	if most <= nfcShrinks-1 || most > nfcShrinks {
		t.Errorf("text may be %g times as long as its form NFC, want that rounded up to %d", most, nfcShrinks)
	}
}

package bpe

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// appendComposed, by the definition, and package norm agree where that does not
// cut runs of marks.
func TestNFCTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	changed := 0
	for range cases(20000) {
		text := randomText(rng)
		want := norm.NFC.String(text)
		if strings.Count(want, "\u034f") != strings.Count(text, "\u034f") {
			continue
		}
		if got := string(appendComposed([]byte("e"), text)); got != "e"+want {
			t.Fatalf("%+q: %+q, want %+q", text, got[1:], want)
		}
		if want != text {
			changed++
		}
	}
	if changed < cases(2000) {
		t.Errorf("only %d texts were changed", changed)
	}
}

// Every character of Unicode 15 has the form that package norm gives it, and so
// has its decomposition, but for what is newer than Unicode 9.
func TestNFCCharacters(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		if unicode.Is(newer, r) || r == 0x11938 || r >= 0xd800 && r <= 0xdfff {
			continue
		}
		for _, text := range []string{string(r), norm.NFD.String(string(r)), "q" + string(r) + "\u0334"} {
			if got, want := nfc(text), norm.NFC.String(text); got != want {
				t.Errorf("%+q: %+q, want %+q", text, got, want)
			}
			if got, want := string(appendComposed(nil, text)), norm.NFC.String(text); got != want {
				t.Errorf("%+q by the definition: %+q, want %+q", text, got, want)
			}
		}
	}
}

// Marks without end are put in order, and nothing is put between them. A newer
// mark is a letter.
func TestNFCMarks(t *testing.T) {
	for _, c := range [][2]string{
		{"e" + strings.Repeat("\u0301\u0316", 40), "\u00e9" + strings.Repeat("\u0316", 40) + strings.Repeat("\u0301", 39)},
		{strings.Repeat("\u0f73", 40), strings.Repeat("\u0f71", 40) + strings.Repeat("\u0f72", 40)},
		{"q\u0345\u07fd\u0334", "q\u0345\u07fd\u0334"},
		{"e\u0301\u07fde\u0301", "\u00e9\u07fd\u00e9"},
		{"\U00011935\U00011930e\u0301", "\U00011935\U00011930\u00e9"},
		{"", ""},
	} {
		if got := nfc(c[0]); got != c[1] {
			t.Errorf("%+q: %+q, want %+q", c[0], got, c[1])
		}
	}
}

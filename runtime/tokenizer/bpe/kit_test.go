package bpe

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func newInUnicode16(r rune) bool {
	return unicode.In(r, letters16, numbers16, numbers17) || !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.C)
}

// alphabets are characters that the splitters, NFC or the merges tell apart.
var alphabets = [][]rune{
	[]rune("abcdefg ABC"),
	[]rune("0123²Ⅷ٣ .,"),
	[]rune(" \t\n\r\u00a0\u2003\u0085\v"),
	[]rune("'sStTrReEvVmMlLdDſ x"),
	[]rune("e\u0300\u0301\u0316\u0323\u0334\u0345\u0344\u0f73\u07fd"),
	[]rune("你好世界가\u1112\u1161\u11ab日本か\u3099"),
	[]rune("😀👍🏽\u200d\ufe0f🇵🇱"),
	[]rune("<|im_end|>think/"),
	[]rune("aab "),
}

// randomText is a text of a few runs, each of one alphabet, or of any characters.
func randomText(rng *rand.Rand) string {
	var out strings.Builder
	for range 1 + rng.IntN(8) {
		which := rng.IntN(len(alphabets) + 2)
		for range []int{1, 2, 3, 5, 8, 40}[rng.IntN(6)] {
			switch r := rune(rng.IntN(0x110000)); {
			case which < len(alphabets):
				out.WriteRune(alphabets[which][rng.IntN(len(alphabets[which]))])
			case which == len(alphabets):
				out.WriteString([]string{"<|im_end|>", "<think>", " the", "ing", "    ", "<|im_start|"}[rng.IntN(6)])
			case utf8.ValidRune(r):
				out.WriteRune(r)
			}
		}
	}
	return out.String()
}

// cases is n, or a fifth under the race detector (-short): one goroutine makes them.
func cases(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

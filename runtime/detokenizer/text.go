package detokenizer

import (
	"bytes"
	"unicode/utf8"
)

// replacement is U+FFFD: at the end of a decoded text it may be half a character.
var replacement = []byte("�")

// countRunes is utf8.RuneCount for text that is UTF-8. That one, inlined, has
// been seen to allocate a string of longer text (Go 1.26).
func countRunes(text []byte) int {
	n := 0
	for _, c := range text {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}

// skipRunes returns text behind its first n characters, empty if it has fewer.
func skipRunes(text []byte, n int) []byte {
	for ; n > 0 && len(text) > 0; n-- {
		_, size := utf8.DecodeRune(text)
		text = text[size:]
	}
	return text
}

// printable returns the part of text that later ids will hardly change: SGLang's
// find_printable_text, which took it from transformers' TextStreamer.
func printable(text []byte) []byte {
	if bytes.HasSuffix(text, []byte("\n")) {
		return text
	}
	last, size := utf8.DecodeLastRune(text)
	if isCJK(last) {
		return text
	}
	rest := text[:len(text)-size]
	if secondLast, _ := utf8.DecodeLastRune(rest); isCJK(secondLast) {
		return rest
	}
	return text[:bytes.LastIndexByte(text, ' ')+1]
}

// cjk are the ranges of transformers' _is_chinese_char: Han alone, neither kana
// nor hangul.
var cjk = [...][2]rune{
	{0x4e00, 0x9fff}, {0x3400, 0x4dbf}, {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
	{0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf}, {0xf900, 0xfaff}, {0x2f800, 0x2fa1f},
}

func isCJK(r rune) bool {
	if r < 0x3400 {
		return false
	}
	for _, c := range cjk {
		if r >= c[0] && r <= c[1] {
			return true
		}
	}
	return false
}

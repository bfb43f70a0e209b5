package bpe

import (
	"cmp"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// nfc brings text to the form NFC of Unicode 9, that of the library followed. A
// mark that is newer is a letter like any other there: it is not moved, nothing
// is joined with it or moved across it, so text is cut before and behind it.
func nfc(text string) string {
	if norm.NFC.IsNormalString(text) {
		return text // by Unicode 15, and so by 9
	}
	out := make([]byte, 0, len(text)+len(text)/8)
	start := 0
	for i, r := range text {
		if unicode.Is(newer, r) {
			out = appendNFC(out, text[start:i])
			start = i + utf8.RuneLen(r)
			out = append(out, text[i:start]...)
		}
	}
	return string(appendNFC(out, text[start:]))
}

// longest is how many marks in a row are left to package norm. That would cut a
// run of more than 30 with U+034F; one mark is at most two when it is taken
// apart, and a letter before it brings at most three.
const longest = 12

// appendNFC appends the form NFC of text to dst.
func appendNFC(dst []byte, text string) []byte {
	marks := 0 // in a row
	for i := 0; i < len(text); {
		p := norm.NFD.PropertiesString(text[i:])
		i += p.Size()
		if p.LeadCCC() == 0 {
			marks = 0
			continue
		}
		if marks++; marks > longest {
			return appendComposed(dst, text)
		}
	}
	// AppendString would join the text with the end of dst.
	return append(dst, norm.NFC.String(text)...)
}

// mark is a character with its combining class, 0 for one that stands alone.
type mark struct {
	r     rune
	class uint8
}

// appendComposed is appendNFC by the definition (Unicode 16.0, section 3.11),
// for marks without end.
func appendComposed(dst []byte, text string) []byte {
	for _, m := range composed(ordered(text)) {
		dst = utf8.AppendRune(dst, m.r)
	}
	return dst
}

// ordered takes text apart and puts each run of marks in the order of their classes.
func ordered(text string) []mark {
	var out []mark
	start := 0 // where the run of marks at the end begins
	end := func() {
		slices.SortStableFunc(out[start:], func(a, b mark) int { return cmp.Compare(a.class, b.class) })
	}
	for _, r := range text {
		for _, part := range norm.NFD.String(string(r)) {
			m := mark{part, norm.NFD.PropertiesString(string(part)).CCC()}
			if m.class == 0 {
				end()
				start = len(out) + 1
			}
			out = append(out, m)
		}
	}
	end()
	return out
}

// composed joins what was taken apart: a character with the last one before it
// of class 0, unless one between them has as high a class.
func composed(in []mark) []mark {
	out := in[:0]
	first := -1 // where the last one of class 0 is
	for _, m := range in {
		last := len(out) - 1
		if first >= 0 && (first == last || out[last].class < m.class) {
			if r, ok := pair(out[first].r, m.r); ok {
				out[first].r = r
				continue
			}
		}
		if m.class == 0 {
			first = len(out)
		}
		out = append(out, m)
	}
	return out
}

// pair is the character that a and b are together, if there is one.
func pair(a, b rune) (rune, bool) {
	s := norm.NFC.String(string(a) + string(b))
	r, n := utf8.DecodeRuneInString(s)
	return r, n == len(s)
}

// newer has the marks that have a class other than 0 in Unicode 15 and none in
// 9, and U+11930, which joins U+11935 in 15 only.
var newer = table(
	0x07fd, 0x07fd, 0x0898, 0x089f, 0x08ca, 0x08d3, 0x09fe, 0x09fe, 0x0c3c, 0x0c3c,
	0x0d3b, 0x0d3c, 0x0eba, 0x0eba, 0x1715, 0x1715, 0x1abf, 0x1ace, 0x1df6, 0x1dfa,
	0xa82c, 0xa82c, 0x10d24, 0x10d27, 0x10eab, 0x10eac, 0x10efd, 0x10eff, 0x10f46, 0x10f50,
	0x10f82, 0x10f85, 0x11070, 0x11070, 0x1133b, 0x1133b, 0x1145e, 0x1145e, 0x11839, 0x1183a,
	0x11930, 0x11930, 0x1193d, 0x1193e, 0x11943, 0x11943, 0x119e0, 0x119e0, 0x11a34, 0x11a34,
	0x11a47, 0x11a47, 0x11a99, 0x11a99, 0x11d42, 0x11d42, 0x11d44, 0x11d45, 0x11d97, 0x11d97,
	0x11f41, 0x11f42, 0x16ff0, 0x16ff1, 0x1e08f, 0x1e08f, 0x1e130, 0x1e136, 0x1e2ae, 0x1e2ae,
	0x1e2ec, 0x1e2ef, 0x1e4ec, 0x1e4ef,
)

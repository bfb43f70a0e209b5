package bpe

import (
	"unicode"
	"unicode/utf8"
)

// class is what the patterns tell characters apart by.
type class int8

const (
	none    class = iota // behind the text's end
	other                // [^\s\p{L}\p{N}]
	letter               // \p{L}
	number               // \p{N}
	space                // \s but the two below
	newline              // \r and \n
)

// ascii has the classes of single bytes.
var ascii [utf8.RuneSelf]class

func init() {
	for b := range ascii {
		ascii[b] = classOf(rune(b))
	}
}

func classOf(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return newline
	case unicode.IsSpace(r):
		return space
	case unicode.IsLetter(r) || unicode.Is(letters16, r):
		return letter
	case unicode.IsNumber(r) || unicode.Is(numbers16, r):
		return number
	}
	return other
}

// isNumeric is what Digits takes for a digit.
func isNumeric(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= '0' && r <= '9'
	}
	return unicode.IsNumber(r) || unicode.Is(numbers16, r) || unicode.Is(numbers17, r)
}

// at gives the class of the character at s[i] and its length in bytes.
func at(s string, i int) (class, int) {
	if i >= len(s) {
		return none, 0
	}
	if s[i] < utf8.RuneSelf {
		return ascii[s[i]], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return classOf(r), n
}

// run is where the characters of class c that begin at s[i] end.
func run(s string, i int, c class) int {
	for {
		k, n := at(s, i)
		if k != c {
			return i
		}
		i += n
	}
}

// The characters that Go 1.26's Unicode 15 lacks. A Go of a later Unicode has
// them twice, which does no harm; TestEveryCharacter tells when it has more.
var (
	letters16 = table(
		0x1c89, 0x1c8a, 0xa7cb, 0xa7cd, 0xa7da, 0xa7dc, 0x105c0, 0x105f3, 0x10d4a, 0x10d65,
		0x10d6f, 0x10d85, 0x10ec2, 0x10ec4, 0x11380, 0x11389, 0x1138b, 0x1138b, 0x1138e, 0x1138e,
		0x11390, 0x113b5, 0x113b7, 0x113b7, 0x113d1, 0x113d1, 0x113d3, 0x113d3, 0x11bc0, 0x11be0,
		0x13460, 0x143fa, 0x16100, 0x1611d, 0x16d40, 0x16d6c, 0x18cff, 0x18cff, 0x1e5d0, 0x1e5ed,
		0x1e5f0, 0x1e5f0, 0x2ebf0, 0x2ee5d,
	)
	numbers16 = table(
		0x10d40, 0x10d49, 0x116d0, 0x116e3, 0x11bf0, 0x11bf9, 0x16130, 0x16139, 0x16d70, 0x16d79,
		0x1ccf0, 0x1ccf9, 0x1e5f1, 0x1e5fa,
	)
	numbers17 = table(0x11de0, 0x11de9, 0x16ff4, 0x16ff6)
)

// table makes a table of the ranges with these first and last characters.
func table(bounds ...uint32) *unicode.RangeTable {
	var t unicode.RangeTable
	for i := 0; i < len(bounds); i += 2 {
		low, high := bounds[i], bounds[i+1]
		if high <= 0xffff {
			t.R16 = append(t.R16, unicode.Range16{Lo: uint16(low), Hi: uint16(high), Stride: 1})
		} else {
			t.R32 = append(t.R32, unicode.Range32{Lo: low, Hi: high, Stride: 1})
		}
	}
	return &t
}

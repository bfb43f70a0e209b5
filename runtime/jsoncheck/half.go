package jsoncheck

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// HalfCharacter finds an escape that is half of a character (a surrogate without the other one) in valid
// JSON, and gives it as it is written; nil: there is none.
func HalfCharacter(valid []byte) []byte {
	const escape = len(`\uXXXX`)
	for at := 0; ; {
		next := bytes.IndexByte(valid[at:], '\\')
		if next < 0 {
			return nil
		}
		at += next
		first := surrogate(valid[at:])
		switch {
		case valid[at+1] != 'u':
			at += 2
		case first == 0:
			at += escape
		case utf16.DecodeRune(first, surrogate(valid[at+escape:])) == utf8.RuneError:
			return valid[at : at+escape]
		default:
			at += 2 * escape
		}
	}
}

// surrogate is the one that an escape at the beginning of b stands for, or 0.
func surrogate(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil || !utf16.IsSurrogate(rune(n)) {
		return 0
	}
	return rune(n)
}

package jinja

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The forms of numbers in Jinja.
var (
	floats   = regexp.MustCompile(`^(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?[eE][+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)`)
	integers = regexp.MustCompile(`^(?:0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0[xX](?:_?[0-9a-fA-F])+|[1-9](?:_?\d)*|0(?:_?0)*)`)
)

// number reads an int or a float. What follows a dot, as in x.0, is an int.
func (l *lexer) number() error {
	begin := l.at
	rest := l.source[begin:]
	if form := floats.FindString(rest); form != "" && (begin == 0 || l.source[begin-1] != '.') {
		f, err := parseFloat(strings.ReplaceAll(form, "_", ""))
		l.at += len(form)
		l.add(number, form, f, begin)
		return err
	}
	form := integers.FindString(rest)
	l.at += len(form)
	v, err := parseInt(strings.ReplaceAll(form, "_", ""), 0)
	l.add(number, form, v, begin)
	return err
}

// parseFloat reads a float; one that is too large is infinite, as in Python.
func parseFloat(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && (f > 1 || f < -1) {
		return f, nil
	}
	return f, err
}

// mostDigits is Python's limit for making an int of text, or text of an int.
const mostDigits = 4300

// parseInt reads an int, *big.Int where it does not fit.
func parseInt(s string, base int) (value, error) {
	if n, err := strconv.ParseInt(s, base, 64); err == nil {
		return n, nil
	}
	if len(s) > mostDigits {
		return nil, fmt.Errorf("an integer has %d digits, expected at most %d", len(s), mostDigits)
	}
	n, fine := new(big.Int).SetString(s, base)
	if !fine {
		return nil, fmt.Errorf("%q is no integer", s)
	}
	return n, nil
}

// text reads a string with Python's escapes.
func (l *lexer) text() error {
	begin := l.at
	quote := l.source[begin]
	for i := begin + 1; i < len(l.source); i++ {
		switch l.source[i] {
		case '\\':
			i++
		case quote:
			s, err := unescape(l.source[begin+1 : i])
			l.at = i + 1
			l.add(text, "", s, begin)
			return err
		}
	}
	return fmt.Errorf("a string has no end %c", quote)
}

var escapes = map[byte]string{
	'\n': "", '\\': "\\", '\'': "'", '"': "\"", 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
}

// unescape resolves Python's escapes; one that Python does not know stays as it is.
func unescape(s string) (string, error) {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		c := s[i+1] // a string does not end within an escape
		s = s[i+2:]
		plain, known := escapes[c]
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		switch {
		case known:
			b.WriteString(plain)
		case c >= '0' && c <= '7':
			n := 0
			for n < 2 && n < len(s) && s[n] >= '0' && s[n] <= '7' {
				n++
			}
			code, err := strconv.ParseUint(string(c)+s[:n], 8, 32)
			if err != nil {
				return "", err
			}
			b.WriteRune(rune(code))
			s = s[n:]
		case digits > 0:
			if len(s) < digits {
				return "", fmt.Errorf(`the escape \%c has less than %d digits`, c, digits)
			}
			code, err := strconv.ParseUint(s[:digits], 16, 32)
			if err != nil || !utf8.ValidRune(rune(code)) || code > utf8.MaxRune {
				return "", fmt.Errorf(`the escape \%c%s is no character`, c, s[:digits])
			}
			b.WriteRune(rune(code))
			s = s[digits:]
		case c == 'N':
			return "", fmt.Errorf(`the escape \N is not supported`)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
}

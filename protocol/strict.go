package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// decodeStrict reads exactly one JSON value into v, refusing keys that v does
// not have, and text that encoding/json would repair.
func decodeStrict(raw []byte, v any) error {
	if err := wholeText(raw); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than one JSON value, the second before byte %d", d.InputOffset())
	}
	return nil
}

// wholeText refuses what encoding/json reads as U+FFFD without a word: bytes
// that are no UTF-8, and escapes of half a surrogate pair. A row whose text was
// damaged on the way would otherwise equal one that rightly holds U+FFFD.
func wholeText(raw []byte) error {
	if !utf8.Valid(raw) {
		return fmt.Errorf("byte %d is not UTF-8", invalidAt(raw))
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		r := escaped(raw[i:])
		switch {
		case !utf16.IsSurrogate(r):
			i++ // what is escaped may be a backslash
		case utf16.DecodeRune(r, escaped(raw[i+len(`\uXXXX`):])) == utf8.RuneError:
			return fmt.Errorf("the escape %s at byte %d is half a character", raw[i:i+len(`\uXXXX`)], i)
		default:
			i += 2*len(`\uXXXX`) - 1
		}
	}
	return nil
}

func invalidAt(raw []byte) int {
	i := 0
	for {
		r, size := utf8.DecodeRune(raw[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
}

// escaped is the code unit of the escape \uXXXX that b begins with, or 0.
func escaped(b []byte) rune {
	if len(b) < len(`\uXXXX`) || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(b[2:len(`\uXXXX`)]), 16, 16)
	if err != nil {
		return 0 // the JSON reader says what is wrong
	}
	return rune(n)
}

package jsoncheck

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// Each doubled key is named with its place, and what looks like one is none.
func TestDoubledKey(t *testing.T) {
	long := strings.Repeat("x", 200)
	for data, want := range map[string]string{
		`{"a":1,"a":1}`: `the key "a" is given twice at the top`,
		`{"a":{"b":1},"c":[0,[{"d":{}},{"e":1,"e":2}]]}`:          `the key "e" is given twice in c[1][1]`,
		`{"model":{"vocab":{"x":1,"y":[],"x":2}}}`:                `the key "x" is given twice in model.vocab`,
		`{"a b":{"":{"c":{},"d":[],"c":[]}}}`:                     `the key "c" is given twice in ["a b"][""]`,
		`[{"a":1},{"b":null,"b":"b"}]`:                            `the key "b" is given twice in [1]`,
		`{"a":1,"\u0061":2}`:                                      `the key "a" is given twice at the top`,
		`{"` + long + `":{"a":1,"a":2}}`:                          `the key "a" is given twice in ["` + long[:100] + `"]`,
		`{"a":"{\"b\":1,\"b\":2}","A":{"a":{"a":["a","a","a"]}}}`: "",
		`[{"a":1},{"a":1},{},{}]`:                                 "",
		`{"a":1,"c":{"a":1},"b":{"a":1}}`:                         "",
		`"a"`:                                                     "",
		` 1.5e400 `:                                               "",
		`{} {"a":1,"a":1}`:                                        "", // behind the value
	} {
		err := DoubledKey([]byte(data))
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %q", data, err, want)
		}
	}
}

// keys counts what the decoded value has.
func keys(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, inner := range v {
			n += keys(inner)
		}
	case []any:
		for _, inner := range v {
			n += keys(inner)
		}
	}
	return n
}

// colons counts those outside of strings.
func colons(data []byte) int {
	n, inside := 0, false
	for i := 0; i < len(data); i++ {
		switch {
		case data[i] == '"':
			inside = !inside
		case inside && data[i] == '\\':
			i++
		case !inside && data[i] == ':':
			n++
		}
	}
	return n
}

// A doubled key is found exactly where the decoded value has fewer keys than the text has colons.
func FuzzDoubledKey(f *testing.F) {
	for _, seed := range []string{`{"a":1,"a":2}`, `{"a":[{"b":{},"c":"\\\":"}]}`, `[[{"x":{"y":1}},{"x":{"z":1,"z":2}}]]`, `{"\ud800":1,"\ud801":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if json.Unmarshal(data, &v) != nil {
			return
		}
		if err, want := DoubledKey(data), keys(v) < colons(data); (err != nil) != want {
			t.Fatalf("%q: %v, want an error: %v", data, err, want)
		}
	})
}

// units are the UTF-16 of a JSON string, escape by escape.
func units(quoted string) []uint16 {
	var out []uint16
	for s := quoted[1 : len(quoted)-1]; s != ""; {
		switch {
		case strings.HasPrefix(s, `\u`):
			n, err := strconv.ParseUint(s[2:6], 16, 16)
			if err != nil {
				panic(err)
			}
			out, s = append(out, uint16(n)), s[6:]
		case s[0] == '\\':
			out, s = append(out, uint16(s[1])), s[2:]
		default:
			r, n := utf8.DecodeRuneInString(s)
			out, s = utf16.AppendRune(out, r), s[n:]
		}
	}
	return out
}

// whole says whether every surrogate of the units has its other half.
func whole(units []uint16) bool {
	for i := 0; i < len(units); i++ {
		if !utf16.IsSurrogate(rune(units[i])) {
			continue
		}
		if i+1 == len(units) || utf16.DecodeRune(rune(units[i]), rune(units[i+1])) == utf8.RuneError {
			return false
		}
		i++
	}
	return true
}

func TestHalfCharacter(t *testing.T) {
	for data, want := range map[string]string{
		`"\ud83d\ude00 \\ud83d \u00e9"`: "", `["\\\ud83d\ude00","\ud83d"]`: `\ud83d`, `"\uDE00\ud83d"`: `\uDE00`, `{"\ud83dx\ude00":1}`: `\ud83d`,
		`"\ud83d\ud83d\ude00"`: `\ud83d`, `"\ud83d\n"`: `\ud83d`, `"a"`: "", `1`: "", `"\ud83d"`: `\ud83d`,
	} {
		if got := string(HalfCharacter([]byte(data))); got != want {
			t.Errorf("%s: %q, want %q", data, got, want)
		}
	}
}

// An escape is found exactly where the string's UTF-16 has a surrogate alone. No character that stands in
// the text as it is can be one: JSON is UTF-8.
func FuzzHalfCharacter(f *testing.F) {
	for _, seed := range []string{`"\ud83d\ude00"`, `"\\ud83d"`, `"\uD83D\\ude00"`, `"x\udfff\ud800y"`, `"😀\ud83d\u0041"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, quoted string) {
		if len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' || !utf8.ValidString(quoted) || !json.Valid([]byte(quoted)) {
			return
		}
		if got, want := HalfCharacter([]byte(quoted)) == nil, whole(units(quoted)); got != want {
			t.Fatalf("%s: whole %v, want %v", quoted, got, want)
		}
	})
}

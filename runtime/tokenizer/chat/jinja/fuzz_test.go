package jinja

import (
	"errors"
	"testing"
	"unicode/utf8"
)

// Whatever a template and a chat are: no panic, no endless run, an *Error or text that is UTF-8, and the
// same again the second time.
func FuzzTemplate(f *testing.F) {
	for i, c := range readGolden(f, "testdata/language.json").Cases {
		if i%5 == 0 { // all of them and the endless ones are run before the fuzzing begins, for longer than it may take
			f.Add(c.Template, `[{"role":"user","content":"hi"}]`)
		}
	}
	f.Add(`{{ m[0].content }}`, `[{"content":[1,2.5,{"a":null}]}]`)
	f.Fuzz(func(t *testing.T, source, chat string) {
		m, err := FromJSON([]byte(chat))
		if err != nil {
			return
		}
		parsed, err := Parse("t", source)
		var fault *Error
		if err != nil {
			if !errors.As(err, &fault) || fault.Line < 1 {
				t.Fatalf("%q: %v is no *Error with a line", source, err)
			}
			return
		}
		vars := map[string]Value{"m": m, "messages": m, "s": Text(chat), "t": Truth(true), "l": Elements([]Value{m, m}), "d": m, "n": {}}
		limits := Limits{Steps: 20_000, Bytes: 1 << 20}
		first, err := parsed.Render(vars, limits, clock)
		if err != nil && !errors.As(err, &fault) {
			t.Fatalf("%q: %v is no *Error", source, err)
		}
		if utf8.ValidString(chat) && !utf8.ValidString(first) {
			t.Fatalf("%q renders %q, which is not UTF-8", source, first)
		}
		second, again := parsed.Render(vars, limits, clock)
		if first != second || (err == nil) != (again == nil) {
			t.Fatalf("%q: %q, %v and then %q, %v", source, first, err, second, again)
		}
	})
}

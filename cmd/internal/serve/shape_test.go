package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// A shape says what a JSON value must be, itself in JSON. A word is a type: string,
// int, number, bool, null, any, or several with | between; a word that begins with = is
// that string. An object has exactly the keys of its shape, but that those with a ? at
// their end may be absent. [S] is a list of any length whose values are S, [S, S, ...]
// is one of exactly these.

// mismatch is where v is not of the shape, or "".
func mismatch(shape, v any, at string) string {
	switch s := shape.(type) {
	case string:
		if literal, is := strings.CutPrefix(s, "="); is && v == literal || !is && ofType(v, strings.Split(s, "|")) {
			return ""
		}
	case []any:
		list, is := v.([]any)
		if !is || len(s) != 1 && len(s) != len(list) {
			break
		}
		for i, one := range list {
			if wrong := mismatch(s[min(i, len(s)-1)], one, fmt.Sprintf("%s[%d]", at, i)); wrong != "" {
				return wrong
			}
		}
		return ""
	case map[string]any:
		object, is := v.(map[string]any)
		if !is {
			break
		}
		return keyMismatch(s, object, at)
	}
	got, _ := json.Marshal(v)      // it came from JSON
	want, _ := json.Marshal(shape) // likewise
	return fmt.Sprintf("%s is %.200s, want %s", at, got, want)
}

func keyMismatch(shape, object map[string]any, at string) string {
	known := map[string]bool{}
	for key, want := range shape {
		name, optional := strings.CutSuffix(key, "?")
		if name == "*" {
			continue
		}
		known[name] = true
		v, has := object[name]
		if !has && !optional {
			return fmt.Sprintf("%s has no %s", at, name)
		}
		if has {
			if wrong := mismatch(want, v, at+"."+name); wrong != "" {
				return wrong
			}
		}
	}
	_, open := shape["*"]
	for key := range object {
		if !known[key] && !open {
			return fmt.Sprintf("%s has %s, want no such key", at, key)
		}
	}
	return ""
}

func ofType(v any, types []string) bool {
	is := func(name string) bool { return slices.Contains(types, name) || slices.Contains(types, "any") }
	switch v := v.(type) {
	case nil:
		return is("null")
	case string:
		return is("string")
	case bool:
		return is("bool")
	case float64:
		return is("number") || is("int") && v == math.Trunc(v)
	}
	return is("")
}

// matches fails the test where text is not of the shape.
func matches(t *testing.T, shape, text string) {
	t.Helper()
	var want, got any
	if err := json.Unmarshal([]byte(shape), &want); err != nil {
		t.Fatalf("the shape %s: %v", shape, err)
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	if wrong := mismatch(want, got, ""); wrong != "" {
		t.Errorf("%s; the answer is %.600s", wrong, text)
	}
}

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		shape, value, wrong string
	}{
		{`"int"`, `1`, ""}, {`"int"`, `1.5`, ` is 1.5, want "int"`}, {`"number|null"`, `null`, ""}, {`"string"`, `null`, ` is null, want "string"`},
		{`"=a"`, `"a"`, ""}, {`"=a"`, `"b"`, ` is "b", want "=a"`}, {`"any"`, `[1,{}]`, ""}, {`"bool"`, `"x"`, ` is "x", want "bool"`},
		{`{"a":"int","b?":"int"}`, `{"a":1}`, ""}, {`{"a":"int"}`, `{}`, " has no a"}, {`{"a":"int"}`, `{"a":1,"c":2}`, " has c, want no such key"},
		{`{"b?":"int"}`, `{"b":null}`, `.b is null, want "int"`}, {`{"a":"int"}`, `[]`, ` is [], want {"a":"int"}`},
		{`["int"]`, `[]`, ""}, {`["int"]`, `[1,2,"x"]`, `[2] is "x", want "int"`}, {`["int","null"]`, `[1,null]`, ""}, {`["int","null"]`, `[1]`, ` is [1], want ["int","null"]`},
	} {
		var shape, value any
		if err := json.Unmarshal([]byte("["+c.shape+","+c.value+"]"), &[]any{&shape, &value}); err != nil {
			t.Fatal(err)
		}
		if got := mismatch(shape, value, ""); got != c.wrong {
			t.Errorf("%s of %s: %q, want %q", c.value, c.shape, got, c.wrong)
		}
	}
}

package jinja

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"
)

// golden is what scripts/jinja_golden.py wrote.
type golden struct {
	Variables map[string]json.RawMessage
	Cases     []struct {
		Template string
		Text     *string
		Error    string // the Python class
		Message  string // of an error while rendering
		Line     int    // of an error in the source
	}
}

func readGolden(t testing.TB, path string) golden {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func variables(t testing.TB, raw map[string]json.RawMessage) map[string]Value {
	t.Helper()
	out := map[string]Value{}
	for name, r := range raw {
		v, err := FromJSON(r)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = v
	}
	return out
}

// clock is the time at which the goldens were made.
func clock() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC) }

func render(source string, vars map[string]Value, limits Limits) (string, error) {
	t, err := Parse("chat_template.jinja", source)
	if err != nil {
		return "", err
	}
	return t.Render(vars, limits, clock)
}

// known are templates that fail on purpose where Python renders: the package documentation says why.
var known = map[string]string{
	`{{ {1: 2} }}`: "a key of a dict is int, expected str: others are not supported",
}

// Every part of the language renders as by Python's jinja2; what fails there fails here, with the
// same message for what templates raise and for what is undefined, and at the same line.
func TestLanguage(t *testing.T) {
	g := readGolden(t, "testdata/language.json")
	vars := variables(t, g.Variables)
	for _, c := range g.Cases {
		got, err := render(c.Template, vars, Bounds)
		var fault *Error
		if err != nil && !errors.As(err, &fault) {
			t.Errorf("%q: error %v is no *Error", c.Template, err)
			continue
		}
		why, different := known[c.Template]
		switch {
		case different && (err == nil || fault.Message != why):
			t.Errorf("%q: got %q, %v, want the error %q", c.Template, got, err, why)
		case different:
		case c.Text != nil && (err != nil || got != *c.Text):
			t.Errorf("%q:\n got %q, %v\nwant %q", c.Template, got, err, *c.Text)
		case c.Text == nil && err == nil:
			t.Errorf("%q: got %q, want an error like Python's %s: %s", c.Template, got, c.Error, c.Message)
		case c.Error == "UndefinedError" && fault.Message != c.Message || c.Error == "TemplateError" && (fault.Message != c.Message || !fault.Raised):
			t.Errorf("%q: got %+v, want the message %q", c.Template, fault, c.Message)
		case c.Line != 0 && fault.Line != c.Line:
			t.Errorf("%q: got %v, want line %d", c.Template, fault, c.Line)
		}
	}
	if len(g.Cases) < 200 {
		t.Errorf("%d cases, expected more", len(g.Cases))
	}
}

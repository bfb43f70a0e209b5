package jinja

import (
	"strings"
	"testing"
)

// endless are templates that would not end, or make text without end, or go ever deeper.
var endless = map[string]string{
	`{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}`:                                                                "within each other too deep",
	`{% macro f(a) %}{{ g(a) }}{% endmacro %}{% macro g(a) %}{{ f([a]) }}{% endmacro %}{{ f(1) }}`:                   "within each other too deep",
	`{% macro f(a=f()) %}x{% endmacro %}{{ f() }}`:                                                                   "within each other too deep",
	`{% macro f() %}{{ caller() }}{% call f() %}x{% endcall %}{% endmacro %}{% call f() %}y{% endcall %}`:            "within each other too deep",
	`{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}`:                                                        "within each other too deep",
	`{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}`:                                 "too many steps",
	`{% for a in range(99999) %}{% for b in range(99999) if false %}{% endfor %}{% endfor %}`:                        "too many steps",
	`{% for a in 'x' * 99999 %}{{ range(99999)|sum }}{% endfor %}`:                                                   "too many steps",
	`{% for a in range(99999) %}{{ 'a' in ('b' * 99999) }}{% endfor %}`:                                              "too",
	`{% set n = namespace(s='x') %}{% for a in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}`:                    "too much text",
	`{% set n = namespace(s='x') %}{% for a in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}`:                    "too much text",
	`{% set n = namespace(s=[1]) %}{% for a in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}`:                    "too many steps",
	`{% set n = namespace(s='ab') %}{% for a in range(99) %}{% set n.s = n.s.replace('a', n.s) %}{% endfor %}`:       "too much text",
	`{% set n = namespace(s='ab') %}{% for a in range(99) %}{% set n.s = n.s.join([n.s, n.s, n.s]) %}{% endfor %}`:   "too much text",
	`{% set n = namespace(s='x') %}{% for a in range(99) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s }}`:          "too",
	`{% set n = namespace(s='x') %}{% for a in range(99) %}{% set n.s = [n.s, n.s] %}{% endfor %}{{ n.s|tojson }}`:   "too",
	`{% set n = namespace(s=[]) %}{% for a in range(99999) %}{% set n.s = [n.s] %}{% endfor %}{{ n.s }}`:             "within each other too deep",
	`{% set n = namespace(s=[]) %}{% for a in range(99999) %}{% set n.s = [n.s] %}{% endfor %}{{ n.s|tojson }}`:      "within each other too deep",
	`{% set n = namespace(s=[]) %}{% for a in range(99999) %}{% set n.s = [n.s] %}{% endfor %}{{ n.s == n.s }}`:      "within each other too deep",
	`{% set n = namespace(s=[]) %}{% for a in range(99999) %}{% set n.s = [n.s] %}{% endfor %}{{ [n.s, n.s]|sort }}`: "within each other too deep",
	`{% set n = namespace() %}{% set n.s = [n] %}{{ n }}`:                                                            "within each other too deep",
	`{{ 'x' * 9999999999 }}`:                        "too much text",
	`{{ 9223372036854775807 * 'xx' }}`:              "too much text",
	`{{ [1] * 9999999999 }}`:                        "too many steps",
	`{{ 'x'.ljust(9999999999) }}`:                   "too much text",
	`{{ 'x'.zfill(9223372036854775807) }}`:          "too much text",
	`{{ 'x'|center(9999999999) }}`:                  "too much text",
	`{{ 'a\nb'|indent(9999999999) }}`:               "too much text",
	`{{ [1]|tojson(indent=999999999) }}`:            "too much text",
	`{{ ('\n' * 9999)|indent(99999, blank=true) }}`: "too much text",
	`{{ range(99999)|slice(99999)|list|map('list')|list|map('join', 'x' * 999)|join('x' * 9999) }}`:                      "too much text",
	`{{ range(99999)|map('string')|map('replace', '1', 'x' * 99999)|list|length }}`:                                      "too much text",
	`{% set n = namespace(s='x') %}{% for a in range(99) %}{% set n.s = '%s%s' % (n.s, n.s) %}{% endfor %}`:              "too much text",
	`{% set n = namespace(s='{0}{0}{0}') %}{% for a in range(99) %}{% set n.s = n.s.format(n.s) %}{% endfor %}`:          "too much text",
	`{% set n = namespace(s='x') %}{% for a in range(99) %}{% set n.s %}{{ n.s }}{{ n.s }}{% endset %}{% endfor %}`:      "too much text",
	`{% for a in range(99999) %}{% for b in range(999) %}x{% endfor %}{% endfor %}`:                                      "too",
	`{{ range(99999)|batch(2)|list|map('map', 'string')|list|map('list')|list|sort|unique|list|length }}{{ 2 ** 9999 }}`: "",
}

// A template that would not end is stopped, within a bounded number of steps and bytes.
func TestEndless(t *testing.T) {
	limits := Limits{Steps: 1_000_000, Bytes: 4 << 20}
	for source, want := range endless {
		got, err := render(source, nil, limits)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %d bytes, %v, want an error: %s", source, len(got), err, want)
		}
	}
}

// What source nests is bounded before anything runs.
func TestNestedSource(t *testing.T) {
	const n = 5000
	for _, source := range []string{
		"{{ " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) + " }}",
		"{{ " + strings.Repeat("[", n) + strings.Repeat("]", n) + " }}",
		"{{ " + strings.Repeat("{'a':", n) + "1" + strings.Repeat("}", n) + " }}",
		"{{ " + strings.Repeat("not ", n) + "1 }}",
		"{{ " + strings.Repeat("-", n) + "1 }}",
		"{{ " + strings.Repeat("a[", n) + strings.Repeat("]", n) + " }}",
		"{{ " + strings.Repeat("f(", n) + strings.Repeat(")", n) + " }}",
		"{{ 1" + strings.Repeat(" if 1 else 1", n) + " }}",
		"{% set " + strings.Repeat("(", n) + "a" + strings.Repeat(")", n) + " = 1 %}",
		strings.Repeat("{% if 1 %}", n) + strings.Repeat("{% endif %}", n),
		strings.Repeat("{% for a in b %}", n) + strings.Repeat("{% endfor %}", n),
	} {
		if _, err := Parse("t", source); err == nil || !strings.Contains(err.Error(), "nested more than 100 deep") {
			t.Errorf("%.40s: %v, want nested too deep", source, err)
		}
	}
	for _, source := range []string{
		"{{ 1" + strings.Repeat(" + 1", n) + " }}", "{{ 'a'" + strings.Repeat("|upper", n) + " }}", "{{ a" + strings.Repeat(".a", n) + " }}",
		"{{ 1" + strings.Repeat(" and 1", n) + " }}",
	} {
		if _, err := render(source, nil, Bounds); err == nil || !strings.Contains(err.Error(), "too deep") {
			t.Errorf("%.40s: %v, want too deep", source, err)
		}
	}
	if got, err := render("{{ 1"+strings.Repeat(" ~ 1", n)+" }}", nil, Bounds); err != nil || len(got) != n+1 {
		t.Errorf("a long concatenation: %d bytes, %v", len(got), err)
	}
	if _, err := Parse("t", strings.Repeat("x", mostSource+1)); err == nil {
		t.Error("a template of more than 1 MiB was taken")
	}
}

// Values that cannot be are refused with their place, not changed.
func TestFromJSON(t *testing.T) {
	for source, want := range map[string]string{
		`{"b":1,"a":[1.0,-0,1e2,null,true,"\u00e9\ud83d\ude00"],"b":2}`: `{"b": 2, "a": [1.0, 0, 100.0, null, true, "é😀"]}`,
		`12345678901234567890123`: `12345678901234567890123`,
		`-9223372036854775808`:    `-9223372036854775808`,
		`1e999`:                   `Infinity`,
		`"x"`:                     `"x"`,
		strings.Repeat("[", 500) + strings.Repeat("]", 500): strings.Repeat("[", 500) + strings.Repeat("]", 500),
	} {
		v, err := FromJSON([]byte(source))
		if err != nil {
			t.Errorf("%.60s: %v", source, err)
			continue
		}
		if got, err := render("{{ v|tojson }}", map[string]Value{"v": v}, Bounds); err != nil || got != want {
			t.Errorf("%.60s: got %.80s, %v, want %.80s", source, got, err, want)
		}
	}
	for source, want := range map[string]string{
		`{"a":1} x`: "something behind it", `[1,]`: "invalid character", ``: "EOF", `{"a"`: "EOF", `1 2`: "something behind it",
		`{"a":["\ud83d\ude00 \ud83d"]}`: `JSON with \ud83d, half of a character, expected both halves`, `{"\uDE00":1}`: `JSON with \uDE00`,
		strings.Repeat("[", 600) + strings.Repeat("]", 600): "nested more than 500 deep", strings.Repeat("9", 5000): "5000 digits",
	} {
		if _, err := FromJSON([]byte(source)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", source, err, want)
		}
	}
}

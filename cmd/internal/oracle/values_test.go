package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestSame(t *testing.T) {
	const tolerance = timeTolerance
	for _, test := range []struct {
		a, b      string
		tolerance float64
		want      bool
	}{
		{`null`, ``, 0, true}, {`null`, `0`, 0, false}, {`null`, `""`, 0, false}, {`null`, `{}`, 0, false}, {`null`, `[]`, 0, false},
		{`true`, ` true `, 0, true}, {`true`, `false`, 0, false}, {`true`, `1`, 0, false},
		{`1`, `1.0`, 0, true}, {`1`, `1e0`, 0, true}, {`100`, `1E+2`, 0, true}, {`1`, `2`, 0, false}, {`0.1`, `0.10`, 0, true},
		{`0`, `-0`, 0, true}, {`0`, `-0.0`, 0, true}, {`1`, `-1`, 0, false}, {`1`, `"1"`, 0, false},
		{`0.1`, `0.1000000000000000055`, 0, true}, {`0.1`, `0.10000000000000002`, 0, false},
		{`9007199254740993`, `9007199254740992`, 0, false}, {`9007199254740993`, `9007199254740993`, 0, true},
		{`9007199254740993`, `9007199254740992.0`, 0, false}, {`9007199254740992`, `9007199254740992.0`, 0, true},
		{`18446744073709551615`, `18446744073709551616.0`, 0, false}, {`1` + strings.Repeat("0", 22), `1e22`, 0, true},
		{`"9007199254740993"`, `9007199254740993`, 0, false}, {`"9007199254740993"`, `"9007199254740993"`, 0, true},
		{`1e999`, `1e999`, 0, true}, {`1e999`, `1E999`, 0, false}, {`1e999`, `1e998`, 0, false}, {`1e-999`, `0`, 0, true},
		{strings.Repeat("9", 500), strings.Repeat("9", 499) + "8", 0, false},
		{`"a"`, `"\u0061"`, 0, true}, {`"😀"`, `"\ud83d\ude00"`, 0, true}, {`"é"`, `"e\u0301"`, 0, false}, {`"/"`, `"\/"`, 0, true},
		{`[1,2]`, `[ 1 , 2.0 ]`, 0, true}, {`[1,2]`, `[2,1]`, 0, false}, {`[1]`, `[1,null]`, 0, false}, {`[]`, `{}`, 0, false}, {`[[]]`, `[]`, 0, false},
		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1}`, 0, true}, {`{"a":1}`, `{"A":1}`, 0, false},
		{`{"a":null}`, `{}`, 0, false}, {`{"a":null}`, `{"b":null}`, 0, false}, {`{"a":1}`, `{"a":1,"b":2}`, 0, false},
		{`{"$f":"nan"}`, `{"$f": "nan"}`, 0, true}, {`{"$f":"inf"}`, `{"$f":"-inf"}`, 0, false}, {`{"$f":"nan"}`, `"nan"`, 0, false},
		{`{"$b64":"AAE="}`, `{"$b64":"AAE="}`, 0, true}, {`{"$b64":"AAE="}`, `{"$b64":"AAI="}`, 0, false}, {`{"$b64":"AAE="}`, `"AAE="`, 0, false},

		// Times: below a key that ends so, numbers alone, not deeper.
		{`{"x_time":1.8e9}`, `{"x_time":1800000000.000004}`, tolerance, true}, {`{"x_time":1.8e9}`, `{"x_time":1800000000.000006}`, tolerance, false},
		{`{"x_time":1.8e9}`, `{"x_time":1800000000.000004}`, 0, false}, {`{"time":1.0}`, `{"time":1.000001}`, tolerance, false},
		{`{"x_time":12}`, `{"x_time":12.000004}`, tolerance, true}, {`{"x_time":12}`, `{"x_time":12}`, tolerance, true}, {`{"x_time":12}`, `{"x_time":13}`, tolerance, false},
		{`{"x_time":-0.000002}`, `{"x_time":0.000002}`, tolerance, true}, {`{"x_time":null}`, `{"x_time":0.0}`, tolerance, false},
		{`{"x_time":[1.0]}`, `{"x_time":[1.000001]}`, tolerance, false}, {`{"x_time":{"y":1.0}}`, `{"x_time":{"y":1.000001}}`, tolerance, false},
		{`{"y":{"x_time":1.0}}`, `{"y":{"x_time":1.000001}}`, tolerance, true}, {`{"y":[{"x_time":1.0}]}`, `{"y":[{"x_time":1.000001}]}`, tolerance, true},
		{`{"x_time":1.0,"y":1.0}`, `{"x_time":1.000001,"y":1.000001}`, tolerance, false}, {`{"x_times":1.0}`, `{"x_times":1.000001}`, tolerance, false},
		{`1.0`, `1.000001`, tolerance, false}, {`{"x_time":1e999}`, `{"x_time":1e998}`, tolerance, false},

		{`{`, `{ `, 0, false}, {`1 2`, `1`, 0, false}, {`1`, `1]`, 0, false}, {`nan`, `NaN`, 0, false},
	} {
		for _, pair := range [][2]string{{test.a, test.b}, {test.b, test.a}} {
			if got := Same([]byte(pair[0]), []byte(pair[1]), test.tolerance); got != test.want {
				t.Errorf("%.80s and %.80s within %v: got %t, want %t", pair[0], pair[1], test.tolerance, got, test.want)
			}
		}
	}
}

// wild writes a value in any of the ways JSON has for it, keys in map order,
// which Go shuffles.
func wild(rng *rand.Rand, v any) string {
	blank := strings.Repeat(" ", rng.IntN(2))
	var parts []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			parts = append(parts, wild(rng, e))
		}
		return "[" + blank + strings.Join(parts, blank+",") + "]"
	case map[string]any:
		for k, e := range v {
			parts = append(parts, wild(rng, k)+blank+":"+wild(rng, e))
		}
		return "{" + strings.Join(parts, ","+blank) + blank + "}"
	case string:
		out := blank + `"`
		for _, r := range v {
			if rng.IntN(3) == 0 || r < ' ' || r == '"' || r == '\\' {
				out += fmt.Sprintf(`\u%04x`, r)
			} else {
				out += string(r)
			}
		}
		return out + `"` + blank
	case float64:
		formats := "gef"
		s := strconv.FormatFloat(v, formats[rng.IntN(3)], -1, 64)
		if !strings.ContainsAny(s, ".e") && rng.IntN(2) == 0 {
			s += ".0"
		}
		return s
	}
	return fmt.Sprintf("%s%v", blank, v) // true or false
}

// tree is a random value.
func tree(rng *rand.Rand, depth int) any {
	switch rng.IntN(4 + 2*depth) {
	case 0:
		return rng.IntN(2) == 0
	case 1:
		return float64(rng.IntN(5)) - 2
	case 2:
		return rng.NormFloat64() * 1e9
	case 3:
		return []string{"", "a", "λ\"\\\n", "$f", "x_time"}[rng.IntN(5)]
	case 4, 6:
		var list []any
		for range rng.IntN(4) {
			list = append(list, tree(rng, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range rng.IntN(4) {
		object[fmt.Sprint("k", rng.IntN(9))] = tree(rng, depth-1)
	}
	return object
}

// TestSameValueWrittenTwice: however a value is written it is the same, and
// another value is not.
func TestSameValueWrittenTwice(t *testing.T) {
	differing := 0
	for seed := range uint64(5000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		v, w := tree(rng, 2), tree(rng, 2)
		a, b, c := wild(rng, v), wild(rng, v), wild(rng, w)
		if !Same([]byte(a), []byte(b), 0) {
			t.Fatalf("seed %d: %s and %s are one value", seed, a, b)
		}
		if equal := equalTwin(a, c); Same([]byte(a), []byte(c), 0) != equal {
			t.Fatalf("seed %d: %s and %s: got %t, want %t", seed, a, c, !equal, equal)
		} else if !equal {
			differing++
		}
	}
	if differing < 1000 {
		t.Errorf("only %d pairs differ", differing)
	}
}

// equalTwin compares by encoding/json's own values.
func equalTwin(a, b string) bool {
	var v, w any
	return json.Unmarshal([]byte(a), &v) == nil && json.Unmarshal([]byte(b), &w) == nil && reflect.DeepEqual(v, w)
}

// inexact finds integers that a float64 may not hold.
var inexact = regexp.MustCompile(`[0-9]{16}`)

func FuzzSame(f *testing.F) {
	for _, pair := range [][2]string{
		{`{"a":[1,2.5,null],"b_time":1e3}`, `{"b_time":1000,"a":[1.0,25e-1,null]}`}, {`"\u00e9"`, `"é"`}, {`{"a":1,"a":2}`, `{"a":2}`},
		{`-0`, `0.0`}, {`[1`, `[1]`}, {`1 `, `1 1`}, {`{"$f":"inf"}`, `{"$f":"inf"}`},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		got := Same([]byte(a), []byte(b), 0)
		if got != Same([]byte(b), []byte(a), 0) {
			t.Fatalf("%s and %s: not the same both ways", a, b)
		}
		if got && !Same([]byte(a), []byte(b), timeTolerance) {
			t.Fatalf("%s and %s: the same, but not within a tolerance", a, b)
		}
		var v any
		numbers := json.Unmarshal([]byte(a), &v) == nil && json.Unmarshal([]byte(b), &v) == nil // not so beyond float64
		if !numbers && (a == b || json.Valid([]byte(a)) && json.Valid([]byte(b)) || a == "" || b == "") {
			return
		}
		if want := equalTwin(a, b); !inexact.MatchString(a+" "+b) && got != want {
			t.Fatalf("%s and %s: got %t, want %t", a, b, got, want)
		}
	})
}

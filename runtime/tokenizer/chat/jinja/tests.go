package jinja

import (
	"fmt"
	"strings"
)

func fillTests() {
	tests = map[string]test{
		"boolean":     kindTest("bool"),
		"callable":    kindTest("function", "Undefined"),
		"defined":     func(_ *state, v value, _ args) (value, error) { return typeName(v) != "Undefined", nil },
		"undefined":   kindTest("Undefined"),
		"none":        kindTest("NoneType"),
		"string":      kindTest("str"),
		"mapping":     kindTest("dict"),
		"integer":     kindTest("int"),
		"float":       kindTest("float"),
		"number":      kindTest("bool", "int", "float"),
		"iterable":    kindTest("Undefined", "str", "list", "tuple", "dict", "view", "generator"),
		"sequence":    kindTest("Undefined", "str", "list", "tuple", "dict"),
		"true":        func(_ *state, v value, _ args) (value, error) { return v == value(true), nil },
		"false":       func(_ *state, v value, _ args) (value, error) { return v == value(false), nil },
		"odd":         divided("odd", 1),
		"even":        divided("even", 0),
		"divisibleby": divisibleTest,
		"lower":       caseTest(strings.ToLower),
		"upper":       caseTest(strings.ToUpper),
		"sameas":      sameTest,
		"in":          compareTest("in"),
		"filter":      nameTest(func(s string) bool { return filters[s] != nil }),
		"test":        nameTest(func(s string) bool { return tests[s] != nil }),
	}
	for op, names := range map[string][]string{
		"==": {"==", "eq", "equalto"}, "!=": {"!=", "ne"}, "<": {"<", "lt", "lessthan"}, "<=": {"<=", "le"},
		">": {">", "gt", "greaterthan"}, ">=": {">=", "ge"},
	} {
		for _, n := range names {
			tests[n] = compareTest(op)
		}
	}
}

func kindTest(types ...string) test {
	return func(_ *state, v value, a args) (value, error) {
		t := typeName(v)
		for _, one := range types {
			if t == one {
				return true, nil
			}
		}
		return false, nil
	}
}

func compareTest(op string) test {
	return func(st *state, v value, a args) (value, error) {
		p, err := a.bind("test "+op, "*other")
		if err != nil {
			return nil, err
		}
		holds, err := st.compare(op, v, p[0])
		return holds, err
	}
}

// divided tests the remainder of a division by 2.
func divided(name string, rest int64) test {
	return func(st *state, v value, a args) (value, error) {
		r, err := st.math("%", v, int64(2))
		if err != nil {
			return nil, fmt.Errorf("test %s: %w", name, err)
		}
		same, err := st.equal(r, rest)
		return same, err
	}
}

func divisibleTest(st *state, v value, a args) (value, error) {
	p, err := a.bind("divisibleby", "*num")
	if err != nil {
		return nil, err
	}
	r, err := st.math("%", v, p[0])
	if err != nil {
		return nil, err
	}
	same, err := st.equal(r, int64(0))
	return same, err
}

// caseTest says whether a text is as it would be in one case, and has letters.
func caseTest(to func(string) string) test {
	return func(st *state, v value, _ args) (value, error) {
		s, err := st.str(v)
		if err != nil {
			return nil, err
		}
		other := strings.ToLower(s) != strings.ToUpper(s)
		return other && to(s) == s, st.make(2 * len(s))
	}
}

// sameTest is Python's "is": the same object, of numbers and texts the same value and type.
func sameTest(_ *state, v value, a args) (value, error) {
	p, err := a.bind("sameas", "*other")
	if err != nil {
		return nil, err
	}
	return v == p[0], nil
}

func nameTest(has func(string) bool) test {
	return func(_ *state, v value, _ args) (value, error) {
		s, is := v.(string)
		return is && has(s), nil
	}
}

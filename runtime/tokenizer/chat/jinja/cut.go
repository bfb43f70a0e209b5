package jinja

import (
	"fmt"
	"slices"
	"strings"
)

// pieces is a list of texts, counted.
func (st *state) pieces(texts []string) (value, error) {
	out := make([]value, len(texts))
	n := 0
	for i, t := range texts {
		out[i] = t
		n += len(t)
	}
	if err := st.spend(len(out)); err != nil {
		return nil, err
	}
	return &list{plainList, out}, st.make(n)
}

// splitArgs reads sep and maxsplit; blank: sep is None, cut at blanks; most is negative for no bound.
func splitArgs(name string, a args) (sep string, blank bool, most int64, err error) {
	p, err := a.bind(name, "sep", "maxsplit")
	if err != nil {
		return "", false, 0, err
	}
	if blank = !given(p[0]) || p[0] == nil; !blank {
		if sep, err = textOr(name, p[0], ""); err == nil && sep == "" {
			err = fmt.Errorf("empty separator")
		}
	}
	if err == nil {
		most, err = intOr(name, p[1], -1)
	}
	return sep, blank, most, err
}

func splitMethod(st *state, s string, a args) (value, error) {
	sep, blank, most, err := splitArgs("split", a)
	if err != nil {
		return nil, err
	}
	if blank {
		return st.pieces(splitBlank(s, most))
	}
	if most < 0 || most > int64(len(s)) {
		most = int64(len(s)) + 1
	}
	return st.pieces(strings.SplitN(s, sep, int(most)+1))
}

// splitBlank cuts at blanks at most so many times, from the left.
func splitBlank(s string, most int64) []string {
	var out []string
	for s = strings.TrimLeftFunc(s, space); s != ""; s = strings.TrimLeftFunc(s, space) {
		end := strings.IndexFunc(s, space)
		if most >= 0 && int64(len(out)) == most {
			return append(out, s)
		}
		if end < 0 {
			return append(out, s)
		}
		out = append(out, s[:end])
		s = s[end:]
	}
	return out
}

func rsplitMethod(st *state, s string, a args) (value, error) {
	sep, blank, most, err := splitArgs("rsplit", a)
	if err != nil {
		return nil, err
	}
	if blank {
		if most >= 0 {
			return nil, fmt.Errorf("rsplit() with maxsplit and without sep is not supported")
		}
		return st.pieces(splitBlank(s, -1))
	}
	var out []string
	for most < 0 || int64(len(out)) < most {
		i := strings.LastIndex(s, sep)
		if i < 0 {
			break
		}
		out = append(out, s[i+len(sep):])
		s = s[:i]
	}
	out = append(out, s)
	slices.Reverse(out)
	return st.pieces(out)
}

// lineEnds are the code points that end a line for Python's splitlines.
const lineEnds = "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

func splitlines(st *state, s string, a args) (value, error) {
	p, err := a.bind("splitlines", "keepends")
	if err != nil {
		return nil, err
	}
	keep := given(p[0]) && truth(p[0])
	var out []string
	for s != "" {
		end := strings.IndexAny(s, lineEnds)
		if end < 0 {
			out = append(out, s)
			break
		}
		next := end + len(string([]rune(s[end:min(end+4, len(s))])[0]))
		if strings.HasPrefix(s[end:], "\r\n") {
			next = end + 2
		}
		if keep {
			out = append(out, s[:next])
		} else {
			out = append(out, s[:end])
		}
		s = s[next:]
	}
	return st.pieces(out)
}

func parter(name string, find func(s, sep string) int) strMethod {
	return func(st *state, s string, a args) (value, error) {
		p, err := a.bind(name, "*sep")
		if err != nil {
			return nil, err
		}
		sep, err := textOr(name, p[0], "")
		if err == nil && sep == "" {
			err = fmt.Errorf("empty separator")
		}
		if err != nil {
			return nil, err
		}
		parts := []value{s, "", ""}
		if i := find(s, sep); i >= 0 {
			parts = []value{s[:i], sep, s[i+len(sep):]}
		} else if name == "rpartition" {
			parts = []value{"", "", s}
		}
		return &list{tuple, parts}, st.make(len(s))
	}
}

// replaced is s with old replaced at most n times, all where n is negative.
func (st *state) replaced(s, old, by string, n int64) (value, error) {
	count := int64(strings.Count(s, old))
	if n >= 0 {
		count = min(count, n)
	}
	if grown := int64(len(s)) + count*int64(len(by)); grown > st.bytes {
		return nil, errBytes
	}
	return st.made(strings.Replace(s, old, by, int(count)))
}

func replaceMethod(st *state, s string, a args) (value, error) {
	p, err := a.bind("replace", "*old", "*new", "count")
	if err != nil {
		return nil, err
	}
	old, err := textOr("replace", p[0], "")
	if err != nil {
		return nil, err
	}
	by, err := textOr("replace", p[1], "")
	if err != nil {
		return nil, err
	}
	n, err := intOr("replace", p[2], -1)
	if err != nil {
		return nil, err
	}
	return st.replaced(s, old, by, n)
}

func countMethod(st *state, s string, a args) (value, error) {
	p, err := a.bind("count", "*sub")
	if err != nil {
		return nil, err
	}
	part, err := textOr("count", p[0], "")
	if err != nil {
		return nil, err
	}
	return int64(strings.Count(s, part)), st.spend(len(s) / 64)
}

func joinMethod(st *state, s string, a args) (value, error) {
	p, err := a.bind("join", "*iterable")
	if err != nil {
		return nil, err
	}
	items, err := st.unpack(p[0])
	if err != nil {
		return nil, err
	}
	for i, item := range items {
		if _, is := item.(string); !is {
			return nil, fmt.Errorf("sequence item %d: expected str instance, %s found", i, typeName(item))
		}
	}
	return st.joined(items, s)
}

// joined is the texts of values with a text between them.
func (st *state) joined(items []value, between string) (value, error) {
	texts := make([]string, len(items))
	n := 0
	for i, item := range items {
		var err error
		if texts[i], err = st.str(item); err != nil {
			return nil, err
		}
		if n += len(texts[i]) + len(between); int64(n) > st.bytes {
			return nil, errBytes
		}
	}
	return strings.Join(texts, between), st.make(n)
}

func zfill(st *state, s string, a args) (value, error) {
	p, err := a.bind("zfill", "*width")
	if err != nil {
		return nil, err
	}
	width, err := intOr("zfill", p[0], 0)
	if err != nil {
		return nil, err
	}
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	fill, err := st.filling("0", width, sign+s)
	return sign + fill + s, err
}

// filling is what a text lacks of a width.
func (st *state) filling(with string, width int64, s string) (string, error) {
	free := width - int64(len([]rune(s)))
	if free <= 0 {
		return "", st.make(len(s))
	}
	if free > st.bytes/4 {
		return "", errBytes
	}
	return strings.Repeat(with, int(free)), st.make(int(free)*len(with) + len(s))
}

// justifier fills a text to a width; left says how much of the filling stands before it.
func justifier(name string, left func(free int) int) strMethod {
	return func(st *state, s string, a args) (value, error) {
		p, err := a.bind(name, "*width", "fillchar")
		if err != nil {
			return nil, err
		}
		width, err := intOr(name, p[0], 0)
		if err != nil {
			return nil, err
		}
		with, err := textOr(name, p[1], " ")
		if err == nil && len([]rune(with)) != 1 {
			err = fmt.Errorf("the fill character must be exactly one character long")
		}
		if err != nil {
			return nil, err
		}
		fill, err := st.filling(with, width, s)
		before := left(len([]rune(fill))) * len(with)
		return fill[:before] + s + fill[before:], err
	}
}

package jinja

import (
	"fmt"
	"slices"
	"strings"
)

// filter makes a value of another one; test says something about one, and gives a bool.
type (
	filter func(st *state, v value, a args) (value, error)
	test   func(st *state, v value, a args) (value, error)
)

// filters and tests are filled at the start: some of them find others by name.
var (
	filters map[string]filter
	tests   map[string]test
)

func init() {
	filters = map[string]filter{
		"abs":        absFilter,
		"attr":       attrFilter,
		"batch":      batchFilter,
		"capitalize": textFilter("capitalize", capitalized),
		"center":     centerFilter,
		"count":      lengthFilter,
		"d":          defaultFilter,
		"default":    defaultFilter,
		"dictsort":   dictsortFilter,
		"e":          textFilter("escape", escaped),
		"escape":     textFilter("escape", escaped),
		"first":      firstFilter,
		"float":      floatFilter,
		"format":     func(st *state, v value, a args) (value, error) { return st.formatted(v, a) },
		"indent":     indentFilter,
		"int":        intFilter,
		"items":      itemsFilter,
		"join":       joinFilter,
		"last":       lastFilter,
		"length":     lengthFilter,
		"list":       listFilter,
		"lower":      textFilter("lower", strings.ToLower),
		"map":        mapFilter,
		"max":        extremeFilter("max", 1),
		"min":        extremeFilter("min", -1),
		"reject":     chooser("reject", false, false),
		"rejectattr": chooser("rejectattr", true, false),
		"replace":    replaceFilter,
		"reverse":    reverseFilter,
		"round":      roundFilter,
		"safe":       textFilter("safe", func(s string) string { return s }),
		"select":     chooser("select", false, true),
		"selectattr": chooser("selectattr", true, true),
		"slice":      sliceFilter,
		"sort":       sortFilter,
		"string":     textFilter("string", func(s string) string { return s }),
		"sum":        sumFilter,
		"title":      textFilter("title", titleWords),
		"tojson":     tojson,
		"trim":       trimFilter,
		"unique":     uniqueFilter,
		"upper":      textFilter("upper", strings.ToUpper),
		"wordcount":  wordcountFilter,
	}
	fillTests()
}

// textFilter is a filter of str(v) without arguments.
func textFilter(name string, do func(string) string) filter {
	return func(st *state, v value, a args) (value, error) {
		if _, err := a.bind(name); err != nil {
			return nil, err
		}
		s, err := st.str(v)
		if err != nil {
			return nil, err
		}
		if err := st.make(len(s)); err != nil {
			return nil, err
		}
		out := do(s)
		return st.made(out)
	}
}

var escapedMarks = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

func escaped(s string) string { return escapedMarks.Replace(s) }

func attrFilter(_ *state, v value, a args) (value, error) {
	p, err := a.bind("attr", "*name")
	if err != nil {
		return nil, err
	}
	name, err := textOr("attr", p[0], "")
	if err != nil {
		return nil, err
	}
	if _, is := v.(*dict); !is {
		return attribute(v, name)
	}
	if f := method(v, name); f != nil {
		return f, nil
	}
	return undefined{fmt.Sprintf("'dict object' has no attribute '%s'", name)}, nil
}

func defaultFilter(_ *state, v value, a args) (value, error) {
	p, err := a.bind("default", "default_value", "boolean")
	if err != nil {
		return nil, err
	}
	if _, is := v.(undefined); !is && (!given(p[1]) || !truth(p[1]) || truth(v)) {
		return v, nil
	}
	if !given(p[0]) {
		return "", nil
	}
	return p[0], nil
}

func (st *state) formatted(v value, a args) (value, error) {
	s, err := st.str(v)
	if err != nil || len(a.plain) == 0 {
		return s, err
	}
	return st.percent(s, &list{tuple, a.plain})
}

func firstFilter(st *state, v value, a args) (value, error) {
	if _, err := a.bind("first"); err != nil {
		return nil, err
	}
	if l, is := v.(*list); is && l.kind == generator && len(l.items) > 0 {
		first := l.items[0]
		l.items = l.items[1:]
		return first, nil
	}
	items, err := st.unpack(v)
	if err != nil || len(items) == 0 {
		return undefined{"No first item, sequence was empty."}, err
	}
	return items[0], nil
}

func lastFilter(st *state, v value, a args) (value, error) {
	if _, err := a.bind("last"); err != nil {
		return nil, err
	}
	if typeName(v) == "generator" {
		return nil, fmt.Errorf("'generator' object is not reversible")
	}
	items, err := st.unpack(v)
	if err != nil || len(items) == 0 {
		return undefined{"No last item, sequence was empty."}, err
	}
	return items[len(items)-1], nil
}

func itemsFilter(st *state, v value, a args) (value, error) {
	if _, err := a.bind("items"); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case undefined:
		return &list{kind: generator}, nil
	case *dict:
		return &list{generator, v.pairs()}, st.spend(len(v.keys))
	}
	return nil, pythons("Can only get item pairs from a mapping.")
}

func joinFilter(st *state, v value, a args) (value, error) {
	p, err := a.bind("join", "d", "attribute")
	if err != nil {
		return nil, err
	}
	between := ""
	if given(p[0]) {
		if between, err = st.str(p[0]); err != nil {
			return nil, err
		}
	}
	items, err := st.unpack(v)
	if err == nil {
		items, err = st.attributes(items, p[1], nil)
	}
	if err != nil {
		return nil, err
	}
	return st.joined(items, between)
}

func lengthFilter(st *state, v value, a args) (value, error) {
	if _, err := a.bind("length"); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case undefined:
		return int64(0), nil
	case string:
		return int64(len([]rune(v))), st.make(len(v))
	case *dict:
		return int64(len(v.keys)), nil
	case *list:
		if v.kind != generator {
			return int64(len(v.items)), nil
		}
	}
	return nil, fmt.Errorf("object of type '%s' has no len()", typeName(v))
}

func listFilter(st *state, v value, a args) (value, error) {
	if _, err := a.bind("list"); err != nil {
		return nil, err
	}
	items, err := st.unpack(v)
	return &list{plainList, slices.Clone(items)}, err
}

func reverseFilter(st *state, v value, a args) (value, error) {
	if _, err := a.bind("reverse"); err != nil {
		return nil, err
	}
	s, text := v.(string)
	if text {
		if err := st.make(len(s)); err != nil {
			return nil, err
		}
		runes := []rune(s)
		slices.Reverse(runes)
		return string(runes), nil
	}
	items, err := st.unpack(v)
	items = slices.Clone(items)
	slices.Reverse(items)
	return &list{generator, items}, err
}

func replaceFilter(st *state, v value, a args) (value, error) {
	p, err := a.bind("replace", "*old", "*new", "count")
	if err != nil {
		return nil, err
	}
	var texts [3]string
	for i, part := range []value{v, p[0], p[1]} {
		if texts[i], err = st.str(part); err != nil {
			return nil, err
		}
	}
	n := int64(-1)
	if p[2] != nil {
		if n, err = intOr("replace", p[2], -1); err != nil {
			return nil, err
		}
	}
	return st.replaced(texts[0], texts[1], texts[2], n)
}

func trimFilter(st *state, v value, a args) (value, error) {
	s, err := st.str(v)
	if err != nil {
		return nil, err
	}
	return strMethods["strip"](st, s, a)
}

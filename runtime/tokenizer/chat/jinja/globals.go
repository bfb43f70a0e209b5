package jinja

import "fmt"

// mostRange is the longest range that Jinja's sandbox makes.
const mostRange = 100_000

// globals are what a template finds without being given it.
var globals = map[string]value{
	"range":           &function{"range", rangeGlobal},
	"dict":            &function{"dict", dictGlobal},
	"namespace":       &function{"namespace", namespaceGlobal},
	"raise_exception": &function{"raise_exception", raiseGlobal},
	"strftime_now":    &function{"strftime_now", strftimeGlobal},
	"cycler":          &function{"cycler", cyclerGlobal},
	"joiner":          &function{"joiner", joinerGlobal},
}

func rangeGlobal(st *state, a args) (value, error) {
	bounds := []int64{0, 0, 1}
	if len(a.plain) < 1 || len(a.plain) > 3 || len(a.named) > 0 {
		return nil, fmt.Errorf("range() takes one to three integers")
	}
	for i, v := range a.plain {
		n, err := intOr("range", v, 0)
		if err != nil {
			return nil, err
		}
		if len(a.plain) == 1 {
			i = 1
		}
		bounds[i] = n
	}
	start, stop, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return nil, fmt.Errorf("range() arg 3 must not be zero")
	}
	out := &list{kind: view}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(out.items) == mostRange {
			return nil, pythons("Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).")
		}
		out.items = append(out.items, i)
		if next := i + step; (next < i) != (step < 0) {
			break // past the last integer
		}
	}
	return out, st.spend(len(out.items))
}

// merged is dict(d, name=value).
func merged(function string, a args) (*dict, error) {
	out := newDict()
	if len(a.plain) > 1 {
		return nil, fmt.Errorf("%s() takes at most one dict and names", function)
	}
	for _, v := range a.plain {
		d, is := v.(*dict)
		if !is {
			return nil, fmt.Errorf("%s() got %s, expected dict", function, typeName(v))
		}
		for _, k := range d.keys {
			out.set(k, d.at[k])
		}
	}
	for _, n := range a.named {
		out.set(n.name, n.v)
	}
	return out, nil
}

func dictGlobal(st *state, a args) (value, error) {
	d, err := merged("dict", a)
	if err != nil {
		return nil, err
	}
	return d, st.spend(len(d.keys))
}

func namespaceGlobal(st *state, a args) (value, error) {
	d, err := merged("namespace", a)
	if err != nil {
		return nil, err
	}
	return &namespace{d}, st.spend(len(d.keys))
}

func raiseGlobal(st *state, a args) (value, error) {
	p, err := a.bind("raise_exception", "*message")
	if err != nil {
		return nil, err
	}
	s, err := st.str(p[0])
	if err != nil {
		return nil, err
	}
	return nil, raised{s}
}

func strftimeGlobal(st *state, a args) (value, error) {
	p, err := a.bind("strftime_now", "*format")
	if err != nil {
		return nil, err
	}
	format, err := textOr("strftime_now", p[0], "")
	if err != nil {
		return nil, err
	}
	s, err := strftime(st.now(), format)
	if err != nil {
		return nil, err
	}
	return st.made(s)
}

// cyclerGlobal gives its arguments one after another, again and again.
func cyclerGlobal(_ *state, a args) (value, error) {
	if len(a.plain) == 0 {
		return nil, fmt.Errorf("at least one item has to be provided")
	}
	at := 0
	out := newDict()
	move := func(to int) {
		at = to % len(a.plain)
		out.set("current", a.plain[at])
	}
	move(0)
	out.set("next", &function{"next", func(*state, args) (value, error) {
		current := a.plain[at]
		move(at + 1)
		return current, nil
	}})
	out.set("reset", &function{"reset", func(*state, args) (value, error) {
		move(0)
		return nil, nil
	}})
	return &namespace{out}, nil
}

// joinerGlobal gives nothing the first time it is called, then its text.
func joinerGlobal(_ *state, a args) (value, error) {
	p, err := a.bind("joiner", "sep")
	if err != nil {
		return nil, err
	}
	sep, err := textOr("joiner", p[0], ", ")
	if err != nil {
		return nil, err
	}
	used := false
	return &function{"joiner", func(*state, args) (value, error) {
		if !used {
			used = true
			return "", nil
		}
		return sep, nil
	}}, nil
}

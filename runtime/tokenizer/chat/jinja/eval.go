package jinja

import (
	"fmt"
	"strings"
)

func newText() *strings.Builder { return &strings.Builder{} }

func (e *literal) eval(*state) (value, error) { return e.v, nil }

func (e *nameExpr) eval(st *state) (value, error) {
	if v, has := st.scope.find(e.name); has {
		return v, nil
	}
	return undefined{fmt.Sprintf("'%s' is undefined", e.name)}, nil
}

func (e *listExpr) eval(st *state) (value, error) {
	items, err := st.evalAll(e.items)
	return &list{e.kind, items}, err
}

func (e *dictExpr) eval(st *state) (value, error) {
	out := newDict()
	for i, k := range e.keys {
		key, err := st.eval(k)
		if err != nil {
			return nil, err
		}
		s, is := key.(string)
		if !is {
			return nil, fmt.Errorf("a key of a dict is %s, expected str: others are not supported", typeName(key))
		}
		v, err := st.eval(e.values[i])
		if err != nil {
			return nil, err
		}
		out.set(s, v)
	}
	return out, nil
}

func (e *attrExpr) eval(st *state) (value, error) {
	of, err := st.eval(e.of)
	if err != nil {
		return nil, err
	}
	return attribute(of, e.name)
}

// attribute is Jinja's of.name: a method or attribute first, an element else.
func attribute(of value, name string) (value, error) {
	switch v := of.(type) {
	case undefined:
		return nil, v.err()
	case *loop:
		if a, has := v.attr(name); has {
			return a, nil
		}
	case *namespace:
		if a, has := v.attrs.at[name]; has {
			return a, nil
		}
	default:
		if f := method(of, name); f != nil {
			return f, nil
		}
		if d, is := of.(*dict); is {
			if a, has := d.at[name]; has {
				return a, nil
			}
		}
	}
	return undefined{fmt.Sprintf("'%s' has no attribute '%s'", objectName(of), name)}, nil
}

func (e *itemExpr) eval(st *state) (value, error) {
	of, err := st.eval(e.of)
	if err != nil {
		return nil, err
	}
	key, err := st.eval(e.key)
	if err != nil {
		return nil, err
	}
	return st.item(of, key)
}

// item is Jinja's of[key]: an element first, for a str a method or attribute else.
func (st *state) item(of, key value) (value, error) {
	if u, is := of.(undefined); is {
		return nil, u.err()
	}
	if s, is := key.(string); is {
		if d, is := of.(*dict); is {
			if v, has := d.at[s]; has {
				return v, nil
			}
		}
		return attribute(of, s)
	}
	if i, is := integer(key); is {
		if v, has, err := st.element(of, i); has || err != nil {
			return v, err
		}
	}
	text, err := st.repr(key)
	return undefined{fmt.Sprintf("%s has no element %s", objectName(of), text)}, err
}

// element is the i-th of a list or a str, from the end where i is negative.
func (st *state) element(of value, i int64) (v value, has bool, err error) {
	switch of := of.(type) {
	case *list:
		if i < 0 {
			i += int64(len(of.items))
		}
		if of.kind != generator && i >= 0 && i < int64(len(of.items)) {
			return of.items[i], true, nil
		}
	case string:
		runes, err := st.runes(of)
		if err != nil {
			return nil, false, err
		}
		if i < 0 {
			i += int64(len(runes))
		}
		if i >= 0 && i < int64(len(runes)) {
			return string(runes[i]), true, nil
		}
	}
	return nil, false, nil
}

// runes are a text's code points, counted as text that is made.
func (st *state) runes(s string) ([]rune, error) {
	if err := st.make(len(s)); err != nil {
		return nil, err
	}
	return []rune(s), nil
}

func (e *sliceExpr) eval(st *state) (value, error) {
	of, err := st.eval(e.of)
	if err != nil {
		return nil, err
	}
	var bounds [3]*int64
	for i, part := range e.parts {
		if part == nil {
			continue
		}
		v, err := st.eval(part)
		if err != nil {
			return nil, err
		}
		n, is := integer(v)
		if !is && v != nil {
			return nil, fmt.Errorf("slice indices must be integers or None, not %s", typeName(v))
		}
		if is {
			bounds[i] = &n
		}
	}
	return st.slice(of, bounds)
}

func (st *state) slice(of value, bounds [3]*int64) (value, error) {
	switch v := of.(type) {
	case undefined:
		return nil, v.err()
	case string:
		runes, err := st.runes(v)
		if err != nil {
			return nil, err
		}
		at, err := sliced(len(runes), bounds)
		out := make([]rune, len(at))
		for i, j := range at {
			out[i] = runes[j]
		}
		return string(out), err
	case *list:
		if v.kind == generator {
			break
		}
		at, err := sliced(len(v.items), bounds)
		out := make([]value, len(at))
		for i, j := range at {
			out[i] = v.items[j]
		}
		if err == nil {
			err = st.spend(len(out))
		}
		return &list{v.kind, out}, err
	}
	return nil, fmt.Errorf("'%s' object is not subscriptable by a slice", typeName(of))
}

// sliced are the places that start:stop:step has of n, as Python counts.
func sliced(n int, bounds [3]*int64) ([]int, error) {
	step := int64(1)
	if bounds[2] != nil {
		step = *bounds[2]
	}
	if step == 0 {
		return nil, fmt.Errorf("slice step cannot be zero")
	}
	low, high := int64(0), int64(n)
	if step < 0 {
		low, high = -1, int64(n)-1
	}
	bound := func(b *int64, otherwise int64) int64 {
		if b == nil {
			return otherwise
		}
		i := *b
		if i < 0 {
			i = max(i, -int64(n)-1) + int64(n)
		}
		return min(max(i, low), high)
	}
	start, stop := bound(bounds[0], low), bound(bounds[1], high)
	if step < 0 {
		start, stop = bound(bounds[0], high), bound(bounds[1], low)
	}
	var out []int
	for i := start; step > 0 && i < stop || step < 0 && i > stop; {
		out = append(out, int(i))
		if step > int64(n) || step < -int64(n) {
			break // the sum may not fit
		}
		i += step
	}
	return out, nil
}

func (e *notExpr) eval(st *state) (value, error) {
	v, err := st.eval(e.of)
	return !truth(v), err
}

func (e *logicExpr) eval(st *state) (value, error) {
	v, err := st.eval(e.left)
	if err != nil || truth(v) == e.or {
		return v, err
	}
	return st.eval(e.right)
}

func (e *condExpr) eval(st *state) (value, error) {
	v, err := st.eval(e.test)
	if err != nil {
		return nil, err
	}
	if truth(v) {
		return st.eval(e.then)
	}
	if e.otherwise == nil {
		return undefined{fmt.Sprintf("the inline if-expression on line %d evaluated to false and no else section was defined.", e.line())}, nil
	}
	return st.eval(e.otherwise)
}

func (e *concatExpr) eval(st *state) (value, error) {
	texts := make([]string, len(e.parts))
	n := 0
	for i, part := range e.parts {
		v, err := st.eval(part)
		if err != nil {
			return nil, err
		}
		if texts[i], err = st.str(v); err != nil {
			return nil, err
		}
		n += len(texts[i])
	}
	if err := st.make(n); err != nil {
		return nil, err
	}
	return strings.Join(texts, ""), nil
}

func (e *compareExpr) eval(st *state) (value, error) {
	left, err := st.eval(e.first)
	if err != nil {
		return nil, err
	}
	for i, op := range e.ops {
		right, err := st.eval(e.rest[i])
		if err != nil {
			return nil, err
		}
		holds, err := st.compare(op, left, right)
		if err != nil || !holds {
			return false, err
		}
		left = right
	}
	return true, nil
}

func (e *mathExpr) eval(st *state) (value, error) {
	left, err := st.eval(e.left)
	if err != nil {
		return nil, err
	}
	right, err := st.eval(e.right)
	if err != nil {
		return nil, err
	}
	return st.math(e.op, left, right)
}

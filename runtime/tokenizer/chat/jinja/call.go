package jinja

import (
	"fmt"
	"slices"
)

// args are a call's arguments.
type args struct {
	plain []value
	named []named
}

type named struct {
	name string
	v    value
}

func (a args) has(name string) bool {
	return slices.ContainsFunc(a.named, func(n named) bool { return n.name == name })
}

// absent stands for an argument that was not given.
type absent struct{}

func given(v value) bool {
	_, is := v.(absent)
	return !is
}

// bind orders arguments by parameters. Those not given are absent; a parameter with a * before it must be given.
func (a args) bind(function string, params ...string) ([]value, error) {
	out := make([]value, len(params))
	for i := range out {
		out[i] = absent{}
	}
	if len(a.plain) > len(params) {
		return nil, fmt.Errorf("%s() takes at most %d arguments, %d given", function, len(params), len(a.plain))
	}
	copy(out, a.plain)
	for _, n := range a.named {
		i := slices.IndexFunc(params, func(p string) bool { return p == n.name || p == "*"+n.name })
		if i < 0 {
			return nil, fmt.Errorf("%s() got an unexpected keyword argument '%s'", function, n.name)
		}
		if given(out[i]) {
			return nil, fmt.Errorf("%s() got two values for argument '%s'", function, n.name)
		}
		out[i] = n.v
	}
	for i, p := range params {
		if p[0] == '*' && !given(out[i]) {
			return nil, fmt.Errorf("%s() lacks the argument '%s'", function, p[1:])
		}
	}
	return out, nil
}

// textOr is an argument that is a str, or the default of one that was not given.
func textOr(function string, v value, otherwise string) (string, error) {
	if !given(v) {
		return otherwise, nil
	}
	s, is := v.(string)
	if u, un := v.(undefined); un {
		return "", u.err()
	}
	if !is {
		return "", fmt.Errorf("%s() got %s, expected str", function, typeName(v))
	}
	return s, nil
}

// intOr is an argument that is an int, or the default of one that was not given.
func intOr(function string, v value, otherwise int64) (int64, error) {
	if !given(v) {
		return otherwise, nil
	}
	n, is := integer(v)
	if u, un := v.(undefined); un {
		return 0, u.err()
	}
	if !is {
		return 0, fmt.Errorf("%s() got %s, expected int", function, typeName(v))
	}
	return n, nil
}

// arguments evaluates those of a call.
func (st *state) arguments(e argExprs) (args, error) {
	var out args
	var err error
	if out.plain, err = st.evalAll(e.plain); err != nil {
		return out, err
	}
	for i, n := range e.names {
		v, err := st.eval(e.named[i])
		if err != nil {
			return out, err
		}
		out.named = append(out.named, named{n, v})
	}
	if e.spread != nil {
		v, err := st.eval(e.spread)
		if err != nil {
			return out, err
		}
		more, err := st.unpack(v)
		if err != nil {
			return out, err
		}
		out.plain = append(out.plain, more...)
	}
	if e.pairs != nil {
		v, err := st.eval(e.pairs)
		if err != nil {
			return out, err
		}
		d, is := v.(*dict)
		if !is {
			return out, fmt.Errorf("argument after ** is %s, expected dict", typeName(v))
		}
		for _, k := range d.keys {
			out.named = append(out.named, named{k, d.at[k]})
		}
	}
	return out, nil
}

// prepare evaluates what is called and its arguments.
func (st *state) prepare(e *callExpr) (*function, args, error) {
	v, err := st.eval(e.fn)
	if err != nil {
		return nil, args{}, err
	}
	if l, is := v.(*loop); is && l.again != nil {
		v = l.again
	}
	switch v := v.(type) {
	case undefined:
		return nil, args{}, v.err()
	case *function:
		a, err := st.arguments(e.args)
		return v, a, err
	}
	return nil, args{}, fmt.Errorf("'%s' object is not callable", typeName(v))
}

func (e *callExpr) eval(st *state) (value, error) {
	f, a, err := st.prepare(e)
	if err != nil {
		return nil, err
	}
	return f.call(st, a)
}

func (e *filterExpr) eval(st *state) (value, error) {
	var v value
	var err error
	if e.of == nil {
		v, _ = st.scope.find(blockText)
	} else if v, err = st.eval(e.of); err != nil {
		return nil, err
	}
	a, err := st.arguments(e.args)
	if err != nil {
		return nil, err
	}
	return e.do(st, v, a)
}

func (e *testExpr) eval(st *state) (value, error) {
	v, err := st.eval(e.of)
	if err != nil {
		return nil, err
	}
	a, err := st.arguments(e.args)
	if err != nil {
		return nil, err
	}
	return e.do(st, v, a)
}

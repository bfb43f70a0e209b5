package jinja

import (
	"fmt"
	"math/big"
	"unicode"
)

// value is one of Python's: nil (None), undefined, bool, int64, *big.Int (an int that does not fit),
// float64, string, *list, *dict, *namespace, *function or *loop. None of them changes, but for a
// namespace's attributes and a generator's use.
type value any

// undefined is what a name, attribute or element that is not there gives; why is the message of what fails.
type undefined struct{ why string }

func (u undefined) err() error { return fmt.Errorf("%s", u.why) }

type listKind uint8

const (
	plainList listKind = iota
	tuple
	view      // of a dict, or a range: can be counted, and used again
	generator // can be used once
)

type list struct {
	kind  listKind
	items []value
}

// take is the elements, which a generator gives once.
func (l *list) take() []value {
	items := l.items
	if l.kind == generator {
		l.items = nil
	}
	return items
}

// dict has keys in the order in which they came.
type dict struct {
	keys []string
	at   map[string]value
}

func newDict() *dict { return &dict{at: map[string]value{}} }

func (d *dict) set(key string, v value) {
	if _, has := d.at[key]; !has {
		d.keys = append(d.keys, key)
	}
	d.at[key] = v
}

func (d *dict) keyValues() []value {
	out := make([]value, len(d.keys))
	for i, k := range d.keys {
		out[i] = k
	}
	return out
}

func (d *dict) values() []value {
	out := make([]value, len(d.keys))
	for i, k := range d.keys {
		out[i] = d.at[k]
	}
	return out
}

func (d *dict) pairs() []value {
	out := make([]value, len(d.keys))
	for i, k := range d.keys {
		out[i] = &list{kind: tuple, items: []value{k, d.at[k]}}
	}
	return out
}

type namespace struct{ attrs *dict }

// function is a global, a method or a macro.
type function struct {
	name string
	call func(st *state, a args) (value, error)
}

// typeName is the name of a value's type in Python.
func typeName(v value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case undefined:
		return "Undefined"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *list:
		return [...]string{"list", "tuple", "view", "generator"}[v.kind]
	case *dict:
		return "dict"
	case *namespace:
		return "Namespace"
	case *loop:
		return "LoopContext"
	}
	return "function"
}

// objectName is how Jinja names a value that lacks something.
func objectName(v value) string {
	if v == nil {
		return "None"
	}
	return typeName(v) + " object"
}

func truth(v value) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *list:
		return v.kind == generator || len(v.items) > 0
	case *dict:
		return len(v.keys) > 0
	}
	return true
}

// integer is a value that counts: an int or a bool.
func integer(v value) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// float is any number as a float; big says that it did not fit an int64.
func float(v value) (f float64, number bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, true
	}
	n, is := integer(v)
	return float64(n), is
}

// space says what Python's str.strip and Jinja's lexer take for blank.
func space(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

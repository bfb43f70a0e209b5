package wire

import (
	"fmt"
)

// codec is how a Go type stands on the wire and as a plain Value. Codecs are
// composed, so that a field's type is said once, in its struct.
type codec[T any] struct {
	kinds     kind // what may stand on the wire; kindNil where null is allowed
	enc       func(w *writer, v T) error
	dec       func(r *reader) (T, error)
	toValue   func(v T) Value
	fromValue func(v Value) (T, error)
}

func badValue(v Value, want string) error {
	if v == nil {
		return fmt.Errorf("got null, want %s", want)
	}
	return fmt.Errorf("got %T, want %s", v, want)
}

var textCodec = codec[string]{
	kinds: kindString,
	enc:   func(w *writer, v string) error { return w.enc.EncodeString(v) },
	dec: func(r *reader) (string, error) {
		if _, err := r.next(kindString); err != nil {
			return "", err
		}
		return r.dec.DecodeString()
	},
	toValue: func(v string) Value { return v },
	fromValue: func(v Value) (string, error) {
		if s, ok := v.(string); ok {
			return s, nil
		}
		return "", badValue(v, "string")
	},
}

var boolCodec = codec[bool]{
	kinds:   kindBool,
	enc:     func(w *writer, v bool) error { return w.enc.EncodeBool(v) },
	dec:     func(r *reader) (bool, error) { return r.dec.DecodeBool() },
	toValue: func(v bool) Value { return v },
	fromValue: func(v Value) (bool, error) {
		if b, ok := v.(bool); ok {
			return b, nil
		}
		return false, badValue(v, "bool")
	},
}

var intCodec = codec[int64]{
	kinds:   kindInt,
	enc:     func(w *writer, v int64) error { return w.enc.EncodeInt(v) },
	dec:     (*reader).int,
	toValue: func(v int64) Value { return v },
	fromValue: func(v Value) (int64, error) {
		if n, ok := v.(int64); ok {
			return n, nil
		}
		return 0, badValue(v, "int64")
	},
}

// floatCodec takes integers too, as msgspec does.
var floatCodec = codec[float64]{
	kinds: kindFloat | kindInt,
	enc:   func(w *writer, v float64) error { return w.enc.EncodeFloat64(v) },
	dec: func(r *reader) (float64, error) {
		if kindOf(r.frame[r.offset()]) == kindInt {
			n, err := r.int()
			return float64(n), err
		}
		return r.dec.DecodeFloat64()
	},
	toValue: func(v float64) Value { return v },
	fromValue: func(v Value) (float64, error) {
		switch v := v.(type) {
		case float64:
			return v, nil
		case Float32:
			return float64(v), nil
		case int64:
			return float64(v), nil
		}
		return 0, badValue(v, "float64")
	},
}

var extCodec = codec[Ext]{
	kinds:   kindExt,
	enc:     func(w *writer, v Ext) error { return w.ext(v) },
	dec:     (*reader).ext,
	toValue: func(v Ext) Value { return v },
	fromValue: func(v Value) (Ext, error) {
		if e, ok := v.(Ext); ok {
			return e, nil
		}
		return Ext{}, badValue(v, "Ext")
	},
}

var intArrayCodec = codec[IntArray]{
	kinds: kindExt,
	enc: func(w *writer, v IntArray) error {
		e, err := formatInts(w.scratch, v)
		if err != nil {
			return err
		}
		w.scratch = e.Data
		return w.ext(e)
	},
	dec: func(r *reader) (IntArray, error) {
		o := r.offset()
		e, err := r.ext()
		if err != nil {
			return IntArray{}, err
		}
		a, err := parseInts(e)
		if err != nil {
			return IntArray{}, &Error{Offset: o, Err: err}
		}
		return a, nil
	},
	toValue: func(v IntArray) Value {
		list := make([]Value, len(v.Values))
		for i, n := range v.Values {
			list[i] = n
		}
		return list
	},
	fromValue: intArrayFrom,
}

func intArrayFrom(v Value) (IntArray, error) {
	switch v := v.(type) {
	case IntArray:
		return v, nil
	case []Value:
		a := IntArray{Typecode: 'q', Values: make([]int64, len(v))}
		for i, e := range v {
			n, ok := e.(int64)
			if !ok {
				return IntArray{}, inside(badValue(e, "int64"), index(i), -1)
			}
			a.Values[i] = n
		}
		return a, nil
	}
	return IntArray{}, badValue(v, "[]Value of int64")
}

// valueCodec is for the unions; null is the nil Value.
var valueCodec = codec[Value]{
	kinds:     kindAny,
	enc:       func(w *writer, v Value) error { return w.value(v, MaxDepth-2) },
	dec:       (*reader).value,
	toValue:   func(v Value) Value { return v },
	fromValue: func(v Value) (Value, error) { return v, nil },
}

// mapCodec is for maps; null is the nil Map.
var mapCodec = codec[Map]{
	kinds: kindMap | kindNil,
	enc:   func(w *writer, v Map) error { return w.dict(v, MaxDepth-2) },
	dec: func(r *reader) (Map, error) {
		if null, err := r.null(kindMap); null || err != nil {
			return nil, err
		}
		return r.dict()
	},
	toValue: func(v Map) Value {
		if v == nil {
			return nil
		}
		return v
	},
	fromValue: func(v Value) (Map, error) {
		if v == nil {
			return nil, nil
		}
		if m, ok := v.(Map); ok {
			return m, nil
		}
		return nil, badValue(v, "Map")
	},
}

// opt makes a scalar nullable.
func opt[T any](c codec[T]) codec[Opt[T]] {
	return codec[Opt[T]]{
		kinds: c.kinds | kindNil,
		enc: func(w *writer, v Opt[T]) error {
			if !v.OK {
				return w.enc.EncodeNil()
			}
			return c.enc(w, v.V)
		},
		dec: func(r *reader) (Opt[T], error) {
			if null, err := r.null(c.kinds); null || err != nil {
				return Opt[T]{}, err
			}
			v, err := c.dec(r)
			return Opt[T]{V: v, OK: true}, err
		},
		toValue: func(v Opt[T]) Value {
			if !v.OK {
				return nil
			}
			return c.toValue(v.V)
		},
		fromValue: func(v Value) (Opt[T], error) {
			if v == nil {
				return Opt[T]{}, nil
			}
			x, err := c.fromValue(v)
			return Opt[T]{V: x, OK: err == nil}, err
		},
	}
}

// list is a list of items, null when nil.
func list[T any](c codec[T]) codec[[]T] {
	return codec[[]T]{
		kinds:     kindArray | kindNil,
		enc:       func(w *writer, v []T) error { return encList(w, v, c) },
		dec:       func(r *reader) ([]T, error) { return decList(r, c) },
		toValue:   func(v []T) Value { return listValue(v, c) },
		fromValue: func(v Value) ([]T, error) { return listFrom(v, c) },
	}
}

func encList[T any](w *writer, v []T, c codec[T]) error {
	if v == nil {
		return w.enc.EncodeNil()
	}
	if err := w.enc.EncodeArrayLen(len(v)); err != nil {
		return err
	}
	for i, x := range v {
		if err := c.enc(w, x); err != nil {
			return inside(err, index(i), -1)
		}
	}
	return nil
}

func decList[T any](r *reader, c codec[T]) ([]T, error) {
	if null, err := r.null(kindArray); null || err != nil {
		return nil, err
	}
	n, err := r.dec.DecodeArrayLen()
	if err != nil {
		return nil, err
	}
	v := make([]T, n) // Check has held n against the bytes left
	for i := range v {
		if v[i], err = c.dec(r); err != nil {
			return nil, inside(err, index(i), r.offset())
		}
	}
	return v, nil
}

func listValue[T any](v []T, c codec[T]) Value {
	if v == nil {
		return nil
	}
	out := make([]Value, len(v))
	for i, x := range v {
		out[i] = c.toValue(x)
	}
	return out
}

func listFrom[T any](v Value, c codec[T]) ([]T, error) {
	if v == nil {
		return nil, nil
	}
	in, ok := v.([]Value)
	if !ok {
		return nil, badValue(v, "[]Value")
	}
	out := make([]T, len(in))
	for i, x := range in {
		var err error
		if out[i], err = c.fromValue(x); err != nil {
			return nil, inside(err, index(i), -1)
		}
	}
	return out, nil
}

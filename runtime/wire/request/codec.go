package request

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// codec is how one field stands on the wire. p points to the struct's field, and
// is nil for a line without one.
type codec interface {
	of() reflect.Type
	encode(w wire.Writer, p any) error
	decode(r wire.Reader, p any) error
}

// plain is the codec of a Go type.
type plain[T any] struct {
	enc func(w wire.Writer, v T) error
	dec func(r wire.Reader) (T, error)
}

func (plain[T]) of() reflect.Type { return reflect.TypeFor[T]() }

func (c plain[T]) encode(w wire.Writer, p any) error { return c.enc(w, *p.(*T)) }

func (c plain[T]) decode(r wire.Reader, p any) (err error) {
	*p.(*T), err = c.dec(r)
	return err
}

func putText(w wire.Writer, v string) error { return w.Value(v) }

func putInt(w wire.Writer, v int) error { return w.Value(int64(v)) }

func takeInt(r wire.Reader) (int, error) {
	n, err := r.Int()
	return int(n), err
}

var (
	text   = plain[string]{putText, wire.Reader.Text}
	flag   = plain[bool]{func(w wire.Writer, v bool) error { return w.Value(v) }, wire.Reader.Bool}
	number = plain[int]{putInt, takeInt}
	id     = plain[int64]{func(w wire.Writer, v int64) error { return w.Value(v) }, wire.Reader.Int}
	float  = plain[float64]{func(w wire.Writer, v float64) error { return w.Value(v) }, wire.Reader.Float}

	nullText   = orNull(text)
	nullNumber = orNull(number)
	nullFloat  = orNull(float)

	bin = plain[[]byte]{
		func(w wire.Writer, v []byte) error {
			if v == nil {
				return w.Value(nil)
			}
			return w.Value(v)
		},
		func(r wire.Reader) ([]byte, error) {
			if null, err := r.Null(); null || err != nil {
				return nil, err
			}
			return r.Bin()
		},
	}

	intArray = plain[[]int64]{
		func(w wire.Writer, v []int64) error {
			if v == nil {
				return w.Value(nil)
			}
			return w.IntArray(wire.IntArray{Values: v})
		},
		func(r wire.Reader) ([]int64, error) {
			if null, err := r.Null(); null || err != nil {
				return nil, err
			}
			a, err := r.IntArray()
			return a.Values, err
		},
	}
)

// orNull writes the zero value as null, and reads null as the zero value.
func orNull[T comparable](c plain[T]) plain[T] {
	var zero T
	return plain[T]{
		func(w wire.Writer, v T) error {
			if v == zero {
				return w.Value(nil)
			}
			return c.enc(w, v)
		},
		func(r wire.Reader) (T, error) {
			if null, err := r.Null(); null || err != nil {
				return zero, err
			}
			return c.dec(r)
		},
	}
}

// list is null when it is nil.
func list[T any](c plain[T]) plain[[]T] {
	return plain[[]T]{
		func(w wire.Writer, v []T) error {
			if v == nil {
				return w.Value(nil)
			}
			return putAll(w, v, c)
		},
		func(r wire.Reader) ([]T, error) {
			if null, err := r.Null(); null || err != nil {
				return nil, err
			}
			return takeAll(r, c)
		},
	}
}

func putAll[T any](w wire.Writer, v []T, c plain[T]) error {
	if err := w.ArrayLen(len(v)); err != nil {
		return err
	}
	for i, x := range v {
		if err := c.enc(w, x); err != nil {
			return wire.Inside(err, index(i), -1)
		}
	}
	return nil
}

func takeAll[T any](r wire.Reader, c plain[T]) ([]T, error) {
	n, err := r.ArrayLen()
	if err != nil {
		return nil, err
	}
	v := make([]T, n) // at most the bytes left, and an entry takes few bytes
	for i := range v {
		o := r.Offset()
		if v[i], err = c.dec(r); err != nil {
			return nil, wire.Inside(err, index(i), o)
		}
	}
	return v, nil
}

func index(i int) string { return fmt.Sprintf("[%d]", i) }

// fixed is a field that this runtime has no meaning for: SGLang's default is
// written, and nothing else read.
type fixed struct{ value wire.Value }

func (fixed) of() reflect.Type { return nil }

func (c fixed) encode(w wire.Writer, _ any) error { return w.Value(c.value) }

func (c fixed) decode(r wire.Reader, _ any) error {
	o := r.Offset()
	v, err := r.Value()
	if err != nil {
		return err
	}
	if v != c.value { // of one type only when it is comparable
		return &wire.Error{Offset: o, Err: fmt.Errorf("got %s, want %s: nothing here heeds another value", shown(v), shown(c.value))}
	}
	return nil
}

// shown is a value for an error: in full when it is short, otherwise its kind.
func shown(v wire.Value) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		const longest = 64 // of a hostile text in an error
		return fmt.Sprintf("%.*q", longest, v)
	case []byte:
		return fmt.Sprintf("bin of %d bytes", len(v))
	case []wire.Value:
		return fmt.Sprintf("an array of %d", len(v))
	case wire.Map:
		return fmt.Sprintf("a map of %d", len(v))
	case wire.Ext:
		return fmt.Sprintf("ext type %d", v.Type)
	}
	return fmt.Sprint(v)
}

// unread is a field whose value follows from others: the zero value is written,
// and any value of its type read.
type unread[T any] struct{ plain[T] }

func (unread[T]) of() reflect.Type { return nil }

func (c unread[T]) encode(w wire.Writer, _ any) error {
	var zero T
	return c.enc(w, zero)
}

func (c unread[T]) decode(r wire.Reader, _ any) error {
	_, err := c.dec(r)
	return err
}

// samplingParams starts from the defaults, for an array with fewer fields.
type samplingParams struct{}

func (samplingParams) of() reflect.Type { return reflect.TypeFor[SamplingParams]() }

func (samplingParams) encode(w wire.Writer, p any) error {
	return samplingLayout.encode(w, reflect.ValueOf(p).Elem())
}

func (samplingParams) decode(r wire.Reader, p any) error {
	*p.(*SamplingParams) = NewSamplingParams()
	return samplingLayout.decode(r, reflect.ValueOf(p).Elem())
}

// batch is the requests of a batch, each with its class name.
type batch struct{}

// leastRequest is less than any TokenizedGenerateReqInput takes in a frame.
const leastRequest = 40

func (batch) of() reflect.Type { return reflect.TypeFor[[]TokenizedGenerateReqInput]() }

func (batch) encode(w wire.Writer, p any) error {
	items := *p.(*[]TokenizedGenerateReqInput)
	if err := w.ArrayLen(len(items)); err != nil {
		return err
	}
	for i := range items {
		if err := generateLayout.encode(w, reflect.ValueOf(&items[i]).Elem()); err != nil {
			return wire.Inside(err, index(i), -1)
		}
	}
	return nil
}

func (batch) decode(r wire.Reader, p any) error {
	n, err := r.ArrayLen()
	if err != nil {
		return err
	}
	items := slices.Grow([]TokenizedGenerateReqInput{}, min(n, r.Left()/leastRequest)) // not n: an item is larger than a byte
	for i := range n {
		o := r.Offset()
		items = append(items, TokenizedGenerateReqInput{})
		if err := generateLayout.decode(r, reflect.ValueOf(&items[i]).Elem()); err != nil {
			return wire.Inside(err, index(i), o)
		}
	}
	*p.(*[]TokenizedGenerateReqInput) = items
	return nil
}

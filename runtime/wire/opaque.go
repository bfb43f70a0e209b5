package wire

import (
	"errors"
	"fmt"
)

// The wrappers of opaque columns.
const (
	PickleWrapper  = "PickleWrapper"
	MsgpackWrapper = "MsgpackWrapper"
)

// Wrap encodes v and wraps it as MsgpackWrapper.
func Wrap(v Value) (*Opaque, error) {
	w := newWriter(nil)
	err := w.value(v, MaxDepth)
	data := w.release()
	if err != nil {
		return nil, located(err, -1)
	}
	return &Opaque{Wrapper: MsgpackWrapper, Data: data}, nil
}

// Open gives the value: of a MsgpackWrapper decoded, of a native column itself,
// of a nil Opaque nil. A pickle cannot be opened, only cut: see OpenRows.
func (o *Opaque) Open() (Value, error) {
	if o == nil {
		return nil, nil
	}
	switch o.Wrapper {
	case "":
		return o.Native, nil
	case MsgpackWrapper:
		return unpack(o.Data)
	}
	return nil, &Error{Offset: -1, Err: fmt.Errorf("cannot open a %s, want %s or a native value", o.Wrapper, MsgpackWrapper)}
}

// unpack decodes one value, checked first like a frame. Offsets in its errors
// count from the start of the wrapped bytes.
func unpack(data []byte) (Value, error) {
	if o, err := check(data, MaxDepth); err != nil {
		return nil, wrapped(&Error{Offset: o, Err: err})
	}
	r := newReader(data)
	defer r.release()
	v, err := r.value()
	if err != nil {
		return nil, wrapped(err)
	}
	return v, nil
}

// wrapped moves an offset inside a wrapper into the message, where it cannot be
// taken for one in the frame.
func wrapped(err error) error {
	e := located(err, -1)
	if e.Offset >= 0 {
		e.Err = fmt.Errorf("byte %d inside the %s: %w", e.Offset, MsgpackWrapper, e.Err)
		e.Offset = -1
	}
	return e
}

// native gives the value of a column that needs no opening.
func (o *Opaque) native() (Value, error) {
	if o != nil && o.Wrapper != "" {
		return nil, &Error{Offset: -1, Err: fmt.Errorf("the column is wrapped as %s, want its opened value", o.Wrapper)}
	}
	return o.Open()
}

// opaqueColumn is the column of an *Opaque. Its rows are cut by cutOpaque, as
// that may need an Opener.
type opaqueColumn struct{}

func (opaqueColumn) encode(w *writer, p any) error {
	o := *p.(**Opaque)
	switch {
	case o == nil:
		return w.enc.EncodeNil()
	case o.Wrapper == "":
		return w.value(o.Native, MaxDepth-1)
	}
	if err := w.enc.EncodeArrayLen(2); err != nil {
		return err
	}
	if err := w.enc.EncodeString(o.Wrapper); err != nil {
		return err
	}
	return w.bin(o.Data)
}

func (opaqueColumn) decode(r *reader, p any) error {
	at := r.offset()
	if name, data, ok := wrapperAt(r.frame, at); ok {
		*p.(**Opaque) = &Opaque{Wrapper: name, Data: append([]byte{}, data...)}
		r.seek(at + wrapperLen(r.frame, at))
		return nil
	}
	v, err := r.value()
	if err == nil && v != nil {
		*p.(**Opaque) = &Opaque{Native: v}
	}
	return err
}

func (opaqueColumn) take(dst, src any, rows []int) error { return nil }

func (opaqueColumn) row(p any, i int) Value { return nil }

func (opaqueColumn) set(p any, v Value) error {
	switch v := v.(type) {
	case nil:
		*p.(**Opaque) = nil
	case *Opaque:
		*p.(**Opaque) = v
	default:
		*p.(**Opaque) = &Opaque{Native: v}
	}
	return nil
}

func (opaqueColumn) null(p any) bool { return *p.(**Opaque) == nil }

func (opaqueColumn) rowKinds() kind { return kindAny }

// wrapperAt recognises a wrapped column: an array of a known name and a bin.
func wrapperAt(b []byte, o int) (name string, data []byte, ok bool) {
	n, o, ok := arrayAt(b, o)
	if !ok || n != 2 {
		return "", nil, false
	}
	tag, o, ok := textAt(b, o, kindString)
	if !ok {
		return "", nil, false
	}
	switch string(tag) {
	case PickleWrapper:
		name = PickleWrapper
	case MsgpackWrapper:
		name = MsgpackWrapper
	default:
		return "", nil, false
	}
	data, _, ok = textAt(b, o, kindBin)
	return name, data, ok
}

// wrapperLen is the number of bytes of the wrapped column at o.
func wrapperLen(b []byte, o int) int {
	_, next, _ := arrayAt(b, o)
	_, next, _ = textAt(b, next, kindString)
	_, next, _ = textAt(b, next, kindBin)
	return next - o
}

// errOpaqueShape is the error for an opaque value that has no rows.
var errOpaqueShape = errors.New("want a list with an entry a row, or a map of such lists")

// cutValue takes rows of an opaque value: a list, or every list of a map. The
// value is not changed. A list without any of the rows is null.
func cutValue(v Value, rows []int) (Value, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []Value:
		if v == nil || len(rows) > 0 && !anyBelow(rows, len(v)) {
			return nil, nil
		}
		return cutList(v, rows), nil
	case Map:
		if v == nil {
			return nil, nil
		}
		return cutMap(v, rows)
	}
	return nil, fmt.Errorf("got an opaque %T, %w", v, errOpaqueShape)
}

func cutMap(m Map, rows []int) (Value, error) {
	out := make(Map, len(m))
	for k, p := range m {
		out[k].Key = p.Key
		switch list := p.Value.(type) {
		case nil:
		case []Value:
			if list != nil {
				out[k].Value = cutList(list, rows)
			}
		default:
			return nil, inside(fmt.Errorf("got an opaque %T, %w", list, errOpaqueShape), keyStep(p.Key), -1)
		}
	}
	return out, nil
}

// keyStep is a map's key as a step of a path; a hostile one is kept short.
func keyStep(key Value) string {
	if s, ok := key.(string); ok {
		return fmt.Sprintf("[%.40q]", s)
	}
	return fmt.Sprintf("[key of type %T]", key)
}

func cutList(list []Value, rows []int) []Value {
	out := make([]Value, len(rows))
	for k, i := range rows {
		if i < len(list) {
			out[k] = list[i]
		}
	}
	return out
}

// opaqueRow is one row of an opaque value as a plain value.
func opaqueRow(v Value, i int) (Value, error) {
	cut, err := cutValue(v, []int{i})
	if err != nil {
		return nil, err
	}
	switch cut := cut.(type) {
	case []Value:
		return cut[0], nil
	case Map:
		for k := range cut {
			if list, ok := cut[k].Value.([]Value); ok {
				cut[k].Value = list[0]
			}
		}
	}
	return cut, nil
}

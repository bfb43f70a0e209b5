package request

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// Encode appends m's frame to dst.
func Encode(dst []byte, m Message) ([]byte, error) {
	v := reflect.ValueOf(m)
	l := byType[reflect.TypeOf(m)]
	if l == nil || v.IsNil() {
		return dst, &wire.Error{Offset: -1, Err: fmt.Errorf("got message %T, want a pointer that is not nil to one of: %s", m, classNames())}
	}
	w := wire.NewWriter(dst)
	if err := l.encode(w, v.Elem()); err != nil {
		w.Release()
		return dst, l.named(err, -1)
	}
	return w.Release(), nil
}

// Decode decodes a frame of any class of this package. The message holds none of
// the frame's memory.
func Decode(frame []byte) (Message, error) {
	if err := wire.Check(frame); err != nil {
		return nil, locate(frame, err)
	}
	l, _, err := head(frame)
	if err != nil {
		return nil, err
	}
	r := wire.NewReader(frame)
	defer r.Release()
	m := reflect.New(l.of)
	if err := l.decode(r, m.Elem()); err != nil {
		return nil, l.named(err, r.Offset())
	}
	return m.Interface().(Message), nil
}

// WorkerIPC reads http_worker_ipc from a frame's first bytes, and no more of it:
// for a router, which passes answers on as they are. It is "" where the field is
// null or left out. A BatchTokenizedGenerateReqInput has none of its own.
func WorkerIPC(frame []byte) (string, error) {
	l, o, err := head(frame)
	if err != nil {
		return "", err
	}
	const at = 1 // behind rid
	if l.fields[at].name != "http_worker_ipc" {
		return "", &wire.Error{Class: l.class, Field: l.fields[at].name, Offset: o, Err: fmt.Errorf("the class has no http_worker_ipc")}
	}
	if _, fields, _, _ := wire.Head(frame); fields <= at {
		return "", nil
	}
	if o, err = wire.Skip(frame, o); err != nil {
		return "", l.named(wire.Inside(err, l.fields[0].name, o), o)
	}
	text, err := wire.TextAt(frame, o)
	if err != nil {
		return "", l.named(wire.Inside(err, l.fields[at].name, o), o)
	}
	return string(text), nil
}

// head is the layout of a frame's class, and where its first field starts.
func head(frame []byte) (*layout, int, error) {
	name, _, o, err := wire.Head(frame)
	if err != nil {
		return nil, 0, err
	}
	l := byClass[string(name)]
	if l == nil {
		const longest = 64 // of a hostile name in an error
		return nil, 0, &wire.Error{Offset: wire.NameOffset(frame), Err: fmt.Errorf("got class %.*q, want one of: %s", longest, name, classNames())}
	}
	return l, o, nil
}

// locate names the field of this package's classes that Check found malformed.
func locate(frame []byte, cause error) error {
	e := wire.Inside(cause, "", 0)
	l, o, err := head(frame)
	if err != nil {
		return e // of a class that cannot be told
	}
	e.Class = l.class
	_, fields, _, _ := wire.Head(frame)
	for i := range min(fields, len(l.fields)) {
		end, err := wire.Skip(frame, o)
		if err != nil || end > e.Offset {
			e.Field = l.fields[i].name
			break
		}
		o = end
	}
	return e
}

// named completes an error from inside a message.
func (l *layout) named(err error, offset int) error {
	e := wire.Inside(err, "", offset)
	e.Class = l.class
	e.Field = strings.TrimPrefix(e.Field, ".")
	return e
}

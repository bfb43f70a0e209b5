package wire

import (
	"errors"
	"fmt"
	"reflect"
)

// Encode appends m's frame to dst.
func Encode(dst []byte, m Message) ([]byte, error) {
	c, s, err := layout(m)
	if err != nil {
		return dst, err
	}
	w := newWriter(dst)
	if err := c.encode(w, s); err != nil {
		w.release()
		return dst, err
	}
	return w.release(), nil
}

func (c *class) encode(w *writer, s reflect.Value) error {
	if err := w.enc.EncodeArrayLen(len(c.fields) + 1); err != nil {
		return named(err, c.name, "")
	}
	if err := w.enc.EncodeString(c.name); err != nil {
		return named(err, c.name, "")
	}
	for i := range c.fields {
		f := &c.fields[i]
		if err := f.column.encode(w, f.at(s)); err != nil {
			return named(err, c.name, f.name)
		}
	}
	return nil
}

// Decode decodes a frame of any class. The message holds none of the frame's
// memory.
func Decode(frame []byte) (Message, error) {
	if err := Check(frame); err != nil {
		return nil, err
	}
	name, _, _, err := classOf(frame)
	if err != nil {
		return nil, err
	}
	switch string(name) {
	case tokenClass.name:
		return checked[BatchTokenIDOutput](frame)
	case strClass.name:
		return checked[BatchStrOutput](frame)
	case embeddingClass.name:
		return checked[BatchEmbeddingOutput](frame)
	}
	return nil, unknownClass(frame, name)
}

// unknownClass is the error for a frame whose class name is not known.
func unknownClass(frame, name []byte) error { return otherClass(frame, name, allClasses...) }

// otherClass is the error for a frame whose class is none of those that are wanted.
func otherClass(frame, name []byte, want ...*class) error {
	const longest = 64 // of a hostile name in an error
	return &Error{Offset: nameOffset(frame), Err: fmt.Errorf("got class %.*q, want %s", longest, name, listed(want))}
}

// nameOffset is where the class name of a frame that has one starts.
func nameOffset(frame []byte) int {
	_, o, _ := arrayAt(frame, 0)
	return o
}

// DecodeTokenID decodes a frame that must hold a BatchTokenIDOutput.
func DecodeTokenID(frame []byte) (*BatchTokenIDOutput, error) {
	return decodeAs[BatchTokenIDOutput](frame)
}

// DecodeStr decodes a frame that must hold a BatchStrOutput.
func DecodeStr(frame []byte) (*BatchStrOutput, error) {
	return decodeAs[BatchStrOutput](frame)
}

// DecodeEmbedding decodes a frame that must hold a BatchEmbeddingOutput.
func DecodeEmbedding(frame []byte) (*BatchEmbeddingOutput, error) {
	return decodeAs[BatchEmbeddingOutput](frame)
}

func decodeAs[T any, M interface {
	*T
	Message
}](frame []byte) (M, error) {
	if err := Check(frame); err != nil {
		return nil, err
	}
	m, err := checked[T, M](frame)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// checked decodes a frame that Check has passed.
func checked[T any, M interface {
	*T
	Message
}](frame []byte) (M, error) {
	m := M(new(T))
	c := classes[m.Class()]
	n, o, err := c.header(frame)
	if err != nil {
		return nil, err
	}
	r := newReader(frame)
	defer r.release()
	r.seek(o)
	s := reflect.ValueOf(m).Elem()
	for i := range n {
		f := &c.fields[i]
		if err := f.column.decode(r, f.at(s)); err != nil {
			return nil, named(located(err, r.offset()), c.name, f.name)
		}
	}
	return m, nil
}

// header reads a frame's first bytes: the number of fields, where the first one
// starts. It makes sure of the class.
func (c *class) header(frame []byte) (fields, next int, err error) {
	name, n, o, err := classOf(frame)
	if err != nil {
		return 0, 0, named(err, c.name, "")
	}
	if string(name) != c.name {
		if classes[string(name)] == nil {
			return 0, 0, unknownClass(frame, name)
		}
		return 0, 0, &Error{Offset: nameOffset(frame), Err: fmt.Errorf("got class %s, want %s", name, c.name)}
	}
	if n > len(c.fields) {
		return 0, 0, &Error{Class: c.name, Offset: 0, Err: fmt.Errorf("got %d fields, want at most %d", n, len(c.fields))}
	}
	return n, o, nil
}

// CountRows reads the number of rows from a frame's first bytes: the class and
// the length of rids. It looks no further, so the rest may be malformed.
func CountRows(frame []byte) (int, error) {
	name, fields, o, err := classOf(frame)
	if err != nil {
		return 0, err
	}
	c := classes[string(name)]
	if c == nil {
		return 0, unknownClass(frame, name)
	}
	if fields == 0 {
		return 0, nil
	}
	n, _, ok := arrayAt(frame, o)
	if ok {
		return n, nil
	}
	e := &Error{Class: c.name, Field: c.fields[0].name, Offset: o}
	switch {
	case o >= len(frame):
		e.Err = errTruncated
	case kindOf(frame[o]) == kindNil:
		return 0, nil
	case kindOf(frame[o]) == kindArray:
		e.Err = errors.New("the list is longer than the bytes left")
	default:
		e.Err = mismatch(frame[o], kindArray)
	}
	return 0, e
}

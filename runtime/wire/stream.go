package wire

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
)

// reader decodes the primitives of one checked frame. Check must have passed:
// the codec allocates what a length asks for.
type reader struct {
	frame []byte
	in    bytes.Reader
	dec   *msgpack.Decoder
}

var readers = sync.Pool{New: func() any { return &reader{dec: msgpack.NewDecoder(nil)} }}

func newReader(frame []byte) *reader {
	r := readers.Get().(*reader)
	r.frame = frame
	r.in.Reset(frame)
	r.dec.Reset(&r.in)
	return r
}

func (r *reader) release() {
	r.frame = nil
	r.in.Reset(nil)
	readers.Put(r)
}

func (r *reader) offset() int { return len(r.frame) - r.in.Len() }

// seek moves to an offset that a walk over the same frame has found.
func (r *reader) seek(o int) { r.in.Reset(r.frame[o:]) }

// next is the kind of the next item; the codec itself takes nil for 0 and bin
// for text, so each call below is made only for the right kind.
func (r *reader) next(want kind) (kind, error) {
	o := r.offset()
	if o >= len(r.frame) {
		return 0, &Error{Offset: o, Err: errTruncated}
	}
	c := r.frame[o]
	if kindOf(c)&want == 0 {
		return 0, &Error{Offset: o, Err: mismatch(c, want)}
	}
	return kindOf(c), nil
}

// null reads a nil if one is next, and otherwise makes sure of the kind.
func (r *reader) null(want kind) (bool, error) {
	k, err := r.next(want | kindNil)
	if err != nil {
		return false, err
	}
	if k != kindNil {
		return false, nil
	}
	return true, r.dec.DecodeNil()
}

// int reads an integer that fits int64.
func (r *reader) int() (int64, error) {
	o := r.offset()
	if r.frame[o] == 0xcf {
		u, err := r.dec.DecodeUint64()
		if err == nil && u > math.MaxInt64 {
			err = &Error{Offset: o, Err: fmt.Errorf("got %d, want an integer up to %d", u, int64(math.MaxInt64))}
		}
		return int64(u), err
	}
	return r.dec.DecodeInt64()
}

func (r *reader) ext() (Ext, error) {
	id, n, err := r.dec.DecodeExtHeader()
	if err != nil {
		return Ext{}, err
	}
	data := make([]byte, n)
	return Ext{Type: id, Data: data}, r.dec.ReadFull(data)
}

func (r *reader) value() (Value, error) {
	o := r.offset()
	k, err := r.next(kindAny)
	if err != nil {
		return nil, err
	}
	switch k {
	case kindNil:
		return nil, r.dec.DecodeNil()
	case kindBool:
		return r.dec.DecodeBool()
	case kindInt:
		return r.integer(o)
	case kindFloat:
		if r.frame[o] == 0xca {
			f, err := r.dec.DecodeFloat32()
			return Float32(f), err
		}
		return r.dec.DecodeFloat64()
	case kindString:
		return r.dec.DecodeString()
	case kindBin:
		return r.dec.DecodeBytes()
	case kindArray:
		return r.array()
	case kindMap:
		return r.dict()
	}
	return r.ext()
}

// integer keeps what int64 cannot hold as a uint64.
func (r *reader) integer(o int) (Value, error) {
	if r.frame[o] != 0xcf {
		return r.dec.DecodeInt64()
	}
	u, err := r.dec.DecodeUint64()
	if u > math.MaxInt64 {
		return u, err
	}
	return int64(u), err
}

func (r *reader) array() (Value, error) {
	n, err := r.dec.DecodeArrayLen()
	if err != nil {
		return nil, err
	}
	list := make([]Value, n)
	for i := range list {
		if list[i], err = r.value(); err != nil {
			return nil, inside(err, index(i), r.offset())
		}
	}
	return list, nil
}

func (r *reader) dict() (Map, error) {
	n, err := r.dec.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	m := make(Map, n)
	for i := range m {
		if m[i].Key, err = r.value(); err != nil {
			return nil, inside(err, index(i), r.offset())
		}
		if m[i].Value, err = r.value(); err != nil {
			return nil, inside(err, index(i), r.offset())
		}
	}
	return m, nil
}

// writer encodes primitives as msgspec does, behind what out already holds.
type writer struct {
	out     bytes.Buffer
	enc     *msgpack.Encoder
	scratch []byte // an integer array's payload
}

var writers = sync.Pool{New: func() any { return &writer{enc: msgpack.NewEncoder(nil)} }}

// newWriter appends to dst.
func newWriter(dst []byte) *writer {
	w := writers.Get().(*writer)
	w.out = *bytes.NewBuffer(dst)
	w.enc.Reset(&w.out)
	w.enc.UseCompactInts(true)
	return w
}

// release gives the bytes written and returns w to the pool.
func (w *writer) release() []byte {
	b := w.out.Bytes()
	w.out = bytes.Buffer{}
	writers.Put(w)
	return b
}

func (w *writer) ext(e Ext) error {
	if err := w.enc.EncodeExtHeader(e.Type, len(e.Data)); err != nil {
		return err
	}
	_, err := w.out.Write(e.Data)
	return err
}

func (w *writer) bin(b []byte) error {
	if err := w.enc.EncodeBytesLen(len(b)); err != nil {
		return err
	}
	_, err := w.out.Write(b)
	return err
}

var errValue = errors.New("want nil, bool, int64, uint64, float64, Float32, string, []byte, []Value, Map or Ext")

// value writes any Value; depth is how many more levels may be entered, which
// also ends a value that contains itself.
func (w *writer) value(v Value, depth int) error {
	switch v := v.(type) {
	case nil:
		return w.enc.EncodeNil()
	case bool:
		return w.enc.EncodeBool(v)
	case int64:
		return w.enc.EncodeInt(v)
	case uint64:
		return w.enc.EncodeUint(v)
	case float64:
		return w.enc.EncodeFloat64(v)
	case Float32:
		return w.enc.EncodeFloat32(float32(v))
	case string:
		return w.enc.EncodeString(v)
	case []byte:
		return w.bin(v)
	case []Value:
		return w.array(v, depth)
	case Map:
		return w.dict(v, depth)
	case Ext:
		return w.ext(v)
	}
	return fmt.Errorf("got %T, %w", v, errValue)
}

func (w *writer) array(list []Value, depth int) error {
	if list == nil {
		return w.enc.EncodeNil()
	}
	if depth == 0 {
		return errDepth
	}
	if err := w.enc.EncodeArrayLen(len(list)); err != nil {
		return err
	}
	for i, v := range list {
		if err := w.value(v, depth-1); err != nil {
			return inside(err, index(i), -1)
		}
	}
	return nil
}

func (w *writer) dict(m Map, depth int) error {
	if m == nil {
		return w.enc.EncodeNil()
	}
	if depth == 0 {
		return errDepth
	}
	if err := w.enc.EncodeMapLen(len(m)); err != nil {
		return err
	}
	for i, p := range m {
		if err := w.value(p.Key, depth-1); err != nil {
			return inside(err, index(i), -1)
		}
		if err := w.value(p.Value, depth-1); err != nil {
			return inside(err, index(i), -1)
		}
	}
	return nil
}

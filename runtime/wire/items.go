package wire

// This file is what a package with messages of its own needs (package request): a
// frame's items one by one, with this package's rules for integers, floats, text
// and integer arrays.

// Reader reads the items of one frame in turn. A read of another kind than the
// one that is next is an *Error with the offset.
type Reader struct{ r *reader }

// NewReader stands before the first item of a frame that Check has passed; no
// other frame may be read, as the codec allocates what a length asks for.
func NewReader(frame []byte) Reader { return Reader{newReader(frame)} }

// Release ends the reading.
func (r Reader) Release() { r.r.release() }

// Offset is where the next item starts.
func (r Reader) Offset() int { return r.r.offset() }

// Left is the number of bytes from there on.
func (r Reader) Left() int { return r.r.in.Len() }

// Null reads a null if one is next, and otherwise nothing.
func (r Reader) Null() (bool, error) { return r.r.null(kindAny) }

// IsArray says whether an array is next.
func (r Reader) IsArray() bool {
	o := r.r.offset()
	return o < len(r.r.frame) && kindOf(r.r.frame[o]) == kindArray
}

// Bool reads a bool.
func (r Reader) Bool() (bool, error) { return one(r.r, boolCodec) }

// Int reads an integer that fits int64.
func (r Reader) Int() (int64, error) { return one(r.r, intCodec) }

// Float reads a float, or an integer as a float, as msgspec does.
func (r Reader) Float() (float64, error) { return one(r.r, floatCodec) }

// Text reads a string.
func (r Reader) Text() (string, error) { return one(r.r, textCodec) }

// Bin reads bytes.
func (r Reader) Bin() ([]byte, error) {
	if _, err := r.r.next(kindBin); err != nil {
		return nil, err
	}
	return r.r.dec.DecodeBytes()
}

// IntArray reads an integer array, ext type 1.
func (r Reader) IntArray() (IntArray, error) { return one(r.r, intArrayCodec) }

// Value reads whatever is next.
func (r Reader) Value() (Value, error) { return r.r.value() }

// ArrayLen reads an array's header. The length is at most the bytes left.
func (r Reader) ArrayLen() (int, error) {
	if _, err := r.r.next(kindArray); err != nil {
		return 0, err
	}
	return r.r.dec.DecodeArrayLen()
}

// MapLen reads a map's header. The length is at most half the bytes left.
func (r Reader) MapLen() (int, error) {
	if _, err := r.r.next(kindMap); err != nil {
		return 0, err
	}
	return r.r.dec.DecodeMapLen()
}

func one[T any](r *reader, c codec[T]) (v T, err error) {
	if _, err = r.next(c.kinds); err != nil {
		return v, err
	}
	return c.dec(r)
}

// Writer writes items as msgspec does.
type Writer struct{ w *writer }

// NewWriter appends to dst.
func NewWriter(dst []byte) Writer { return Writer{newWriter(dst)} }

// Release ends the writing and gives dst with all that was written.
func (w Writer) Release() []byte { return w.w.release() }

// Value writes any Value.
func (w Writer) Value(v Value) error { return w.w.value(v, MaxDepth-2) }

// IntArray writes an integer array, ext type 1.
func (w Writer) IntArray(a IntArray) error { return intArrayCodec.enc(w.w, a) }

// ArrayLen writes an array's header; its items follow.
func (w Writer) ArrayLen(n int) error { return w.w.enc.EncodeArrayLen(n) }

// Head reads the first bytes of any frame, checked or not: the class name, the
// number of fields, and where the first field starts. The name lies in the frame.
func Head(frame []byte) (class []byte, fields, next int, err error) { return classOf(frame) }

// NameOffset is where the class name of a frame that Head could read starts.
func NameOffset(frame []byte) int { return nameOffset(frame) }

// Skip is the offset after the item at o, of any frame; an item that is malformed
// or missing is an error.
func Skip(frame []byte, o int) (int, error) {
	var w walker
	end, err := w.skip(frame, o, MaxDepth-1)
	if err != nil {
		return o, &Error{Offset: end, Err: err}
	}
	return end, nil
}

// TextAt reads the string at o, of any frame, without copying; null is no text.
func TextAt(frame []byte, o int) ([]byte, error) {
	if o >= len(frame) {
		return nil, &Error{Offset: o, Err: errTruncated}
	}
	if k := kindOf(frame[o]); k == kindNil {
		return nil, nil
	} else if k != kindString {
		return nil, &Error{Offset: o, Err: mismatch(frame[o], kindString|kindNil)}
	}
	text, _, ok := textAt(frame, o, kindString)
	if !ok {
		return nil, &Error{Offset: o, Err: errTruncated}
	}
	return text, nil
}

// Inside makes err an *Error whose field path starts with step. It has at least
// the given offset.
func Inside(err error, step string, offset int) *Error {
	e := located(err, offset)
	e.Field = step + e.Field
	return e
}

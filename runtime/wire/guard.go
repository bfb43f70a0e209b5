package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// MaxDepth is how many arrays and maps may lie inside each other.
const MaxDepth = 64

var (
	errTruncated = errors.New("the frame ends inside a value")
	errLength    = errors.New("a length is larger than the bytes left")
	errCode      = errors.New("code 0xc1 is not MessagePack")
	errDepth     = fmt.Errorf("more than %d arrays and maps inside each other", MaxDepth)
	errTrailing  = errors.New("bytes after the end of the message")
)

// shape says how many bytes an item has. Without a container or a length field
// it is the size; otherwise fixed is the size of the header.
type shape struct {
	fixed   uint8 // the whole item, or its header with the length field
	length  uint8 // bytes of the length field, which follows the code
	count   uint8 // items in a fixarray or, doubled, in a fixmap
	items   uint8 // items for each unit of the length field: 1 array, 2 map
	illegal bool
}

var shapes = func() (t [256]shape) {
	for c := range t {
		t[c] = shapeOf(byte(c))
	}
	return t
}()

// shapeOf follows the table of formats in MessagePack's specification.
func shapeOf(c byte) shape {
	switch {
	case c <= 0x7f || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3:
		return shape{fixed: 1}
	case c <= 0x8f:
		return shape{fixed: 1, items: 2, count: 2 * (c & 0x0f)}
	case c <= 0x9f:
		return shape{fixed: 1, items: 1, count: c & 0x0f}
	case c <= 0xbf:
		return shape{fixed: 1 + c&0x1f}
	case c == 0xc1:
		return shape{illegal: true}
	case c <= 0xc6: // bin
		return shape{fixed: 1 + 1<<(c-0xc4), length: 1 << (c - 0xc4)}
	case c <= 0xc9: // ext, whose type byte follows the length
		return shape{fixed: 2 + 1<<(c-0xc7), length: 1 << (c - 0xc7)}
	case c == 0xca:
		return shape{fixed: 5}
	case c == 0xcb:
		return shape{fixed: 9}
	case c <= 0xcf:
		return shape{fixed: 1 + 1<<(c-0xcc)}
	case c <= 0xd3:
		return shape{fixed: 1 + 1<<(c-0xd0)}
	case c <= 0xd8: // fixext
		return shape{fixed: 2 + 1<<(c-0xd4)}
	case c <= 0xdb: // str
		return shape{fixed: 1 + 1<<(c-0xd9), length: 1 << (c - 0xd9)}
	case c <= 0xdd: // array
		return shape{fixed: 1 + 2<<(c-0xdc), length: 2 << (c - 0xdc), items: 1}
	}
	return shape{fixed: 1 + 2<<(c-0xde), length: 2 << (c - 0xde), items: 2}
}

// walker steps over items without recursion. It is kept between calls so that
// its stack is not cleared for every item.
type walker struct {
	left [MaxDepth]int // items due at each level outside the present one
}

// skip returns the offset after the item at o. Every length is held against the
// bytes left, and at most depth levels are entered.
func (w *walker) skip(b []byte, o, depth int) (int, error) {
	level, due := 0, 1
	for {
		if o >= len(b) {
			return o, errTruncated
		}
		s := shapes[b[o]]
		due--
		if s.length|s.items == 0 {
			if s.illegal {
				return o, errCode
			}
			if int(s.fixed) > len(b)-o {
				return o, errTruncated
			}
			o += int(s.fixed)
		} else {
			count, size, err := open(b, o, s)
			if err != nil {
				return o, err
			}
			if s.items > 0 {
				if level == depth {
					return o, errDepth
				}
				w.left[level] = due
				level++
				due = count
			}
			o += size
		}
		for due == 0 {
			if level == 0 {
				return o, nil
			}
			level--
			due = w.left[level]
		}
	}
}

// open reads the length of the item at o: how many items it holds, and how many
// bytes to step on (past the header of a container, past the whole of the rest).
func open(b []byte, o int, s shape) (count, size int, err error) {
	head := int(s.fixed)
	if head > len(b)-o {
		return 0, 0, errTruncated
	}
	n := int64(s.count)
	switch s.length {
	case 1:
		n = int64(b[o+1])
	case 2:
		n = int64(binary.BigEndian.Uint16(b[o+1:]))
	case 4:
		n = int64(binary.BigEndian.Uint32(b[o+1:]))
	}
	if s.length > 0 && s.items > 0 {
		n *= int64(s.items)
	}
	if n > int64(len(b)-o-head) { // an item has at least one byte
		return 0, 0, errLength
	}
	if s.items > 0 {
		return int(n), head, nil
	}
	return 0, head + int(n), nil
}

// check walks the one item that b must be, from the given depth inwards.
func check(b []byte, depth int) (int, error) {
	var w walker
	o, err := w.skip(b, 0, depth)
	if err == nil && o != len(b) {
		err = errTrailing
	}
	return o, err
}

// Check says whether frame is one well-formed MessagePack value: every length
// within the bytes left, at most MaxDepth levels, nothing after the end. It is
// one pass without recursion, and allocates nothing but its error.
func Check(frame []byte) error {
	if o, err := check(frame, MaxDepth); err != nil {
		return locate(frame, o, err)
	}
	return nil
}

// locate names the field that holds offset, as far as the frame before it can
// be read.
func locate(frame []byte, offset int, cause error) error {
	e := &Error{Offset: offset, Err: cause}
	name, n, o, err := classOf(frame)
	if err != nil {
		return e
	}
	e.Class = string(name)
	c := classes[e.Class]
	if c == nil {
		return e
	}
	var w walker
	for i := 0; i < min(n, len(c.fields)); i++ {
		end, err := w.skip(frame, o, MaxDepth-1)
		if err != nil || end > offset {
			e.Field = c.fields[i].name
			return e
		}
		o = end
	}
	return e
}

// arrayAt reads an array's header at o: its length and the offset of its first
// item. ok is false when there is none or its length exceeds the bytes left.
func arrayAt(b []byte, o int) (n, next int, ok bool) {
	return containerAt(b, o, 1)
}

// containerAt is arrayAt for arrays (items 1) and maps (items 2, n in pairs).
func containerAt(b []byte, o int, items uint8) (n, next int, ok bool) {
	if o >= len(b) || shapes[b[o]].items != items {
		return 0, o, false
	}
	n, size, err := open(b, o, shapes[b[o]])
	return n / int(items), o + size, err == nil
}

// textAt reads the string or bin at o, without copying.
func textAt(b []byte, o int, want kind) (text []byte, next int, ok bool) {
	if o >= len(b) || kindOf(b[o])&want == 0 {
		return nil, o, false
	}
	s := shapes[b[o]]
	if s.length == 0 { // fixstr
		next = o + int(s.fixed)
		if next > len(b) {
			return nil, o, false
		}
		return b[o+1 : next : next], next, true
	}
	_, size, err := open(b, o, s)
	if err != nil {
		return nil, o, false
	}
	next = o + size
	return b[o+int(s.fixed) : next : next], next, true
}

// classOf reads a frame's class name, the number of its fields, and where the
// first one starts.
func classOf(frame []byte) (name []byte, fields, next int, err error) {
	n, o, ok := arrayAt(frame, 0)
	if !ok {
		return nil, 0, 0, &Error{Offset: 0, Err: notArray(frame)}
	}
	if n == 0 {
		return nil, 0, 0, &Error{Offset: 0, Err: errors.New("got an empty array, want a class name and its fields")}
	}
	name, o, ok = textAt(frame, o, kindString)
	if !ok {
		return nil, 0, 0, &Error{Offset: o, Err: fmt.Errorf("the first element is no string, want a class name")}
	}
	return name, n - 1, o, nil
}

func notArray(frame []byte) error {
	if len(frame) == 0 {
		return errors.New("the frame is empty")
	}
	if kindOf(frame[0]) == kindArray {
		return errLength
	}
	return mismatch(frame[0], kindArray)
}

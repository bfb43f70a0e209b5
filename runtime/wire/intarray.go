package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// extIntArray is the ext type of an array of Python's array module.
const extIntArray = 1

// typecode gives an item's size, and whether it is unsigned, as Python's array
// module has them on the 64-bit Unix systems that SGLang runs on.
func typecode(c byte) (size int, unsigned bool, err error) {
	switch c {
	case 'b', 'B':
		size = 1
	case 'h', 'H':
		size = 2
	case 'i', 'I':
		size = 4
	case 'l', 'L', 'q', 'Q':
		size = 8
	default:
		return 0, false, fmt.Errorf("got array typecode %q, want one of bBhHiIlLqQ", string(rune(c)))
	}
	return size, c < 'a', nil
}

// intPayload splits the payload of ext type 1 into typecode and raw items.
func intPayload(data []byte) (code byte, raw []byte, err error) {
	if len(data) < 4 {
		return 0, nil, fmt.Errorf("got an integer array of %d bytes, want at least 4", len(data))
	}
	n, data := binary.BigEndian.Uint32(data), data[4:]
	if int64(n) > int64(len(data)) {
		return 0, nil, fmt.Errorf("got metadata of %d bytes in an integer array, want at most the %d that are left", n, len(data))
	}
	text, next, ok := textAt(data[:n], 0, kindString)
	if !ok || next != int(n) || len(text) != 1 {
		return 0, nil, errors.New("the metadata of an integer array is not a string of one typecode")
	}
	return text[0], data[n:], nil
}

// appendInts appends the payload's items to dst.
func appendInts(dst []int64, data []byte) ([]int64, byte, error) {
	code, raw, err := intPayload(data)
	if err != nil {
		return dst, 0, err
	}
	size, unsigned, err := typecode(code)
	if err != nil {
		return dst, 0, err
	}
	if len(raw)%size != 0 {
		return dst, 0, fmt.Errorf("got %d bytes of items in an integer array of typecode %q, want a multiple of %d", len(raw), string(rune(code)), size)
	}
	for ; len(raw) > 0; raw = raw[size:] {
		v, err := item(raw, size, unsigned)
		if err != nil {
			return dst, 0, err
		}
		dst = append(dst, v)
	}
	return dst, code, nil
}

// item reads one little-endian item.
func item(raw []byte, size int, unsigned bool) (int64, error) {
	var u uint64
	switch size {
	case 1:
		u = uint64(raw[0])
	case 2:
		u = uint64(binary.LittleEndian.Uint16(raw))
	case 4:
		u = uint64(binary.LittleEndian.Uint32(raw))
	default:
		u = binary.LittleEndian.Uint64(raw)
	}
	if unsigned {
		if u > math.MaxInt64 {
			return 0, fmt.Errorf("got %d in an integer array, want at most %d", u, int64(math.MaxInt64))
		}
		return int64(u), nil
	}
	shift := 64 - 8*size
	return int64(u<<shift) >> shift, nil
}

// parseInts decodes an ext of type 1.
func parseInts(e Ext) (IntArray, error) {
	if e.Type != extIntArray {
		return IntArray{}, fmt.Errorf("got ext type %d, want %d (an integer array)", e.Type, extIntArray)
	}
	_, raw, err := intPayload(e.Data)
	if err != nil {
		return IntArray{}, err
	}
	values, code, err := appendInts(make([]int64, 0, len(raw)/itemSize(e.Data)), e.Data)
	return IntArray{Typecode: code, Values: values}, err
}

// itemSize is the size of a payload's items, 1 when it has no valid typecode.
func itemSize(data []byte) int {
	code, _, err := intPayload(data)
	if err != nil {
		return 1
	}
	size, _, err := typecode(code)
	if err != nil {
		return 1
	}
	return size
}

// formatInts is the ext of an integer array; its data lies in buf if that is
// large enough.
func formatInts(buf []byte, a IntArray) (Ext, error) {
	code := a.Typecode
	if code == 0 {
		code = 'q'
	}
	size, unsigned, err := typecode(code)
	if err != nil {
		return Ext{}, err
	}
	data := append(slices.Grow(buf[:0], 6+size*len(a.Values)), 0, 0, 0, 2, 0xa1, code)
	for i, v := range a.Values {
		if !fits(v, size, unsigned) {
			return Ext{}, &Error{Field: index(i), Offset: -1, Err: fmt.Errorf("got %d, want a value of array typecode %q", v, string(rune(code)))}
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(v))
		data = append(data, b[:size]...)
	}
	return Ext{Type: extIntArray, Data: data}, nil
}

func fits(v int64, size int, unsigned bool) bool {
	if size == 8 {
		return !unsigned || v >= 0
	}
	bits := 8 * size
	if unsigned {
		return v >= 0 && v < 1<<bits
	}
	return v >= -1<<(bits-1) && v < 1<<(bits-1)
}

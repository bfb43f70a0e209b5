package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// kind is the type of a value.
type kind uint32

const (
	kindBool   kind = 7
	kindString kind = 8
	kindArray  kind = 9
)

// kinds has the name of each and the bytes that one takes, at least for strings.
var kinds = map[kind]struct {
	name  string
	bytes uint64
}{
	0: {"u8", 1}, 1: {"i8", 1}, 2: {"u16", 2}, 3: {"i16", 2}, 4: {"u32", 4}, 5: {"i32", 4}, 6: {"f32", 4}, kindBool: {"bool", 1},
	kindString: {"string", 8}, kindArray: {"array", 12}, 10: {"u64", 8}, 11: {"i64", 8}, 12: {"f64", 8},
}

func (k kind) String() string {
	if known, is := kinds[k]; is {
		return known.name
	}
	return fmt.Sprintf("type %d", uint32(k))
}

// value is a key's: where it lies, checked.
type value struct {
	kind  kind
	array bool
	n     int    // of an array
	raw   []byte // of an array of strings with their lengths, of a string without
}

func (v value) String() string {
	if v.array {
		return fmt.Sprintf("an array of %v", v.kind)
	}
	return v.kind.String()
}

// value reads over a value of the kind.
func (r *reader) value(k kind) value {
	v := value{kind: k}
	switch known, is := kinds[k]; {
	case r.err != nil:
	case !is:
		r.err = fmt.Errorf("a value of %v, expected 0 to 12", k)
	case k == kindArray:
		return r.array()
	case k == kindString:
		v.raw = r.string()
	default:
		v.raw = r.bytes(known.bytes)
		r.checkBools(v)
	}
	return v
}

func (r *reader) array() value {
	v := value{kind: kind(r.u32()), array: true}
	known, is := kinds[v.kind]
	if r.err == nil && (!is || v.kind == kindArray) {
		r.err = fmt.Errorf("an array of %v, expected one of the types that is no array", v.kind)
	}
	if r.err != nil {
		return v
	}
	n := r.count("values", known.bytes)
	v.n = int(n)
	if v.kind != kindString {
		v.raw = r.bytes(n * known.bytes)
		r.checkBools(v)
		return v
	}
	start := r.left
	for i := uint64(0); i < n && r.err == nil; i++ {
		r.string()
	}
	v.raw = start[:len(start)-len(r.left)]
	return v
}

func (r *reader) checkBools(v value) {
	if r.err != nil || v.kind != kindBool {
		return
	}
	for _, b := range v.raw {
		if b > 1 {
			r.err = fmt.Errorf("a bool of %d, expected 0 or 1", b)
		}
	}
}

// integer is the whole number at the start of raw. ok is false for another kind, and
// for one that an int64 does not hold.
func integer(k kind, raw []byte) (n int64, ok bool) {
	switch k {
	case 0:
		return int64(raw[0]), true
	case 1:
		return int64(int8(raw[0])), true
	case 2:
		return int64(binary.LittleEndian.Uint16(raw)), true
	case 3:
		return int64(int16(binary.LittleEndian.Uint16(raw))), true
	case 4:
		return int64(binary.LittleEndian.Uint32(raw)), true
	case 5:
		return int64(int32(binary.LittleEndian.Uint32(raw))), true
	case 10, 11:
		n = int64(binary.LittleEndian.Uint64(raw))
		return n, k == 11 || n >= 0
	}
	return 0, false
}

// float is the number at the start of raw; ok is false for another kind.
func float(k kind, raw []byte) (f float64, ok bool) {
	switch k {
	case 6:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))), true
	case 12:
		return math.Float64frombits(binary.LittleEndian.Uint64(raw)), true
	}
	return 0, false
}

package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Error says what is wrong with a frame, a message or a value, and where.
type Error struct {
	Class  string // the message's class, "" when it is not known
	Field  string // the wire name with the index inside it, such as output_strs[3]
	Offset int    // the byte in the frame, -1 when there is no frame
	Err    error  // what was found and what was expected
}

// Error is "wire: Class.field[i] at byte n: what".
func (e *Error) Error() string {
	where := e.Class
	switch {
	case where == "" && e.Field == "":
		where = "frame"
	case where == "":
		where = e.Field
	case e.Field != "":
		where += "." + e.Field
	}
	if e.Offset >= 0 {
		where += " at byte " + strconv.Itoa(e.Offset)
	}
	return "wire: " + where + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// located makes err an *Error that has at least the given offset.
func located(err error, offset int) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Offset: offset, Err: err}
}

// inside puts an index or a key before the path that err already has.
func inside(err error, step string, offset int) error { return Inside(err, step, offset) }

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }

// named completes err with class and field.
func named(err error, class, field string) error {
	e := located(err, -1)
	e.Class = class
	if field != "" {
		e.Field = field + e.Field
	}
	return e
}

// kind is a set of MessagePack's families of types.
type kind uint16

const (
	kindNil kind = 1 << iota
	kindBool
	kindInt
	kindFloat
	kindString
	kindBin
	kindArray
	kindMap
	kindExt
	kindAny = 1<<iota - 1
)

var kindNames = [...]string{"null", "bool", "int", "float", "string", "bin", "array", "map", "ext"}

func (k kind) String() string {
	if k == kindAny {
		return "any value"
	}
	var names []string
	for i, name := range kindNames {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// kindOf is the family that a MessagePack code belongs to; 0 for the unused code.
func kindOf(c byte) kind { return kinds[c] }

var kinds = func() (t [256]kind) {
	for c := range t {
		t[c] = slowKind(byte(c))
	}
	return t
}()

func slowKind(c byte) kind {
	switch {
	case c <= 0x7f || c >= 0xe0 || c >= 0xcc && c <= 0xd3:
		return kindInt
	case c <= 0x8f || c == 0xde || c == 0xdf:
		return kindMap
	case c <= 0x9f || c == 0xdc || c == 0xdd:
		return kindArray
	case c <= 0xbf || c >= 0xd9 && c <= 0xdb:
		return kindString
	case c == 0xc0:
		return kindNil
	case c == 0xc1:
		return 0
	case c == 0xc2 || c == 0xc3:
		return kindBool
	case c <= 0xc6:
		return kindBin
	case c == 0xca || c == 0xcb:
		return kindFloat
	}
	return kindExt
}

func mismatch(got byte, want kind) error {
	return fmt.Errorf("got %v, want %v", kindOf(got), want)
}

package pickle

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The opcodes that are told apart or written, with the names of Lib/pickletools.py.
const (
	opMark       = '('
	opStop       = '.'
	opPop        = '0'
	opNone       = 'N'
	opEmptyList  = ']'
	opAppend     = 'a'
	opAppends    = 'e'
	opBinGet     = 'h'
	opLongBinGet = 'j'
	opSetItems   = 'u'
	opEmptyDict  = '}'
	opProto      = 0x80
	opMemoize    = 0x94
	opFrame      = 0x95
)

// kind is what is known of a value.
type kind uint8

const (
	kindMark kind = iota
	kindNone
	kindAtom // numbers, bool, bytes, bytearray
	kindText
	kindList
	kindTuple
	kindDict
	kindSet
	kindFrozen
	kindGlobal // a class or function
	kindObject // what a call has made
)

var kindNames = [...]string{"a mark", "None", "a number or bytes", "a str", "a list", "a tuple", "a dict", "a set", "a frozenset", "a class or function", "an object"}

func (k kind) String() string { return kindNames[k] }

// oneOf is a set of kinds.
func oneOf(kinds ...kind) (set uint16) {
	for _, k := range kinds {
		set |= 1 << k
	}
	return set
}

func (k kind) in(set uint16) bool { return 1<<k&set != 0 }

// op says what an opcode does to the stack.
type op struct {
	name  string // "" for a byte that is no opcode
	does  effect
	kind  kind     // of the value that it pushes or makes
	fixed uint8    // bytes of the argument
	size  uint8    // or bytes of a length before as many bytes
	takes []uint16 // kinds of the values it takes, the deepest first
	items bool     // it takes what lies above the topmost mark, too
}

type effect uint8

const (
	refused effect = iota
	pushes         // its argument is a value
	opens          // pushes an empty value that will hold others
	makes          // a value of those taken
	changes        // the deepest of those taken; the others become part of it
	marks
	memoizes
	gets
	frames
	starts // only the first opcode does
)

var (
	anything = ^oneOf(kindMark)
	callable = oneOf(kindGlobal, kindObject)
	text     = oneOf(kindText)
	tuple    = oneOf(kindTuple)
	list     = oneOf(kindList, kindObject)
	dict     = oneOf(kindDict, kindObject)
	set      = oneOf(kindSet, kindObject)
)

// ops is indexed by opcode.
var ops = func() (t [256]op) {
	for c, o := range map[byte]op{
		opMark: {name: "MARK", does: marks, kind: kindMark}, opMemoize: {name: "MEMOIZE", does: memoizes},
		opBinGet: {name: "BINGET", does: gets}, opLongBinGet: {name: "LONG_BINGET", does: gets},
		opProto: {name: "PROTO", does: starts}, opFrame: {name: "FRAME", does: frames}, opStop: {name: "STOP"},

		'N': {name: "NONE", does: pushes, kind: kindNone}, 0x88: {name: "NEWTRUE", does: pushes, kind: kindAtom},
		0x89: {name: "NEWFALSE", does: pushes, kind: kindAtom}, 'J': {name: "BININT", does: pushes, kind: kindAtom, fixed: 4},
		'K': {name: "BININT1", does: pushes, kind: kindAtom, fixed: 1}, 'M': {name: "BININT2", does: pushes, kind: kindAtom, fixed: 2},
		'G': {name: "BINFLOAT", does: pushes, kind: kindAtom, fixed: 8}, 0x8a: {name: "LONG1", does: pushes, kind: kindAtom, size: 1},
		0x8b: {name: "LONG4", does: pushes, kind: kindAtom, size: 4}, 0x8c: {name: "SHORT_BINUNICODE", does: pushes, kind: kindText, size: 1},
		'X': {name: "BINUNICODE", does: pushes, kind: kindText, size: 4}, 0x8d: {name: "BINUNICODE8", does: pushes, kind: kindText, size: 8},
		'C': {name: "SHORT_BINBYTES", does: pushes, kind: kindAtom, size: 1}, 'B': {name: "BINBYTES", does: pushes, kind: kindAtom, size: 4},
		0x8e: {name: "BINBYTES8", does: pushes, kind: kindAtom, size: 8}, 0x96: {name: "BYTEARRAY8", does: pushes, kind: kindAtom, size: 8},
		opEmptyList: {name: "EMPTY_LIST", does: opens, kind: kindList}, opEmptyDict: {name: "EMPTY_DICT", does: opens, kind: kindDict},
		0x8f: {name: "EMPTY_SET", does: pushes, kind: kindSet}, ')': {name: "EMPTY_TUPLE", does: pushes, kind: kindTuple},

		0x85: {name: "TUPLE1", does: makes, kind: kindTuple, takes: []uint16{anything}},
		0x86: {name: "TUPLE2", does: makes, kind: kindTuple, takes: []uint16{anything, anything}},
		0x87: {name: "TUPLE3", does: makes, kind: kindTuple, takes: []uint16{anything, anything, anything}},
		't':  {name: "TUPLE", does: makes, kind: kindTuple, items: true},
		0x91: {name: "FROZENSET", does: makes, kind: kindFrozen, items: true},
		0x93: {name: "STACK_GLOBAL", does: makes, kind: kindGlobal, takes: []uint16{text, text}},
		'R':  {name: "REDUCE", does: makes, kind: kindObject, takes: []uint16{callable, tuple}},
		0x81: {name: "NEWOBJ", does: makes, kind: kindObject, takes: []uint16{callable, tuple}},
		0x92: {name: "NEWOBJ_EX", does: makes, kind: kindObject, takes: []uint16{callable, tuple, oneOf(kindDict)}},

		opAppend:   {name: "APPEND", does: changes, takes: []uint16{list, anything}},
		opAppends:  {name: "APPENDS", does: changes, takes: []uint16{list}, items: true},
		's':        {name: "SETITEM", does: changes, takes: []uint16{dict, anything, anything}},
		opSetItems: {name: "SETITEMS", does: changes, takes: []uint16{dict}, items: true},
		0x90:       {name: "ADDITEMS", does: changes, takes: []uint16{set}, items: true},
		'b':        {name: "BUILD", does: changes, takes: []uint16{oneOf(kindObject), anything}},
	} {
		t[c] = o
	}
	for c, name := range map[byte]string{
		opPop: "POP", '1': "POP_MARK", '2': "DUP", 'F': "FLOAT", 'I': "INT", 'L': "LONG", 'P': "PERSID", 'Q': "BINPERSID",
		'S': "STRING", 'T': "BINSTRING", 'U': "SHORT_BINSTRING", 'V': "UNICODE", 'c': "GLOBAL", 'd': "DICT", 'g': "GET", 'i': "INST",
		'l': "LIST", 'o': "OBJ", 'p': "PUT", 'q': "BINPUT", 'r': "LONG_BINPUT", 0x82: "EXT1", 0x83: "EXT2", 0x84: "EXT4",
		0x97: "NEXT_BUFFER", 0x98: "READONLY_BUFFER",
	} {
		t[c].name = name
	}
	return t
}()

// opName is an opcode for an error.
func opName(c byte) string {
	if ops[c].name != "" {
		return ops[c].name
	}
	return "byte 0x" + strconv.FormatUint(uint64(c), 16)
}

// kindSet16 prints a set of kinds.
type kindSet16 uint16

func (s kindSet16) String() string {
	if uint16(s) == anything {
		return "a value"
	}
	var names []string
	for k, name := range kindNames {
		if kind(k).in(uint16(s)) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

func tooLong(n int) error {
	return fmt.Errorf("got %d bytes, want at most %d", n, math.MaxInt32)
}

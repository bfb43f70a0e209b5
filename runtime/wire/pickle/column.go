package pickle

import (
	"errors"
	"fmt"
	"strconv"
)

// Error says what is wrong with a pickle, and where.
type Error struct {
	Op     string // the opcode's name in pickletools, "" at the end of the bytes
	Offset int    // of the opcode
	Err    error
}

// Error is "pickle: OPCODE at byte n: what".
func (e *Error) Error() string {
	op := e.Op
	if op == "" {
		op = "end"
	}
	return "pickle: " + op + " at byte " + strconv.Itoa(e.Offset) + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Column is a pickled column that can be cut. The zero Column is a null one. It
// keeps its buffers from one Parse to the next, and the pickle itself, which
// must not change until then. Writing rows changes notes inside it: a Column is
// for one goroutine.
type Column struct {
	data  []byte
	stack []slot
	marks []int32 // where the marks lie on the stack
	memo  []int32 // the node that each number of the memo stands for
	nodes []node
	edits []edit
	kids  []slot // what lists, tuples and dicts hold, a chunk after the other
	parts []chunk

	wanted  []int32 // the nodes that gets want
	itself  bool    // a value refers to itself
	holdAll bool    // kids has what is inside the rows, too

	dict  bool
	lists []entries // of a list one, of a dict one for each key
	rows  int       // of the longest list

	epoch uint32  // of the row being written
	open  []place // definitions being written into each other
	one   [1]int32
}

// slot is a value on the stack: a span of bytes.
type slot struct {
	start, end int32
	edit       int32 // the first one in it
	node       int32 // -1 for a value that is not in the memo and holds no kids
	kind       kind
	fetched    bool // from the memo: node is another value's
}

// node is a value that is in the memo, or that holds others.
type node struct {
	start, end    int32
	edit, endEdit int32 // the first edit in it, and the first behind
	first, last   int32 // chunks of what it holds, -1
	next          int32 // the next node that starts before the same edit, -1; outer ones first
	epoch, number uint32
	kind          kind
	memoized      bool
	wanted        bool // by a get
	skipped       bool // it holds more than is noted
}

// edit is an opcode that is not copied.
type edit struct {
	pos    int32
	node   int32 // of a memoize or a get
	starts int32 // a chain of memoized nodes that start between the edit before and this one, -1
	deep   uint8 // length of the chain
	size   uint8
	kind   editKind
}

type editKind uint8

const (
	editEnd editKind = iota // of the pickle: nothing to write
	editMemoize
	editGet
	editDrop
)

// chunk is some of what a node holds: kids[from:from+n].
type chunk struct{ from, n, next int32 }

// entries is a list with an entry a row: kids[from:from+n], null with n -1. In a
// dict it has a key.
type entries struct {
	key     slot
	from, n int32
}

// Null says whether every row is null.
func (c *Column) Null() bool { return len(c.lists) == 0 }

var (
	errShape   = errors.New("want a list with an entry a row, or a dict of such lists")
	errSkipped = errors.New("a list of the column was defined inside a row")
)

// Parse reads a column. After an error the Column is a null one.
func (c *Column) Parse(data []byte) error {
	err := c.parse(data, false)
	if errors.Is(err, errSkipped) {
		err = c.parse(data, true)
	}
	if err == nil {
		err = c.bound()
	}
	if err != nil {
		c.reset(nil)
	}
	return err
}

func (c *Column) parse(data []byte, holdAll bool) error {
	c.reset(data)
	c.holdAll = holdAll
	if err := c.run(); err != nil {
		return err
	}
	return c.shape()
}

func (c *Column) reset(data []byte) {
	c.data = data
	c.stack, c.marks, c.memo, c.nodes, c.edits = c.stack[:0], c.marks[:0], c.memo[:0], c.nodes[:0], c.edits[:0]
	c.kids, c.parts, c.lists, c.open, c.wanted = c.kids[:0], c.parts[:0], c.lists[:0], c.open[:0], c.wanted[:0]
	c.dict, c.rows, c.epoch, c.itself = false, 0, 0, false
}

func (c *Column) fault(pos int, format string, args ...any) error {
	e := &Error{Offset: pos, Err: fmt.Errorf(format, args...)}
	if pos < len(c.data) {
		e.Op = opName(c.data[pos])
	}
	return e
}

// shape finds the lists of the value that run has left on the stack.
func (c *Column) shape() error {
	root := c.stack[0]
	switch root.kind {
	case kindNone:
		return nil
	case kindList, kindTuple:
		from, n, err := c.flat(root.node)
		if err != nil {
			return err
		}
		c.lists = append(c.lists, entries{from: from, n: n})
		c.rows = int(n)
		return nil
	case kindDict:
		c.dict = true
		return c.keys(root.node)
	}
	return c.fault(int(root.start), "the column is %v, %w", root.kind, errShape)
}

func (c *Column) keys(node int32) error {
	from, n, err := c.flat(node)
	if err != nil {
		return err
	}
	for i := from; i < from+n; i += 2 {
		e := entries{key: c.kids[i], n: -1}
		switch v := c.kids[i+1]; v.kind {
		case kindNone:
		case kindList, kindTuple:
			if e.from, e.n, err = c.flat(v.node); err != nil {
				return err
			}
		default:
			return c.fault(int(v.start), "a value of the column's dict is %v, %w", v.kind, errShape)
		}
		c.lists = append(c.lists, e)
		c.rows = max(c.rows, int(e.n))
	}
	return nil
}

// flat gives what a node holds as one chunk, and makes it one if it has more. The
// error is errSkipped.
func (c *Column) flat(n int32) (from, size int32, err error) {
	if n >= 0 && c.nodes[n].skipped {
		return 0, 0, errSkipped
	}
	if n < 0 || c.nodes[n].first < 0 {
		return 0, 0, nil
	}
	at := c.nodes[n].first
	if c.parts[at].next < 0 {
		return c.parts[at].from, c.parts[at].n, nil
	}
	from = int32(len(c.kids))
	for ; at >= 0; at = c.parts[at].next {
		p := c.parts[at]
		c.kids = append(c.kids, c.kids[p.from:p.from+p.n]...)
	}
	size = int32(len(c.kids)) - from
	c.nodes[n].first = int32(len(c.parts))
	c.nodes[n].last = c.nodes[n].first
	c.parts = append(c.parts, chunk{from, size, -1})
	return from, size, nil
}

// MaxKept is how many bytes a Column keeps at most for each byte of its pickle.
const MaxKept = 256

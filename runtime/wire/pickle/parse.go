package pickle

import (
	"encoding/binary"
	"math"
)

// maxStarts is how many memoized values may begin at one place, each the first
// part of the next. The pickler's own limit of recursion allows more, but no
// column that we have seen has more than four.
const maxStarts = 32

// run steps through the pickle up to its STOP, which must be its last byte.
func (c *Column) run() error {
	if len(c.data) > math.MaxInt32 {
		return &Error{Err: tooLong(len(c.data))}
	}
	if len(c.data) < 2 || c.data[0] != opProto || c.data[1] < 4 || c.data[1] > 5 {
		return c.fault(0, "want PROTO with 4 or 5 at the start")
	}
	pos := 2
	for pos < len(c.data) && c.data[pos] != opStop {
		next, err := c.step(pos)
		if err != nil {
			return err
		}
		pos = next
	}
	switch {
	case pos == len(c.data):
		return c.fault(pos, "want STOP")
	case len(c.stack) != 1 || len(c.marks) != 0:
		return c.fault(pos, "got %d values and marks on the stack, want one value", len(c.stack))
	case pos != len(c.data)-1:
		return c.fault(pos, "got %d bytes after it, want none", len(c.data)-1-pos)
	}
	c.edit(editEnd, pos, 0, -1)
	return nil
}

// step takes one opcode and returns the offset of the next.
func (c *Column) step(pos int) (int, error) {
	o := &ops[c.data[pos]]
	switch o.does {
	case pushes:
		end := pos + 1 + int(o.fixed)
		if o.size != 0 {
			end = c.sized(o, pos)
		}
		if end > len(c.data) {
			return pos, c.fault(pos, "the pickle ends inside its argument")
		}
		c.push(o.kind, pos, end)
		return end, nil
	case opens:
		s := c.push(o.kind, pos, pos+1)
		s.node = c.add(s, o.kind)
		return pos + 1, nil
	case marks:
		c.marks = append(c.marks, int32(len(c.stack)))
		c.push(kindMark, pos, pos+1)
		return pos + 1, nil
	case memoizes:
		return pos + 1, c.memoize(pos)
	case gets:
		return c.get(pos)
	case makes, changes:
		return pos + 1, c.combine(o, pos)
	case frames:
		return c.frame(pos)
	case starts:
		return pos, c.fault(pos, "got it inside the pickle, want it at the start only")
	}
	return pos, c.fault(pos, "this opcode cannot be split; the package documentation lists those that can")
}

// sized returns the offset after an opcode, a length and as many bytes, or one
// beyond the pickle if that ends before.
func (c *Column) sized(o *op, pos int) int {
	at := pos + 1 + int(o.size)
	if at > len(c.data) {
		return len(c.data) + 1
	}
	n := uint64(c.data[pos+1])
	switch o.size {
	case 4:
		n = uint64(binary.LittleEndian.Uint32(c.data[pos+1:]))
	case 8:
		n = binary.LittleEndian.Uint64(c.data[pos+1:])
	}
	return at + int(min(n, uint64(len(c.data)-at)+1))
}

// push puts a value on the stack, where it stays until the next push.
func (c *Column) push(k kind, pos, end int) *slot {
	s := longer(&c.stack)
	s.start, s.end, s.edit = int32(pos), int32(end), int32(len(c.edits))
	s.node, s.kind, s.fetched = -1, k, false
	return s
}

// longer makes s longer by an element whose fields are all to be set. A literal
// that is appended would be made elsewhere and copied, which takes several times as
// long.
func longer[T any](s *[]T) *T {
	if len(*s) < cap(*s) {
		*s = (*s)[:len(*s)+1]
	} else {
		*s = append(*s, *new(T))
	}
	return &(*s)[len(*s)-1]
}

// edit notes an opcode that is not copied.
func (c *Column) edit(k editKind, pos, size int, node int32) *edit {
	e := longer(&c.edits)
	e.pos, e.node, e.starts = int32(pos), node, -1
	e.deep, e.size, e.kind = 0, uint8(size), k
	return e
}

func (c *Column) frame(pos int) (int, error) {
	end := pos + 9
	if end > len(c.data) || binary.LittleEndian.Uint64(c.data[pos+1:]) > uint64(len(c.data)-end) {
		return pos, c.fault(pos, "the pickle ends inside the frame")
	}
	c.edit(editDrop, pos, 9, -1)
	return end, nil
}

// add makes a node, of a kind, that lies where the value s does.
func (c *Column) add(s *slot, k kind) int32 {
	n := longer(&c.nodes)
	n.start, n.end, n.edit, n.endEdit = s.start, s.end, s.edit, int32(len(c.edits))
	n.first, n.last, n.next = -1, -1, -1
	n.epoch, n.number, n.kind = 0, 0, k
	n.memoized, n.wanted, n.skipped = false, false, false
	return int32(len(c.nodes) - 1)
}

// reach says that the value s goes up to end.
func (c *Column) reach(s *slot, end int) {
	s.end = int32(end)
	if s.node >= 0 && !s.fetched {
		n := &c.nodes[s.node]
		n.end, n.endEdit = s.end, int32(len(c.edits))
		c.itself = c.itself || n.wanted // by a get before this end
	}
}

func (c *Column) memoize(pos int) error {
	if len(c.stack) == 0 || c.stack[len(c.stack)-1].kind == kindMark {
		return c.fault(pos, "got no value on the stack, want one")
	}
	s := &c.stack[len(c.stack)-1]
	if s.node < 0 {
		s.node = c.add(s, s.kind)
	}
	c.memo = append(c.memo, s.node)
	e := c.edit(editDrop, pos, 1, s.node) // one number is enough
	if n := &c.nodes[s.node]; !s.fetched && !n.memoized {
		n.memoized = true
		e.kind = editMemoize
		first := &c.edits[s.edit]
		n.next, first.starts = first.starts, s.node
		if first.deep++; first.deep > maxStarts {
			return c.fault(pos, "more than %d values of the memo begin at byte %d", maxStarts, s.start)
		}
	}
	c.reach(s, pos+1)
	return nil
}

func (c *Column) get(pos int) (int, error) {
	end := pos + 2
	if c.data[pos] == opLongBinGet {
		end = pos + 5
	}
	if end > len(c.data) {
		return pos, c.fault(pos, "the pickle ends inside its argument")
	}
	id := int64(c.data[pos+1])
	if end == pos+5 {
		id = int64(binary.LittleEndian.Uint32(c.data[pos+1:]))
	}
	if id >= int64(len(c.memo)) {
		return pos, c.fault(pos, "got number %d of the memo, want one of the %d there are", id, len(c.memo))
	}
	n := c.memo[id]
	if !c.nodes[n].wanted {
		c.nodes[n].wanted = true
		c.wanted = append(c.wanted, n)
	}
	s := c.push(c.nodes[n].kind, pos, end)
	s.node, s.fetched = n, true
	c.edit(editGet, pos, end-pos, n)
	return end, nil
}

// combine makes a value of those on the top of the stack, or changes one by them.
func (c *Column) combine(o *op, pos int) error {
	top := len(c.stack) // the values taken end here, and what lies above a mark begins
	if o.items {
		if len(c.marks) == 0 {
			return c.fault(pos, "got no MARK on the stack, want one")
		}
		top = int(c.marks[len(c.marks)-1])
	}
	base := top - len(o.takes)
	if base < 0 {
		return c.fault(pos, "got %d values on the stack, want %d", top, len(o.takes))
	}
	for i, want := range o.takes {
		if k := c.stack[base+i].kind; !k.in(want) {
			return c.fault(pos, "got %v on the stack, want %v", k, kindSet16(want))
		}
	}
	parts := c.stack[base:]
	if o.items {
		c.marks = c.marks[:len(c.marks)-1]
		parts = c.stack[top+1:]
	}
	if o.does == changes {
		return c.change(o, pos, base, parts)
	}
	made, node := &c.stack[base], int32(-1)
	if o.kind == kindTuple {
		node = c.add(made, o.kind)
		c.hold(node, parts) // made is still one of them
	}
	made.kind, made.node, made.fetched = o.kind, node, false
	c.reach(made, pos+1)
	c.stack = c.stack[:base+1]
	return nil
}

func (c *Column) change(o *op, pos, base int, parts []slot) error {
	s := &c.stack[base]
	if !o.items {
		parts = parts[1:]
	}
	if s.fetched {
		return c.fault(pos, "got a value of the memo to change, want one that is being made")
	}
	if c.data[pos] == opSetItems && len(parts)%2 != 0 {
		return c.fault(pos, "got %d keys and values, want pairs", len(parts))
	}
	if s.kind == kindList || s.kind == kindDict {
		c.hold(s.node, parts)
	}
	c.reach(s, pos+1)
	c.stack = c.stack[:base+1]
	return nil
}

// hold notes what a node holds, behind what it holds already. Only the column and
// its lists need that. They lie below less marks than depth, unless one of them is
// a value of the memo that was defined inside a row; shape finds out.
func (c *Column) hold(to int32, parts []slot) {
	if len(parts) == 0 {
		return
	}
	n := &c.nodes[to]
	depth := 1
	if c.stack[0].kind == kindDict {
		depth = 2
	}
	if len(c.marks) >= depth && !c.holdAll {
		n.skipped = true
		return
	}
	if n.last >= 0 && c.parts[n.last].from+c.parts[n.last].n == int32(len(c.kids)) {
		c.parts[n.last].n += int32(len(parts))
	} else {
		at := int32(len(c.parts))
		c.parts = append(c.parts, chunk{int32(len(c.kids)), int32(len(parts)), -1})
		if n.last >= 0 {
			c.parts[n.last].next = at
		} else {
			n.first = at
		}
		n.last = at
	}
	c.kids = append(c.kids, parts...)
}

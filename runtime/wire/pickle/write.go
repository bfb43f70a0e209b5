package pickle

import "encoding/binary"

// place is where writing goes on: the next byte and edit, and where to end.
type place struct {
	pos, end, edit int32
}

// out takes what is written, or only counts it.
type out struct {
	bytes []byte
	count bool
	size  int // when counting: bytes and steps
	limit int // of size: nothing more is written once it is passed
}

func (o *out) copy(b []byte) {
	if o.count {
		o.size += 1 + len(b)
	} else {
		o.bytes = append(o.bytes, b...)
	}
}

// steps counts work that writes nothing.
func (o *out) steps(n int) {
	if o.count {
		o.size += n
	}
}

func (o *out) op(b byte) {
	if o.count {
		o.size += 2
	} else {
		o.bytes = append(o.bytes, b)
	}
}

// AppendRow appends the pickle of row i to dst. ok is false, and nothing is
// appended, when the row is null.
func (c *Column) AppendRow(dst []byte, i int) (_ []byte, ok bool) {
	c.one[0] = int32(i)
	return c.AppendRows(dst, c.one[:])
}

// AppendRows appends one pickle of the given rows to dst. ok is false, and
// nothing is appended, when the column is null, and when it is a list that has
// none of the rows although some were asked for.
func (c *Column) AppendRows(dst []byte, rows []int32) (_ []byte, ok bool) {
	if c.Null() || !c.dict && !c.lists[0].has(rows) {
		return dst, false
	}
	w := out{bytes: dst}
	c.write(&w, rows)
	return w.bytes, true
}

// has says whether the list has any of the rows; with none asked for it does.
func (e *entries) has(rows []int32) bool {
	for _, i := range rows {
		if i < e.n {
			return true
		}
	}
	return len(rows) == 0
}

// write makes one pickle of the rows.
func (c *Column) write(w *out, rows []int32) {
	if c.epoch++; c.epoch == 0 { // after 2^32 pickles of one column
		for i := range c.nodes {
			c.nodes[i].epoch = 0
		}
		c.epoch = 1
	}
	next := uint32(0) // number of the memo
	w.op(opProto)
	w.op(c.data[1])
	if !c.dict {
		c.list(w, &next, &c.lists[0], rows)
		w.op(opStop)
		return
	}
	w.op(opEmptyDict)
	w.op(opMark)
	for k := range c.lists {
		e := &c.lists[k]
		c.span(w, &next, &e.key)
		if e.n < 0 {
			w.op(opNone)
		} else {
			c.list(w, &next, e, rows)
		}
	}
	w.op(opSetItems)
	w.op(opStop)
}

// list writes the list of one column's entries.
func (c *Column) list(w *out, next *uint32, e *entries, rows []int32) {
	w.op(opEmptyList)
	if len(rows) != 1 {
		w.op(opMark)
	}
	for _, i := range rows {
		if i < e.n {
			c.span(w, next, &c.kids[e.from+i])
		} else {
			w.op(opNone)
		}
	}
	if len(rows) != 1 {
		w.op(opAppends)
	} else {
		w.op(opAppend)
	}
}

// span writes the value s, with the definitions of what it fetches and the row
// does not have yet. Where no value refers to itself, each definition is written
// once. Otherwise one may be begun again before it has its number, but each time
// at least one more value has got one meanwhile, so writing ends; bound has
// counted how soon.
func (c *Column) span(w *out, next *uint32, s *slot) {
	c.open = c.open[:0]
	at := place{s.start, s.end, s.edit}
	from := at.pos // of the bytes that are to be copied as they are
	for !w.count || w.size <= w.limit {
		e := &c.edits[at.edit]
		w.steps(1 + int(e.deep))
		if n := c.known(e, at); n != nil {
			w.copy(c.data[from:n.start])
			w.get(n.number)
			at.pos, at.edit = n.end, n.endEdit
			from = at.pos
			continue
		}
		if e.kind == editEnd || e.pos >= at.end {
			w.copy(c.data[from:at.end])
			if len(c.open) == 0 {
				return
			}
			at = c.open[len(c.open)-1]
			c.open = c.open[:len(c.open)-1]
			from = at.pos
			continue
		}
		at.pos, at.edit = e.pos+int32(e.size), at.edit+1
		if e.kind == editMemoize && c.nodes[e.node].epoch != c.epoch {
			c.define(&c.nodes[e.node], next)
			continue
		}
		w.copy(c.data[from:e.pos])
		from = at.pos
		if e.kind == editDrop {
			continue
		}
		n := &c.nodes[e.node]
		switch {
		case e.kind == editMemoize: // inside its own definition
			w.op(opPop)
			w.get(n.number)
			at.pos, at.edit = n.end, n.endEdit
			from = at.pos
		case n.epoch == c.epoch:
			w.get(n.number)
		case n.endEdit == n.edit+1: // its own MEMOIZE is all that there is to note
			w.copy(c.data[n.start:n.end])
			c.define(n, next)
		default:
			if w.count && len(c.open) > 2*len(c.nodes) { // only values that refer to themselves get so far
				w.size = w.limit + 1
			}
			c.open = append(c.open, at)
			at = place{n.start, n.end, n.edit}
			from = at.pos
		}
	}
}

// define gives a value the row's next number.
func (c *Column) define(n *node, next *uint32) {
	n.epoch, n.number = c.epoch, *next
	*next++
}

// known is the outermost value that starts between here and the edit, and that
// the row has already.
func (c *Column) known(e *edit, at place) *node {
	for i := e.starts; i >= 0; i = c.nodes[i].next {
		n := &c.nodes[i]
		if n.epoch == c.epoch && n.start >= at.pos && n.end <= at.end {
			return n
		}
	}
	return nil
}

func (o *out) get(number uint32) {
	if number < 256 {
		o.op(opBinGet)
		o.op(byte(number))
		return
	}
	var b [5]byte
	b[0] = opLongBinGet
	binary.LittleEndian.PutUint32(b[1:], number)
	o.copy(b[:])
}

// MaxRows is how many bytes the rows of a column of size bytes may have together:
// 64 MiB, and 16 for each byte. Each step of the work counts as one more.
func MaxRows(size int) int { return 64<<20 + 16*size }

// bound makes sure that the rows together keep within MaxRows.
func (c *Column) bound() error {
	limit := MaxRows(len(c.data))
	if most, ok := c.estimate(); ok && most <= limit {
		return nil
	}
	w := out{count: true, limit: limit}
	for i := range c.rows {
		c.one[0] = int32(i)
		if c.write(&w, c.one[:]); w.size > limit {
			return c.fault(0, "the first %d of %d rows would have more than %d bytes, since they refer to large values; want less", i+1, c.rows, limit)
		}
	}
	return nil
}

// estimate is above what the rows can have together: every entry and key once a
// row, every definition that anything fetches once a row, every byte of them a
// get that is written with five. ok is false when a value refers to itself, where
// a definition may be written more than once.
func (c *Column) estimate() (most int, ok bool) {
	if c.itself {
		return 0, false
	}
	row, own := 16, 0
	for _, i := range c.wanted {
		row += int(c.nodes[i].end - c.nodes[i].start)
	}
	for _, e := range c.lists {
		row += int(e.key.end-e.key.start) + 8
		if e.n > 0 {
			own += int(c.kids[e.from+e.n-1].end - c.kids[e.from].start)
		}
	}
	return 5 * (own + row*c.rows), true
}

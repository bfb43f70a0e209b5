package wire

import (
	"fmt"
	"math"
	"slices"
)

const codeNil = 0xc0

// Parse notes where every entry of a BatchTokenIDOutput or BatchEmbeddingOutput
// lies: one pass, with the
// limits of Check, and of each entry no more than its kind is looked at. It
// fails where Take would for every row: on an opaque column that is no list or
// map of lists, a pickle that cannot be cut, and a tensor that would have to
// become text.
func (v *View) Parse(frame []byte) error {
	v.reset()
	if err := v.parse(frame); err != nil {
		v.reset()
		return err
	}
	return nil
}

// reset forgets the frame and keeps the buffers.
func (v *View) reset() {
	if v.cols == nil {
		v.cols = make([]span, len(tokenClass.fields))
		v.metas = make([]meta, len(tokenClass.fields))
	}
	for i := range v.cols {
		v.cols[i] = nullSpan
		v.metas[i] = meta{null: true}
	}
	v.by, v.frame, v.rids, v.rows = nil, nil, "", 0
	v.off, v.keys, v.ops, v.lit = v.off[:0], v.keys[:0], v.ops[:0], v.lit[:0]
}

func (v *View) parse(frame []byte) error {
	if uint64(len(frame)) > math.MaxUint32 {
		return &Error{Offset: -1, Err: fmt.Errorf("got a frame of %d bytes, want at most %d", len(frame), uint32(math.MaxUint32))}
	}
	by, err := passageOf(frame)
	if err != nil {
		return err
	}
	n, o, err := by.in.header(frame)
	if err != nil {
		return err
	}
	v.by, v.frame = by, frame
	for i := range n {
		f := &by.in.fields[i]
		if f.opaque {
			o, err = v.opaque(i, o)
		} else {
			v.cols[i], o, err = v.list(frame, o, MaxDepth-1, f.column.rowKinds())
		}
		if err != nil {
			return named(located(err, o), by.in.name, f.name)
		}
	}
	if o != len(frame) {
		return &Error{Class: by.in.name, Offset: o, Err: errTrailing}
	}
	v.rows = max(0, v.cols[atRIDs].n)
	return v.plan()
}

// list notes the entries of the list (or null) at o, which must be of the given
// kinds, and returns the offset after it. On an error that is where it is.
func (v *View) list(b []byte, o, depth int, want kind) (span, int, error) {
	if o >= len(b) {
		return nullSpan, o, errTruncated
	}
	if b[o] == codeNil {
		return nullSpan, o + 1, nil
	}
	n, next, ok := arrayAt(b, o)
	if !ok {
		return nullSpan, o, notList(b, o)
	}
	if depth == 0 {
		return nullSpan, o, errDepth
	}
	o = next
	s := span{base: len(v.off), n: n}
	v.off = slices.Grow(v.off, n+1)
	off := v.off[s.base : s.base+n+1]
	for i := range n {
		off[i] = uint32(o)
		if o+1 < len(b) && kinds[b[o]]&want != 0 {
			s := &steps[b[o]]
			if size := int(s.size) + int(s.length&b[o+1]); size != 0 && size <= len(b)-o {
				o += size
				continue
			}
		}
		end, err := v.item(b, o, depth-1, want)
		if err != nil {
			return nullSpan, end, inside(err, index(i), end)
		}
		o = end
	}
	off[n] = uint32(o)
	v.off = v.off[:s.base+n+1]
	return s, o, nil
}

// steps is what it takes to step over most entries: size and, where length is 0xff,
// the byte behind the code. Items that need more (containers, longer lengths) have
// size 0.
var steps = func() (t [256]struct{ size, length uint8 }) {
	for c, s := range shapes {
		switch {
		case s.items > 0 || s.illegal:
		case s.length == 0:
			t[c].size = s.fixed
		case s.length == 1:
			t[c].size, t[c].length = s.fixed, 0xff
		}
	}
	return t
}()

// item steps over one entry.
func (v *View) item(b []byte, o, depth int, want kind) (int, error) {
	if o >= len(b) {
		return o, errTruncated
	}
	c := b[o]
	if kindOf(c)&want == 0 {
		if kindOf(c) == 0 {
			return o, errCode
		}
		return o, mismatch(c, want)
	}
	return v.walk.skip(b, o, depth)
}

func notList(b []byte, o int) error {
	if kindOf(b[o]) == kindArray {
		return errLength
	}
	return mismatch(b[o], kindArray|kindNil)
}

// opaque notes the rows of an opaque column.
func (v *View) opaque(i, o int) (int, error) {
	b := v.frame
	if o >= len(b) {
		return o, errTruncated
	}
	name, data, wrapped := wrapperAt(b, o)
	if !wrapped {
		return v.rowsOf(i, b, o, MaxDepth-1)
	}
	end := o + wrapperLen(b, o)
	if name == PickleWrapper {
		return end, v.parsePickle(i, o, data)
	}
	at, err := v.rowsOf(i, b[:end], end-len(data), MaxDepth)
	if err == nil && at != end {
		err = errTrailing
	}
	v.metas[i].wrapped = true
	return at, err
}

// rowsOf notes the rows of an opaque value: a list, a map of lists, or null.
func (v *View) rowsOf(i int, b []byte, o, depth int) (end int, err error) {
	m := &v.metas[i]
	if o >= len(b) {
		return o, errTruncated
	}
	switch kindOf(b[o]) {
	case kindNil:
		return o + 1, nil
	case kindArray:
		m.null = false
		m.list, end, err = v.list(b, o, depth, kindAny)
		return end, err
	case kindMap:
		m.null, m.dict = false, true
		return v.dict(m, b, o, depth)
	}
	return o, fmt.Errorf("got an opaque %v, %w", kindOf(b[o]), errOpaqueShape)
}

func (v *View) dict(m *meta, b []byte, o, depth int) (int, error) {
	n, next, ok := containerAt(b, o, 2)
	if !ok {
		return o, errLength
	}
	o = next
	m.first = len(v.keys)
	for range n {
		value, err := v.item(b, o, depth-1, kindAny)
		if err != nil {
			return value, err
		}
		k := key{start: o, end: value}
		k.list, o, err = v.list(b, value, depth-1, kindAny)
		if err != nil {
			return o, err
		}
		v.keys = append(v.keys, k)
	}
	m.last = len(v.keys)
	return o, nil
}

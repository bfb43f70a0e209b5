package wire

import (
	"encoding/binary"
	"math"
	"slices"
)

// op is one step in writing what is sent on: the constant bytes up to lit, then
// a column.
type op struct {
	lit  int // end of the constant bytes before it, in View.lit
	kind opKind
	list span  // opList, opIPC, opFinish
	meta *meta // opMeta
}

type opKind uint8

const (
	opList opKind = iota
	opIPC
	opFinish
	opText
	opMeta
)

// opKinds are the fields that are not plain lists.
var opKinds = map[string]opKind{
	"http_worker_ipcs": opIPC,
	"finished_reasons": opFinish,
	outOnly:            opText,
}

// plan makes the ops of the batch: null columns become constant bytes.
func (v *View) plan() error {
	v.lit = append(v.lit, v.by.head...)
	for i, kind := range v.by.kinds {
		o := op{kind: kind, list: nullSpan}
		null := false
		if src := v.by.source[i]; src >= 0 {
			o.list, o.meta = v.cols[src], &v.metas[src]
			null = o.list.n < 0 && (kind != opMeta || o.meta.null)
			if err := v.textual(i, src); err != nil {
				return err
			}
		}
		if null && kind != opFinish && kind != opIPC {
			v.lit = append(v.lit, codeNil)
			continue
		}
		o.lit = len(v.lit)
		v.ops = append(v.ops, o)
	}
	return nil
}

// textual makes sure that a column of tensors that would become text is null in
// every row, as BatchTokenIDOutput.Str does.
func (v *View) textual(dst, src int) error {
	want := v.by.out.fields[dst].column.rowKinds()
	if s := v.cols[src]; s.n > 0 && v.by.in.fields[src].column.rowKinds() != want {
		for i := range s.n {
			if kindOf(v.entry(s, i)[0])&want == 0 {
				return v.fault(src, i, errTensor)
			}
		}
	}
	return nil
}

// AppendRow appends the frame of row i alone to dst, with http_worker_ipcs null: a
// BatchStrOutput, or a BatchEmbeddingOutput if that is what was parsed. text
// becomes output_strs[i], and is not used for embeddings; finish, if not nil, is
// MessagePack that takes the place of the finish reason.
func (v *View) AppendRow(dst []byte, i int, text []byte, finish []byte) []byte {
	done := 0
	for k := range v.ops {
		o := &v.ops[k]
		dst = append(dst, v.lit[done:o.lit]...)
		done = o.lit
		switch {
		case o.kind == opText:
			dst = appendText(append(dst, 0x91), text)
		case o.kind == opIPC:
			dst = append(dst, codeNil)
		case o.kind == opFinish && finish != nil:
			dst = append(append(dst, 0x91), finish...)
		case o.kind == opMeta:
			dst = v.appendMetaRow(dst, o.meta, i)
		case i < o.list.n:
			dst = append(append(dst, 0x91), v.entry(o.list, i)...)
		default:
			dst = append(dst, codeNil)
		}
	}
	return append(dst, v.lit[done:]...)
}

// appendMetaRow appends one row of an opaque column: [v[i]], or {k: [v[i]]}.
func (v *View) appendMetaRow(dst []byte, m *meta, i int) []byte {
	if m.pickle != nil {
		v.one[0] = int32(i)
		return v.appendPickle(dst, m.pickle, v.one[:])
	}
	if m.null || !m.dict && i >= m.list.n {
		return append(dst, codeNil)
	}
	if m.wrapped {
		dst = appendWrapper(dst, MsgpackWrapper, v.metaRowSize(m, i))
	}
	if !m.dict {
		return append(append(dst, 0x91), v.entry(m.list, i)...)
	}
	dst = appendHead(dst, 0x80, 0xde, m.last-m.first)
	for _, k := range v.keys[m.first:m.last] {
		dst = append(dst, v.frame[k.start:k.end]...)
		switch {
		case k.list.n < 0:
			dst = append(dst, codeNil)
		case i < k.list.n:
			dst = append(append(dst, 0x91), v.entry(k.list, i)...)
		default:
			dst = append(dst, 0x91, codeNil)
		}
	}
	return dst
}

func (v *View) metaRowSize(m *meta, i int) int {
	if !m.dict {
		return 1 + v.entrySize(m.list, i)
	}
	size := headSize(m.last - m.first)
	for _, k := range v.keys[m.first:m.last] {
		size += k.end - k.start + 1
		if k.list.n >= 0 {
			size += v.entrySize(k.list, i)
		}
	}
	return size
}

// entrySize is the size of an entry, of a null for a row that the list lacks.
func (v *View) entrySize(s span, i int) int {
	if i >= s.n {
		return 1
	}
	return int(v.off[s.base+i+1] - v.off[s.base+i])
}

// AppendRows appends the frame of one message of the given rows to dst, of
// AppendRow's class, with http_worker_ipcs from the batch. texts gives the text of
// rows[k], and may be nil for embeddings; finish, if not nil, gives MessagePack that takes the place of rows[k]'s finish reason,
// or nil. Both may be called more than once for a k.
func (v *View) AppendRows(dst []byte, rows []int32, texts func(k int) []byte, finish func(k int) []byte) []byte {
	done := 0
	for k := range v.ops {
		o := &v.ops[k]
		dst = append(dst, v.lit[done:o.lit]...)
		done = o.lit
		switch {
		case o.kind == opText:
			dst = appendHead(dst, 0x90, 0xdc, len(rows))
			for k := range rows {
				dst = appendText(dst, texts(k))
			}
		case o.kind == opFinish && finish != nil:
			dst = v.appendFinishes(dst, o.list, rows, finish)
		case o.kind == opMeta:
			dst = v.appendMeta(dst, o.meta, rows)
		case v.covers(o.list, rows):
			dst = v.appendList(dst, o.list, rows)
		default:
			dst = append(dst, codeNil)
		}
	}
	return append(dst, v.lit[done:]...)
}

// covers says whether the list has any of the rows; with none asked for, whether
// it is not null.
func (v *View) covers(s span, rows []int32) bool {
	for _, i := range rows {
		if int(i) < s.n {
			return true
		}
	}
	return len(rows) == 0 && s.n >= 0
}

func (v *View) appendList(dst []byte, s span, rows []int32) []byte {
	dst = appendHead(dst, 0x90, 0xdc, len(rows))
	list := v.frame[v.off[s.base]:v.off[s.base+s.n]]
	if len(list) == s.n {
		return appendBytes(dst, list, rows)
	}
	for _, i := range rows {
		if int(i) < s.n {
			dst = append(dst, v.entry(s, int(i))...)
		} else {
			dst = append(dst, codeNil)
		}
	}
	return dst
}

// appendBytes is appendList for a list whose entries are of one byte each, as are
// flags, nulls and small numbers.
func appendBytes(dst, list []byte, rows []int32) []byte {
	at := len(dst)
	dst = slices.Grow(dst, len(rows))[:at+len(rows)]
	to := dst[at:]
	for k, i := range rows {
		to[k] = codeNil
		if int(i) < len(list) {
			to[k] = list[i]
		}
	}
	return dst
}

func (v *View) appendFinishes(dst []byte, s span, rows []int32, finish func(k int) []byte) []byte {
	any := v.covers(s, rows)
	for k := 0; k < len(rows) && !any; k++ {
		any = finish(k) != nil
	}
	if !any {
		return append(dst, codeNil)
	}
	dst = appendHead(dst, 0x90, 0xdc, len(rows))
	for k, i := range rows {
		switch raw := finish(k); {
		case raw != nil:
			dst = append(dst, raw...)
		case int(i) < s.n:
			dst = append(dst, v.entry(s, int(i))...)
		default:
			dst = append(dst, codeNil)
		}
	}
	return dst
}

// appendMeta appends rows of an opaque column.
func (v *View) appendMeta(dst []byte, m *meta, rows []int32) []byte {
	if m.pickle != nil {
		return v.appendPickle(dst, m.pickle, rows)
	}
	if m.null || !m.dict && !v.covers(m.list, rows) {
		return append(dst, codeNil)
	}
	if m.wrapped {
		dst = appendWrapper(dst, MsgpackWrapper, v.metaSize(m, rows))
	}
	if !m.dict {
		return v.appendList(dst, m.list, rows)
	}
	dst = appendHead(dst, 0x80, 0xde, m.last-m.first)
	for _, k := range v.keys[m.first:m.last] {
		dst = append(dst, v.frame[k.start:k.end]...)
		if k.list.n < 0 {
			dst = append(dst, codeNil)
		} else {
			dst = v.appendList(dst, k.list, rows)
		}
	}
	return dst
}

func (v *View) metaSize(m *meta, rows []int32) int {
	if !m.dict {
		return v.listSize(m.list, rows)
	}
	size := headSize(m.last - m.first)
	for _, k := range v.keys[m.first:m.last] {
		size += k.end - k.start
		if k.list.n < 0 {
			size++
		} else {
			size += v.listSize(k.list, rows)
		}
	}
	return size
}

func (v *View) listSize(s span, rows []int32) int {
	size := headSize(len(rows))
	for _, i := range rows {
		size += v.entrySize(s, int(i))
	}
	return size
}

// appendHead appends the header of an array (0x90, 0xdc) or a map (0x80, 0xde).
func appendHead(dst []byte, fix, code16 byte, n int) []byte {
	switch {
	case n < 16:
		return append(dst, fix|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, code16), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, code16+1), uint32(n))
}

func headSize(n int) int {
	switch {
	case n < 16:
		return 1
	case n <= math.MaxUint16:
		return 3
	}
	return 5
}

func appendText(dst, text []byte) []byte {
	if len(text) < 32 {
		return append(append(dst, 0xa0|byte(len(text))), text...)
	}
	return append(appendLength(dst, 0xd9, len(text)), text...)
}

// appendLength appends the code and length of a str (0xd9) or bin (0xc4).
func appendLength(dst []byte, code byte, n int) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(dst, code, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, code+1), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, code+2), uint32(n))
}

// appendWrapper appends the tagged pair up to its size bytes of content.
func appendWrapper(dst []byte, name string, size int) []byte {
	dst = append(dst, 0x92)
	dst = append(dst, 0xa0|byte(len(name)))
	dst = append(dst, name...)
	return appendLength(dst, 0xc4, size)
}

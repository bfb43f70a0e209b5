package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// View reads a batch's frame where it lies: it knows where every entry of every
// column starts, and makes what is sent on out of the entries' bytes:
// BatchStrOutputs of a BatchTokenIDOutput, BatchEmbeddingOutputs of a
// BatchEmbeddingOutput. It keeps its buffers from one Parse to the next, and the frame itself,
// which must not change until then. A View is for one goroutine. Rows given to
// its methods must lie in [0, Rows()), like indices of a slice.
type View struct {
	by    *passage
	frame []byte
	rows  int
	off   []uint32 // where entries start, column after column, each with its end
	cols  []span   // by the field's place in its class
	metas []meta   // likewise; only those of opaque fields are used
	keys  []key    // of every opaque map, map after map
	ops   []op
	lit   []byte // what is the same in every row, cut by ops
	rids  string
	walk  walker
	pickles
}

// span is a list: n entries, of which entry i lies in frame[off[base+i]:off[base+i+1]].
// A null list has n -1.
type span struct{ base, n int }

var nullSpan = span{n: -1}

// key is one entry of an opaque map: the key's bytes, and its list.
type key struct {
	start, end int
	list       span
}

// meta is an opaque column.
type meta struct {
	null, dict, wrapped bool
	list                span    // of a list
	first, last         int     // of a map: its part of keys
	pickle              pickled // which has neither, nil if it is none
}

// Rows is the number of rows.
func (v *View) Rows() int { return v.rows }

// Class is the class of the frame, "" when Parse has failed.
func (v *View) Class() string {
	if v.by == nil {
		return ""
	}
	return v.by.in.name
}

func (v *View) entry(s span, i int) []byte {
	return v.frame[v.off[s.base+i]:v.off[s.base+i+1]]
}

// Places of the fields that every batch begins with.
const (
	atRIDs = iota
	atIPCs
	atFinish
)

// Places of the fields that are for the detokenizer. Other batches than a
// BatchTokenIDOutput do not have them.
var (
	atDecodedTexts  = tokenClass.byName["decoded_texts"]
	atDecodeIDs     = tokenClass.byName["decode_ids"]
	atReadOffsets   = tokenClass.byName["read_offsets"]
	atSkipSpecial   = tokenClass.byName["skip_special_tokens"]
	atSpacesBetween = tokenClass.byName["spaces_between_special_tokens"]
	atNoStopTrim    = tokenClass.byName["no_stop_trim"]
)

// value is the bytes of row i of a field, nil when it is null or the column is
// short.
func (v *View) value(field, i int) []byte {
	s := v.cols[field]
	if i >= s.n {
		return nil
	}
	if b := v.entry(s, i); b[0] != codeNil {
		return b
	}
	return nil
}

// required is value of a field that is for the detokenizer, and an error for
// null and for batches without the field.
func (v *View) required(field, i int) ([]byte, error) {
	if v.by.in != tokenClass {
		return nil, &Error{Class: v.by.in.name, Offset: -1, Err: fmt.Errorf("the class has no field %s", tokenClass.fields[field].name)}
	}
	b := v.value(field, i)
	if b == nil {
		return nil, v.fault(field, i, fmt.Errorf("got null, want %v", tokenClass.fields[field].column.rowKinds()&^kindNil))
	}
	return b, nil
}

// fault is an error about row i of a field.
func (v *View) fault(field, i int, cause error) error {
	e := &Error{Class: v.by.in.name, Field: v.by.in.fields[field].name + index(i), Offset: -1, Err: cause}
	if s := v.cols[field]; i < s.n {
		e.Offset = int(v.off[s.base+i])
	}
	return e
}

// RID is row i's rid. The first call after Parse makes one string of the whole
// column, of which every rid is a part.
func (v *View) RID(i int) string {
	s := v.cols[atRIDs]
	first := v.off[s.base]
	if v.rids == "" {
		v.rids = string(v.frame[first:v.off[s.base+s.n]])
	}
	text := v.rids[v.off[s.base+i]-first : v.off[s.base+i+1]-first]
	return text[textHead(text[0]):]
}

// textHead is the number of bytes before a string's first byte.
func textHead(code byte) int {
	if shapes[code].length == 0 {
		return 1
	}
	return int(shapes[code].fixed)
}

// text is a string's bytes in the frame, nil for null.
func (v *View) text(field, i int) []byte {
	b := v.value(field, i)
	if b == nil {
		return nil
	}
	return b[textHead(b[0]):len(b):len(b)]
}

// IPC is row i's http_worker_ipc, nil when it is null. It points into the frame.
func (v *View) IPC(i int) []byte { return v.text(atIPCs, i) }

// DecodedText is row i of decoded_texts, nil when it is null or the class has no
// such field. It points into the frame.
func (v *View) DecodedText(i int) []byte {
	if v.by.in != tokenClass {
		return nil
	}
	return v.text(atDecodedTexts, i)
}

// DecodeIDs appends row i of decode_ids to dst.
func (v *View) DecodeIDs(dst []int64, i int) ([]int64, error) {
	b, err := v.required(atDecodeIDs, i)
	if err != nil {
		return dst, err
	}
	typ, data := extParts(b)
	if typ != extIntArray {
		return dst, v.fault(atDecodeIDs, i, fmt.Errorf("got ext type %d, want %d (an integer array)", typ, extIntArray))
	}
	out, _, err := appendInts(dst, data)
	if err != nil {
		return dst, v.fault(atDecodeIDs, i, err)
	}
	return out, nil
}

// extParts splits a whole ext item.
func extParts(b []byte) (typ int8, data []byte) {
	head := 2
	if s := shapes[b[0]]; s.length > 0 {
		head = int(s.fixed)
	}
	return int8(b[head-1]), b[head:]
}

// ReadOffset is row i of read_offsets.
func (v *View) ReadOffset(i int) (int, error) {
	b, err := v.required(atReadOffsets, i)
	if err != nil {
		return 0, err
	}
	n, err := intAt(b)
	if err == nil && int64(int(n)) != n {
		err = fmt.Errorf("got %d, want an int", n)
	}
	if err != nil {
		return 0, v.fault(atReadOffsets, i, err)
	}
	return int(n), nil
}

// intAt reads a whole integer item.
func intAt(b []byte) (int64, error) {
	switch b[0] {
	case 0xcc:
		return int64(b[1]), nil
	case 0xcd:
		return int64(binary.BigEndian.Uint16(b[1:])), nil
	case 0xce:
		return int64(binary.BigEndian.Uint32(b[1:])), nil
	case 0xd0:
		return int64(int8(b[1])), nil
	case 0xd1:
		return int64(int16(binary.BigEndian.Uint16(b[1:]))), nil
	case 0xd2:
		return int64(int32(binary.BigEndian.Uint32(b[1:]))), nil
	case 0xd3:
		return int64(binary.BigEndian.Uint64(b[1:])), nil
	case 0xcf:
		u := binary.BigEndian.Uint64(b[1:])
		if u > math.MaxInt64 {
			return 0, fmt.Errorf("got %d, want an integer up to %d", u, int64(math.MaxInt64))
		}
		return int64(u), nil
	}
	return int64(int8(b[0])), nil
}

// SkipSpecial is row i of skip_special_tokens.
func (v *View) SkipSpecial(i int) (bool, error) { return v.bool(atSkipSpecial, i) }

// SpacesBetween is row i of spaces_between_special_tokens.
func (v *View) SpacesBetween(i int) (bool, error) { return v.bool(atSpacesBetween, i) }

// NoStopTrim is row i of no_stop_trim.
func (v *View) NoStopTrim(i int) (bool, error) { return v.bool(atNoStopTrim, i) }

func (v *View) bool(field, i int) (bool, error) {
	b, err := v.required(field, i)
	if err != nil {
		return false, err
	}
	return b[0] == 0xc3, nil
}

// Finish is row i of finished_reasons: its type, and what was matched. The type
// is nil while the row is running. Both point into the frame.
func (v *View) Finish(i int) (kind []byte, matched Matched, err error) {
	b := v.value(atFinish, i)
	if b == nil {
		return nil, Matched{}, nil
	}
	n, o, _ := containerAt(b, 0, 2)
	for range n {
		name, value, ok := textAt(b, o, kindString)
		if !ok {
			return nil, Matched{}, v.fault(atFinish, i, errors.New("got a key that is no string"))
		}
		if o, err = v.walk.skip(b, value, MaxDepth); err != nil {
			return nil, Matched{}, v.fault(atFinish, i, err)
		}
		switch string(name) {
		case "type":
			if kind, _, ok = textAt(b, value, kindString); !ok {
				return nil, Matched{}, v.fault(atFinish, i, fmt.Errorf("type: %w", mismatch(b[value], kindString)))
			}
		case "matched":
			if matched, err = match(b[value:o]); err != nil {
				return nil, Matched{}, v.fault(atFinish, i, err)
			}
		}
	}
	if kind == nil {
		return nil, Matched{}, v.fault(atFinish, i, errors.New("got a finish reason without a type"))
	}
	return kind, matched, nil
}

// match reads the value of "matched".
func match(b []byte) (m Matched, err error) {
	switch kindOf(b[0]) {
	case kindNil:
		return Matched{}, nil
	case kindString:
		m.Kind = MatchText
		m.Text, _, _ = textAt(b, 0, kindString)
	case kindInt:
		m.Kind = MatchToken
		if m.Token, err = intAt(b); err != nil {
			err = fmt.Errorf("matched: %w", err)
		}
	default:
		m.Kind = MatchOther
	}
	m.Raw = b
	return m, err
}

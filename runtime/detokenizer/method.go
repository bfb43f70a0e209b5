package detokenizer

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
)

// Method is a way to find the text that a row adds.
type Method string

// The methods. The package documentation describes them.
const (
	MethodOffset Method = "offset" // a window of ids, for any vocabulary
	MethodBytes  Method = "bytes"  // a buffer of bytes, for vocabularies of bytes
)

// ByteDecoder is a Decoder whose text is that of its ids' bytes, one after
// another. tokenizer.Bytes is one.
type ByteDecoder interface {
	Decoder
	AppendBytes(dst []byte, ids []int64, skipSpecial bool) []byte
}

// NewMethod makes a Detokenizer without states that uses method m. MethodBytes
// needs a ByteDecoder.
func NewMethod(m Method, d Decoder, o Options) (*Detokenizer, error) {
	detok := New(d, o)
	switch m {
	case MethodOffset:
		return detok, nil
	case MethodBytes:
		b, ok := d.(ByteDecoder)
		if !ok {
			return nil, fmt.Errorf("detokenizer: method %s with a decoder of type %T, expected a vocabulary of bytes", m, d)
		}
		detok.bytes = b
		return detok, nil
	}
	return nil, fmt.Errorf("detokenizer: method %q, expected %s or %s", m, MethodOffset, MethodBytes)
}

// follow returns the text that the row adds behind the bytes held back, and
// holds back anew what may begin a character. It is valid until the next call.
func (d *Detokenizer) follow(e *entry, r Row, first bool) []byte {
	ids := r.DecodeIDs
	if first {
		ids = ids[r.ReadOffset:]
		d.read = d.bytes.AppendBytes(d.read[:0], r.DecodeIDs[:r.ReadOffset], r.SkipSpecial)
		d.surr = e.hold(d.surr[:0], d.read)
		e.promptChar = e.nheld > 0
	}
	if r.stops() && len(ids) > 0 {
		ids = ids[:len(ids)-1]
	}
	d.read = append(d.read[:0], e.held[:e.nheld]...)
	d.read = d.bytes.AppendBytes(d.read, ids, r.SkipSpecial)
	d.surr = e.hold(d.surr[:0], d.read)
	if r.Finish.Done && e.nheld > 0 {
		d.surr = append(d.surr, replacement...)
	}
	if e.promptChar && len(d.surr) > 0 {
		// Whatever became of the prompt's last bytes, it is one character, and
		// the prompt's.
		e.promptChar = false
		return skipRunes(d.surr, 1)
	}
	return d.surr
}

// hold appends the text of raw that is whole to dst, and keeps the rest of raw.
func (e *entry) hold(dst, raw []byte) []byte {
	dst, n := tokenizer.AppendText(dst, raw)
	e.nheld = copy(e.held[:], raw[len(raw)-n:])
	return dst
}

package fanout

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// typed is a received batch as Go values, detokenized.
type typed struct {
	content
	rids []string
	to   []*consumer // of each row; nil for a row that is not sent
}

// content is what the rows of a batch hold.
type content interface {
	// encode makes the frame of some rows.
	encode(dst []byte, rows []int, open wire.Opener, single bool) ([]byte, error)
	// wrapped says whether any column has to be opened for that.
	wrapped() bool
}

// receive decodes a frame, and detokenizes it if it holds token ids. Rows that
// cannot be sent are reported to the post; an error means that the frame is
// unusable.
func (l *line) receive(frame []byte) (*typed, error) {
	m, err := wire.Decode(frame)
	if err != nil {
		return nil, fmt.Errorf("fanout: received frame: %w", err)
	}
	switch m := m.(type) {
	case *wire.BatchTokenIDOutput:
		return l.receiveTokens(m)
	case *wire.BatchEmbeddingOutput:
		return l.receiveEmbeddings(m), nil
	}
	return nil, fmt.Errorf("fanout: received frame: got class %s, want BatchTokenIDOutput or BatchEmbeddingOutput", m.Class())
}

func (l *line) receiveTokens(m *wire.BatchTokenIDOutput) (*typed, error) {
	out, err := m.Str(make([]string, m.Rows()))
	if err != nil {
		return nil, fmt.Errorf("fanout: received batch: %w", err)
	}
	b := &typed{texts{out}, m.RIDs, make([]*consumer, m.Rows())}
	var text []byte
	for i := range b.to {
		text, err = l.detokenizeTyped(text[:0], m, out, i)
		out.OutputStrs[i] = wire.Some(string(text))
		l.address(b, i, m.HTTPWorkerIPCs, err)
	}
	return b, nil
}

// address finds the consumer of row i. err is why the row is an abort, if it is.
func (l *line) address(b *typed, i int, ipcs []wire.Opt[string], err error) {
	known := i < len(ipcs) && ipcs[i].OK
	if !known {
		err = noConsumer(err)
	}
	if err != nil {
		l.post.refuse(b.row(i), known, err)
	}
	if known {
		b.to[i] = l.post.visit(ipcs[i].V)
	}
}

// detokenizeTyped appends row i's text, or turns the row into an abort. The error
// is why it did, unless the row's state was evicted.
func (l *line) detokenizeTyped(dst []byte, m *wire.BatchTokenIDOutput, out *wire.BatchStrOutput, i int) ([]byte, error) {
	r, err := detokenizerRow(m, i)
	if err == nil {
		if dst, err = l.detok.Append(dst, r); err == nil {
			return dst, nil
		}
	}
	if len(out.FinishedReasons) <= i {
		out.FinishedReasons = append(out.FinishedReasons, make([]wire.Map, i+1-len(out.FinishedReasons))...)
	}
	out.FinishedReasons[i] = abortReason(m.RIDs[i], err)
	return dst, unlessEvicted(err)
}

// row is row i for the post.
func (b *typed) row(i int) rows { return rows{first: i, rid: b.rids[i], n: 1} }

// left counts the rows from i on that were still to be sent.
func (b *typed) left(i int) rows {
	r := b.row(i)
	for _, c := range b.to[i+1:] {
		if c != nil {
			r.n++
		}
	}
	return r
}

// texts is the content of a batch of token ids, once detokenized.
type texts struct{ *wire.BatchStrOutput }

func (c texts) wrapped() bool { return wrapped(c.CustomizedInfo) || wrapped(c.TimeStats) }

func (c texts) encode(dst []byte, rows []int, open wire.Opener, single bool) ([]byte, error) {
	m, err := wire.Take(c.BatchStrOutput, rows, open)
	if err != nil {
		return dst, err
	}
	if single {
		m.HTTPWorkerIPCs = nil
	}
	return wire.Encode(dst, m)
}

func wrapped(o *wire.Opaque) bool { return o != nil && o.Wrapper != "" }

// detokenizerRow reads the columns of row i that the detokenizer needs. As in
// wire.View, text from before may be null, the others may not.
func detokenizerRow(m *wire.BatchTokenIDOutput, i int) (r detokenizer.Row, err error) {
	r.RID = m.RIDs[i]
	if i < len(m.DecodedTexts) {
		r.DecodedText = []byte(m.DecodedTexts[i].V)
	}
	ids, err := need("decode_ids", m.DecodeIDs, i)
	if err != nil {
		return r, err
	}
	r.DecodeIDs = ids.Values
	offset, err := need("read_offsets", m.ReadOffsets, i)
	if err != nil {
		return r, err
	}
	if r.ReadOffset = int(offset); int64(r.ReadOffset) != offset {
		return r, fmt.Errorf("read_offsets[%d] is %d, expected an int", i, offset)
	}
	if r.SkipSpecial, err = need("skip_special_tokens", m.SkipSpecialTokens, i); err != nil {
		return r, err
	}
	if r.SpacesBetween, err = need("spaces_between_special_tokens", m.SpacesBetweenSpecialTokens, i); err != nil {
		return r, err
	}
	if r.NoStopTrim, err = need("no_stop_trim", m.NoStopTrim, i); err != nil {
		return r, err
	}
	if i < len(m.FinishedReasons) {
		r.Finish, err = finishOf(m.FinishedReasons[i])
	}
	return r, err
}

func need[T any](field string, column []wire.Opt[T], i int) (v T, err error) {
	if i >= len(column) || !column[i].OK {
		return v, fmt.Errorf("%s[%d] is null, expected a value", field, i)
	}
	return column[i].V, nil
}

func finishOf(reason wire.Map) (f detokenizer.Finish, err error) {
	if reason == nil {
		return f, nil
	}
	kind, _ := reason.Get("type")
	if _, ok := kind.(string); !ok {
		return f, fmt.Errorf("finished_reasons: type is %v, expected a text", kind)
	}
	f.Done = true
	switch matched, _ := reason.Get("matched"); matched := matched.(type) {
	case string:
		f.MatchedText = matched
	case int64:
		f.MatchedToken = true
	case uint64:
		return f, fmt.Errorf("finished_reasons: matched is %d, expected an int64", matched)
	}
	return f, nil
}

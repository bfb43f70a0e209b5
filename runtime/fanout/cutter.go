package fanout

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// cutter reads a received batch where it lies. Its buffers stay from batch to
// batch.
type cutter struct {
	detok *detokenizer.Detokenizer
	view  wire.View
	plain bool // the batch holds nothing to detokenize
	ids   []int64
	text  []byte
	frame []byte
}

func (c *cutter) parse(frame []byte) error {
	if err := c.view.Parse(frame); err != nil {
		return fmt.Errorf("fanout: received frame: %w", err)
	}
	c.plain = c.view.Class() == embeddings
	return nil
}

// embeddings is the class of batches whose rows go on as they came.
const embeddings = "BatchEmbeddingOutput"

// cut detokenizes row i and makes its message. ipc and frame are valid until the
// next call. With an error, ipc is nil where no message can be sent; else the
// message is an abort.
func (c *cutter) cut(i int) (ipc, frame []byte, err error) {
	var finish []byte
	if c.text, finish, err = c.detokenize(c.text[:0], i); err != nil && finish == nil {
		return nil, nil, err
	}
	if ipc = c.view.IPC(i); ipc == nil {
		return nil, nil, noConsumer(err)
	}
	c.frame = c.view.AppendRow(c.frame[:0], i, c.text, finish)
	return ipc, c.frame, err
}

// at is row i for the post.
func (c *cutter) at(i int) rows { return rows{first: i, rid: c.view.RID(i), n: 1} }

// detokenize appends row i's text, if it has any, to dst. finish, if not nil,
// replaces the row's finish reason: with an error, by an abort that tells of it.
func (c *cutter) detokenize(dst []byte, i int) (text, finish []byte, err error) {
	if c.plain {
		return dst, nil, nil
	}
	r, err := c.row(i)
	if err == nil {
		if dst, err = c.detok.Append(dst, r); err == nil {
			return dst, nil, nil
		}
	}
	finish, failed := abortBytes(c.view.RID(i), err)
	if failed != nil {
		return dst, nil, failed
	}
	return dst, finish, unlessEvicted(err)
}

// row reads what the detokenizer needs. The row is valid until the next call.
func (c *cutter) row(i int) (r detokenizer.Row, err error) {
	v := &c.view
	r.RID, r.DecodedText = v.RID(i), v.DecodedText(i)
	if c.ids, err = v.DecodeIDs(c.ids[:0], i); err != nil {
		return r, err
	}
	r.DecodeIDs = c.ids
	if r.ReadOffset, err = v.ReadOffset(i); err != nil {
		return r, err
	}
	if r.SkipSpecial, err = v.SkipSpecial(i); err != nil {
		return r, err
	}
	if r.SpacesBetween, err = v.SpacesBetween(i); err != nil {
		return r, err
	}
	if r.NoStopTrim, err = v.NoStopTrim(i); err != nil {
		return r, err
	}
	kind, matched, err := v.Finish(i)
	r.Finish = detokenizer.Finish{Done: kind != nil, MatchedToken: matched.Kind == wire.MatchToken}
	if matched.Kind == wire.MatchText {
		r.Finish.MatchedText = string(matched.Text)
	}
	return r, err
}

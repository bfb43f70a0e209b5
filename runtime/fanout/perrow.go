package fanout

import "github.com/fanoutbench/fanoutbench/runtime/wire"

// perRow is what SGLang 0.5.21 does: each row is cut out of the batch, which
// opens the opaque columns each time, sent and flushed.
type perRow struct {
	*line
	frame []byte
}

func newPerRow(l *line) Strategy { return &perRow{line: l} }

func (s *perRow) Batch(frame []byte) error {
	b, err := s.receive(frame)
	if err != nil {
		return err
	}
	s.sendRows(b, 0, len(b.to), s.decodeAnew)
	return s.post.end()
}

// sendRows sends the rows [from, to) one by one. It returns false when the batch
// cannot be cut: then all rows left have failed.
func (s *perRow) sendRows(b *typed, from, to int, open wire.Opener) bool {
	for i := from; i < to; i++ {
		c := b.to[i]
		if c == nil {
			continue
		}
		var err error
		if s.frame, err = b.encode(s.frame[:0], []int{i}, open, true); err != nil {
			s.post.fail(b.left(i), err)
			return false
		}
		s.post.send(c, b.row(i), s.frame)
		s.post.flush(c)
	}
	return true
}

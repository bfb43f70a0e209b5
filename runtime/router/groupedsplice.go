package router

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// groupedSplice cuts a message a target out of the batch's bytes. Its buffers
// stay from batch to batch.
type groupedSplice struct {
	*line
	view  seen
	frame []byte
}

func newGroupedSplice(l *line) Strategy { return &groupedSplice{line: l} }

// seen is a batch read where it lies.
type seen struct{ wire.View }

func (b *seen) rid(i int) string { return b.RID(i) }

func (b *seen) key(rule string, i int) []byte {
	if rule == ByRID {
		return b.RIDBytes(i)
	}
	return b.IPC(i)
}

func (s *groupedSplice) Batch(frame []byte) error {
	if err := s.view.Parse(frame); err != nil {
		return fmt.Errorf("router: received frame: %w", err)
	}
	if s.view.Rows() == 0 {
		return s.idle(&s.view, frame)
	}
	s.split(&s.view)
	for t, rows := range s.groups {
		if len(rows) > 0 {
			s.frame = s.view.AppendPart(s.frame[:0], rows)
			s.post(t, &s.view, rows[0], len(rows), s.frame)
		}
	}
	return s.end()
}

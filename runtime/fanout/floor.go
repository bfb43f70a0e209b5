package fanout

import (
	"errors"
	"fmt"
)

// errNothingPrepared is Batch's answer after the last prepared batch.
var errNothingPrepared = errors.New("expected Prepare to have been called with its frame")

// floor sends what Prepare made: the messages of splice, from a detokenizer of
// its own. Batch does not look at its frame, which the caller has read whole.
type floor struct {
	*line
	cutter   cutter
	prepared []preparedBatch
	done     int // batches sent, for the error
}

// preparedBatch holds a batch's messages in the order in which splice sends them.
type preparedBatch struct {
	bytes    []byte // all messages, one after another
	messages []preparedMessage
	failed   []failedRow
}

type preparedMessage struct {
	to  *consumer
	at  rows
	end int // in bytes
}

// failedRow is a row that has no message, or an abort in its place.
type failedRow struct {
	at      rows
	aborted bool
	err     error
}

func newFloor(l *line) Strategy { return &floor{line: l, cutter: cutter{detok: l.detok.Fresh()}} }

// Prepare makes the messages of frames. Of a call that fails nothing is kept but
// the states of the requests in its frames.
func (s *floor) Prepare(frames [][]byte) error {
	kept := len(s.prepared)
	for i, frame := range frames {
		if err := s.cutter.parse(frame); err != nil {
			s.prepared = s.prepared[:kept]
			return fmt.Errorf("preparing frame %d of %d: %w", i, len(frames), err)
		}
		s.prepared = append(s.prepared, s.makeBatch())
	}
	return nil
}

func (s *floor) makeBatch() (b preparedBatch) {
	for i := range s.cutter.view.Rows() {
		ipc, row, err := s.cutter.cut(i)
		if err != nil {
			b.failed = append(b.failed, failedRow{s.cutter.at(i), ipc != nil, err})
		}
		if ipc == nil {
			continue
		}
		b.bytes = append(b.bytes, row...)
		b.messages = append(b.messages, preparedMessage{s.post.find(string(ipc)), s.cutter.at(i), len(b.bytes)})
	}
	return b
}

func (s *floor) Batch([]byte) error {
	if len(s.prepared) == 0 {
		return fmt.Errorf("fanout: floor has no frames prepared for batch %d since it was made, %w", s.done, errNothingPrepared)
	}
	b := s.prepared[0]
	s.prepared[0] = preparedBatch{}
	s.prepared = s.prepared[1:]
	s.done++
	for _, f := range b.failed {
		s.post.refuse(f.at, f.aborted, f.err)
	}
	start := 0
	for _, m := range b.messages {
		s.post.send(s.post.mark(m.to), m.at, b.bytes[start:m.end])
		start = m.end
	}
	return s.post.end()
}

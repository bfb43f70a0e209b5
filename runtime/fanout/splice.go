package fanout

// splice cuts each row out of the batch's bytes. Rows are queued, and every
// consumer is flushed once, at the end of the batch.
type splice struct {
	*line
	cutter
}

func newSplice(l *line) Strategy { return &splice{line: l, cutter: cutter{detok: l.detok}} }

func (s *splice) Batch(frame []byte) error {
	if err := s.parse(frame); err != nil {
		return err
	}
	for i := range s.view.Rows() {
		ipc, row, err := s.cut(i)
		if err != nil {
			s.post.refuse(s.at(i), ipc != nil, err)
		}
		if ipc == nil {
			continue
		}
		s.post.send(s.post.visitBytes(ipc), s.at(i), row)
	}
	return s.post.end()
}

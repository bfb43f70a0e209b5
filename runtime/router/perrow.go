package router

// perRow sends each row in a message of its own.
type perRow struct {
	*line
	frame []byte
}

func newPerRow(l *line) Strategy { return &perRow{line: l} }

func (s *perRow) Batch(frame []byte) error {
	b, err := decode(frame)
	if err != nil {
		return err
	}
	if b.Rows() == 0 {
		return s.idle(b, frame)
	}
	for i := range b.Rows() {
		key := b.key(s.rule, i)
		if key == nil {
			s.fail(&RowError{Row: i, RID: b.rid(i), Rows: 1, Err: errNoIPC})
			continue
		}
		if s.frame, err = s.takeRows(s.frame[:0], b, []int32{int32(i)}); err != nil {
			s.fail(&RowError{Row: i, RID: b.rid(i), Rows: b.Rows() - i, Err: err})
			break
		}
		s.post(Target(key, len(s.targets)), b, int32(i), 1, s.frame)
	}
	return s.end()
}

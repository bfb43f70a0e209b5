package router

// grouped sends each target its rows in one message.
type grouped struct {
	*line
	frame []byte
}

func newGrouped(l *line) Strategy { return &grouped{line: l} }

func (s *grouped) Batch(frame []byte) error {
	b, err := decode(frame)
	if err != nil {
		return err
	}
	if b.Rows() == 0 {
		return s.idle(b, frame)
	}
	s.split(b)
	for t, rows := range s.groups {
		if len(rows) == 0 {
			continue
		}
		if s.frame, err = s.takeRows(s.frame[:0], b, rows); err != nil {
			s.fail(&RowError{Row: int(rows[0]), RID: b.rid(int(rows[0])), Rows: left(s.groups[t:]), Err: err})
			break
		}
		s.post(t, b, rows[0], len(rows), s.frame)
	}
	return s.end()
}

func left(groups [][]int32) (n int) {
	for _, g := range groups {
		n += len(g)
	}
	return n
}

package fanout

// grouped is what SGLang 0.5.23 does: a message a consumer with all of its rows,
// each opening the opaque columns once.
type grouped struct {
	*line
	frame []byte
	rows  []int
}

func newGrouped(l *line) Strategy { return &grouped{line: l} }

func (s *grouped) Batch(frame []byte) error {
	b, err := s.receive(frame)
	if err != nil {
		return err
	}
	for i, c := range b.to {
		if c != nil {
			c.rows = append(c.rows, int32(i))
		}
	}
	for k := 0; k < len(s.post.visited); k++ {
		if err := s.sendGroup(b, s.post.visited[k]); err != nil {
			s.abandon(b, k, err)
			break
		}
	}
	return s.post.end()
}

func (s *grouped) sendGroup(b *typed, c *consumer) (err error) {
	s.rows = s.rows[:0]
	for _, i := range c.rows {
		s.rows = append(s.rows, int(i))
	}
	if s.frame, err = b.encode(s.frame[:0], s.rows, s.decodeAnew, false); err != nil {
		return err
	}
	s.post.send(c, c.group(b.rids[c.rows[0]]), s.frame)
	s.post.flush(c)
	return nil
}

// group is the rows of c for the post.
func (c *consumer) group(rid string) rows {
	return rows{first: int(c.rows[0]), rid: rid, n: len(c.rows)}
}

// abandon counts the rows of the consumers from the k-th on as failed.
func (s *grouped) abandon(b *typed, k int, err error) {
	left := s.post.visited[k].group(b.rids[s.post.visited[k].rows[0]])
	for _, c := range s.post.visited[k+1:] {
		left.n += len(c.rows)
	}
	s.post.fail(left, err)
}

package fanout

// groupedSplice cuts a message a consumer out of the batch's bytes.
type groupedSplice struct {
	*line
	cutter
	texts    []byte   // of all rows, one after another
	ends     []int    // where each row's text ends in texts
	finishes [][]byte // of rows that are aborted, else nil

	group    []int32 // the rows of the message being made, for the two below
	textOf   func(k int) []byte
	finishOf func(k int) []byte
}

func newGroupedSplice(l *line) Strategy {
	s := &groupedSplice{line: l, cutter: cutter{detok: l.detok}}
	// Made once: a function value for each message would be an allocation each.
	s.textOf = func(k int) []byte { return s.rowText(int(s.group[k])) }
	s.finishOf = func(k int) []byte { return s.finishes[s.group[k]] }
	return s
}

func (s *groupedSplice) rowText(i int) []byte {
	start := 0
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.texts[start:s.ends[i]]
}

func (s *groupedSplice) Batch(frame []byte) error {
	if err := s.parse(frame); err != nil {
		return err
	}
	s.texts, s.ends, s.finishes = s.texts[:0], s.ends[:0], s.finishes[:0]
	for i := range s.view.Rows() {
		s.addRow(i)
	}
	for _, c := range s.post.visited {
		s.group = c.rows
		s.frame = s.view.AppendRows(s.frame[:0], c.rows, s.textOf, s.finishOf)
		s.post.send(c, c.group(s.view.RID(int(c.rows[0]))), s.frame)
	}
	return s.post.end()
}

// addRow detokenizes row i and gives it to its consumer.
func (s *groupedSplice) addRow(i int) {
	texts, finish, err := s.detokenize(s.texts, i)
	s.texts = texts
	s.ends = append(s.ends, len(texts))
	s.finishes = append(s.finishes, finish)
	ipc := s.view.IPC(i)
	sent := ipc != nil && (err == nil || finish != nil)
	if ipc == nil {
		err = noConsumer(err)
	}
	if err != nil {
		s.post.refuse(s.at(i), sent, err)
	}
	if !sent {
		return
	}
	c := s.post.visitBytes(ipc)
	c.rows = append(c.rows, int32(i))
}

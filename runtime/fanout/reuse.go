package fanout

import "github.com/fanoutbench/fanoutbench/runtime/wire"

// reuse sends row 0 as perRow does, so that the first token waits for nothing
// more, and only then opens the opaque columns once for all rows after it.
type reuse struct{ perRow }

func newReuse(l *line) Strategy { return &reuse{perRow{line: l}} }

func (s *reuse) Batch(frame []byte) error {
	b, err := s.receive(frame)
	if err != nil {
		return err
	}
	n := len(b.to)
	if n < 2 || !b.wrapped() {
		s.sendRows(b, 0, n, s.decodeAnew) // nothing to reuse
		return s.post.end()
	}
	if s.sendRows(b, 0, 1, s.decodeAnew) {
		s.sendRows(b, 1, n, s.decodeOnce())
	}
	return s.post.end()
}

// decodeOnce is an opener that opens each column at its first call and gives
// the same value at the others. Take does not change it.
func (s *reuse) decodeOnce() wire.Opener {
	opened := map[string]wire.Value{}
	return func(field string, o *wire.Opaque) (wire.Value, error) {
		if v, ok := opened[field]; ok {
			return v, nil
		}
		v, err := s.decodeAnew(field, o)
		if err == nil {
			opened[field] = v
		}
		return v, err
	}
}

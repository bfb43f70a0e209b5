package manager

import "slices"

// numbers follows the row numbers of one request.
type numbers struct {
	next int64 // the one expected
	gaps []gap // below next, what has not come
}

// gap is a range of row numbers, to without it.
type gap struct{ from, to int64 }

// order says how a row number stands to those before.
type order int

const (
	expected  order = iota
	early           // those before it are missing
	doubled         // it was there already
	reordered       // it was counted as missing
)

// see takes a row number, and says how many were left out before it.
func (s *numbers) see(n int64) (order, int64) {
	if n >= s.next {
		missing := n - s.next
		if missing > 0 {
			s.gaps = append(s.gaps, gap{s.next, n})
		}
		s.next = n + 1
		if missing > 0 {
			return early, missing
		}
		return expected, 0
	}
	i := slices.IndexFunc(s.gaps, func(g gap) bool { return g.from <= n && n < g.to })
	if i < 0 {
		return doubled, 0
	}
	g := s.gaps[i]
	s.gaps = slices.Delete(s.gaps, i, i+1)
	for _, rest := range []gap{{g.from, n}, {n + 1, g.to}} {
		if rest.from < rest.to {
			s.gaps = append(s.gaps, rest)
		}
	}
	return reordered, 0
}

package manager

import (
	"math/rand/v2"
	"testing"
)

// seen is numbers with a set.
type seen struct {
	next int64
	has  map[int64]bool
}

func (s *seen) see(n int64) (order, int64) {
	defer func() { s.has[n] = true }()
	switch {
	case s.has[n]:
		return doubled, 0
	case n < s.next:
		return reordered, 0
	}
	missing := n - s.next
	s.next = n + 1
	if missing > 0 {
		return early, missing
	}
	return expected, 0
}

func TestNumbersAreWhatASetSays(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var s numbers
		twin := seen{has: map[int64]bool{}}
		var came []int64
		for range 30 {
			n := r.Int64N(25)
			if r.IntN(2) == 0 {
				n = twin.next // so that long runs without a gap occur
			}
			came = append(came, n)
			got, gotMissing := s.see(n)
			want, wantMissing := twin.see(n)
			if got != want || gotMissing != wantMissing {
				t.Fatalf("after %v: got %v, %d, want %v, %d", came, got, gotMissing, want, wantMissing)
			}
		}
	}
}

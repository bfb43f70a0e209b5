package bpe

import "sync"

// rule is what becomes of a pair: the token id, before all pairs of higher rank.
type rule struct {
	rank, id int32
}

// merges has the rules by pair.
type merges map[uint64]rule

func pairOf(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

// joiner merges the symbols of one word. They are a list, so that two become one
// in constant time, and a heap has every pair with a rule: the rank above the
// place of the first, so that the least number is the next merge. A pair that has
// changed since stays in the heap until its turn comes.
type joiner struct {
	ids        []int32 // symbols; of a merged pair the first is kept, the second is -1
	prev, next []int32
	heap       []uint64
}

var joiners = sync.Pool{New: func() any { return new(joiner) }}

// appendMerged appends to dst what the rules make of ids.
func (m merges) appendMerged(dst, ids []int32) []int32 {
	if len(ids) < 2 {
		return append(dst, ids...)
	}
	j := joiners.Get().(*joiner)
	defer joiners.Put(j)
	j.start(ids)
	for i := range len(ids) - 1 {
		j.offer(m, int32(i))
	}
	for len(j.heap) > 0 {
		top := j.pop()
		j.merge(m, int32(top>>32), int32(uint32(top)))
	}
	for i := int32(0); i >= 0; i = j.next[i] {
		dst = append(dst, j.ids[i])
	}
	return dst
}

func (j *joiner) start(ids []int32) {
	j.ids = append(j.ids[:0], ids...)
	j.prev, j.next, j.heap = j.prev[:0], j.next[:0], j.heap[:0]
	for i := range ids {
		j.prev = append(j.prev, int32(i-1))
		j.next = append(j.next, int32(i+1))
	}
	j.next[len(ids)-1] = -1
}

// merge makes one of the pair at i, if it still has a rule of this rank.
func (j *joiner) merge(m merges, rank, i int32) {
	k := j.next[i]
	if j.ids[i] < 0 || k < 0 {
		return
	}
	r, ok := m[pairOf(j.ids[i], j.ids[k])]
	if !ok || r.rank != rank {
		return
	}
	j.ids[i], j.ids[k] = r.id, -1
	j.next[i] = j.next[k]
	if after := j.next[i]; after >= 0 {
		j.prev[after] = i
	}
	j.offer(m, i)
	if before := j.prev[i]; before >= 0 {
		j.offer(m, before)
	}
}

// offer puts the pair at i into the heap, if it has a rule.
func (j *joiner) offer(m merges, i int32) {
	k := j.next[i]
	if k < 0 {
		return
	}
	r, ok := m[pairOf(j.ids[i], j.ids[k])]
	if !ok {
		return
	}
	j.heap = append(j.heap, uint64(r.rank)<<32|uint64(i))
	for c := len(j.heap) - 1; c > 0; {
		p := (c - 1) / 2
		if j.heap[p] <= j.heap[c] {
			break
		}
		j.heap[p], j.heap[c] = j.heap[c], j.heap[p]
		c = p
	}
}

// pop takes the least number from the heap.
func (j *joiner) pop() uint64 {
	h := j.heap
	top, n := h[0], len(h)-1
	h[0] = h[n]
	h = h[:n]
	for p := 0; ; {
		c := 2*p + 1
		if c >= n {
			break
		}
		if c+1 < n && h[c+1] < h[c] {
			c++
		}
		if h[p] <= h[c] {
			break
		}
		h[p], h[c] = h[c], h[p]
		p = c
	}
	j.heap = h
	return top
}

package sampling

// ranking gives ids by their logits, the largest first, the lower id first of
// equals: a heap, because a few of many are wanted, most of the time.
type ranking struct {
	logits []float64
	heap   []int32
}

// rank starts over with all ids.
func (r *ranking) rank(logits []float64) {
	r.logits = logits
	r.heap = r.heap[:0]
	for i := range logits {
		r.heap = append(r.heap, int32(i))
	}
	for i := len(r.heap)/2 - 1; i >= 0; i-- {
		r.down(i)
	}
}

// before says whether id a comes before id b.
func (r *ranking) before(a, b int32) bool {
	return r.logits[a] > r.logits[b] || r.logits[a] == r.logits[b] && a < b
}

// next takes the first of those left.
func (r *ranking) next() int32 {
	first, last := r.heap[0], len(r.heap)-1
	r.heap[0] = r.heap[last]
	r.heap = r.heap[:last]
	r.down(0)
	return first
}

func (r *ranking) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(r.heap) {
			return
		}
		if child+1 < len(r.heap) && r.before(r.heap[child+1], r.heap[child]) {
			child++
		}
		if !r.before(r.heap[child], r.heap[i]) {
			return
		}
		r.heap[i], r.heap[child] = r.heap[child], r.heap[i]
		i = child
	}
}

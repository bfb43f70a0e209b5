package kernels

// Reserve makes room for heads of dim numbers and so many positions, beyond which Attend
// would allocate.
func (a *Attention) Reserve(dim, positions int) {
	vectors, scores := attentionFloats(dim, positions)
	a.queries, a.results, a.scores = grown(a.queries, vectors), grown(a.results, vectors), grown(a.scores, scores)
}

// attentionFloats are the numbers that a tile of queries needs, and as many results, and
// its scores.
func attentionFloats(dim, positions int) (vectors, scores int) {
	return attendQueries * dim, attendQueries * ((positions + attendKeys - 1) &^ (attendKeys - 1))
}

// AttentionBytes is what Reserve takes.
func AttentionBytes(dim, positions int) int64 {
	vectors, scores := attentionFloats(dim, positions)
	return 4 * int64(2*vectors+scores)
}

// Queries and keys that are worked on at a time by any of the implementations.
const (
	attendQueries = 3
	attendKeys    = 4
)

// InputBytes is what an input of that size takes.
func InputBytes(f Format, tokens, cols int) int64 {
	n := int64(tokens) * int64(cols)
	if f == Q8 {
		return n + n/blockCols*4
	}
	return 4 * n
}

package manager

// cut says where a batch of items with these numbers of tokens is cut: it returns
// the end of each part. A part has at most maxReqs items and at most maxTokens
// tokens; an item that has more goes alone. 0 is no limit.
func cut(tokens []int, maxTokens, maxReqs int) []int {
	var ends []int
	start, sum := 0, 0
	for i, n := range tokens {
		full := maxReqs > 0 && i-start == maxReqs
		heavy := maxTokens > 0 && sum+n > maxTokens
		if i > start && (full || heavy) {
			ends = append(ends, i)
			start, sum = i, 0
		}
		sum += n
	}
	if len(tokens) > 0 {
		ends = append(ends, len(tokens))
	}
	return ends
}

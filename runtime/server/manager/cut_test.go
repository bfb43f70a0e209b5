package manager

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// cutSlowly says the same as cut by trying: a part takes the most items that are
// allowed together.
func cutSlowly(tokens []int, maxTokens, maxReqs int) []int {
	var ends []int
	for start := 0; start < len(tokens); {
		end := start + 1
		for try := start + 1; try <= len(tokens); try++ {
			sum := 0
			for _, n := range tokens[start:try] {
				sum += n
			}
			if (maxTokens == 0 || sum <= maxTokens) && (maxReqs == 0 || try-start <= maxReqs) {
				end = max(end, try)
			}
		}
		ends = append(ends, end)
		start = end
	}
	return ends
}

func TestCutIsWhatTheSlowOneSays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		tokens := make([]int, r.IntN(12))
		for i := range tokens {
			tokens[i] = 1 + r.IntN(9)
		}
		maxTokens, maxReqs := r.IntN(20), r.IntN(5)
		got, want := cut(tokens, maxTokens, maxReqs), cutSlowly(tokens, maxTokens, maxReqs)
		if !slices.Equal(got, want) {
			t.Fatalf("cut(%v, %d, %d): got %v, want %v", tokens, maxTokens, maxReqs, got, want)
		}
	}
}

func TestCutByHand(t *testing.T) {
	for _, c := range []struct {
		tokens             []int
		maxTokens, maxReqs int
		want               []int
	}{
		{nil, 0, 0, nil},
		{[]int{5, 5, 5}, 0, 0, []int{3}},
		{[]int{5, 5, 5}, 10, 0, []int{2, 3}},
		{[]int{5, 99, 5}, 10, 0, []int{1, 2, 3}},
		{[]int{99, 5, 5}, 10, 0, []int{1, 3}},
		{[]int{1, 1, 1, 1, 1}, 0, 2, []int{2, 4, 5}},
		{[]int{4, 4, 4, 1, 1}, 8, 3, []int{2, 5}},
	} {
		if got := cut(c.tokens, c.maxTokens, c.maxReqs); !slices.Equal(got, c.want) {
			t.Errorf("cut(%v, %d, %d): got %v, want %v", c.tokens, c.maxTokens, c.maxReqs, got, c.want)
		}
	}
}

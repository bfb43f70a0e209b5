package bpe

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// twin merges by the definition: the pair of the lowest rank, the leftmost of
// several, until no pair has a rule.
func (m merges) twin(ids []int32) []int32 {
	ids = slices.Clone(ids)
	for {
		best := -1
		var what rule
		for i := range max(0, len(ids)-1) {
			if r, ok := m[pairOf(ids[i], ids[i+1])]; ok && (best < 0 || r.rank < what.rank) {
				best, what = i, r
			}
		}
		if best < 0 {
			return ids
		}
		ids[best] = what.id
		ids = slices.Delete(ids, best+1, best+2)
	}
}

// The heap and the loop agree, also on rules that no training makes: of any
// ranks, that give tokens back which they are made of.
func TestMergesTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	merged := 0
	for range cases(3000) {
		tokens := 2 + rng.Int32N(8)
		m := merges{}
		for range rng.IntN(20) {
			m[pairOf(rng.Int32N(tokens), rng.Int32N(tokens))] = rule{int32(len(m)), rng.Int32N(tokens)}
		}
		ids := make([]int32, rng.IntN(60))
		for i := range ids {
			ids[i] = rng.Int32N(tokens)
		}
		got, want := m.appendMerged([]int32{-7}, ids), append([]int32{-7}, m.twin(ids)...)
		if !slices.Equal(got, want) {
			t.Fatalf("%v of %v: %v, want %v", m, ids, got, want)
		}
		merged += len(ids) + 1 - len(got)
	}
	if merged < cases(10000) {
		t.Errorf("only %d merges were made", merged)
	}
}

// A word of a million letters takes n log n steps. The loop would take 10^12, and
// run into the tests' time limit.
func TestMergesLongWord(t *testing.T) {
	tok := small(t, "qwen3")
	for _, text := range []string{strings.Repeat("er", 1<<19), strings.Repeat("returning", 1<<17), strings.Repeat(" ", 1<<20)} {
		ids, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(tok.AppendDecode(nil, ids, false, false)); got != text || len(ids) >= len(text) {
			t.Errorf("%.20q...: %d ids for %d bytes, whose text is %d bytes", text, len(ids), len(text), len(got))
		}
	}
}

package scoring

import (
	"fmt"
	"slices"
	"testing"
)

const sim = "@device=sim,sim-step-base=0.02"

// items are how many items of a request were in each of its batches.
func (s Spread) items() []int {
	var list []int
	for _, p := range s.Parts {
		list = append(list, p.Items)
	}
	return list
}

// A batch send is one prefill batch where the budget of tokens holds it, and cut
// where it does not; limits cut it between items.
func TestBatchSend(t *testing.T) {
	for _, k := range []struct {
		options string
		items   int
		budget  int // tokens of a prefill batch
	}{
		{"", 50, 8192},
		{"", 50, 16384},
	} {
		_ = k
	}
	s := start(t, "builtin:batch"+sim+",max-prefill-tokens=16384,chunked-prefill-size=-1")
	set := s.set(published(50), Options{Run: "b"})
	for n := range 3 {
		s.send(set, n)
		spread := s.spread(set, n)
		fmt.Println(spread.items(), spread.CachedTokens, spread.PromptTokens, spread.Last-spread.First)
		_ = slices.Equal[[]int]
	}
	i := start(t, "builtin:individual"+sim+",max-prefill-tokens=16384,chunked-prefill-size=-1")
	for n := range 3 {
		i.send(set, n)
		spread := i.spread(set, n)
		fmt.Println(spread.items(), spread.CachedTokens, spread.PromptTokens, spread.Last-spread.First)
	}
}

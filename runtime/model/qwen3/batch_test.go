package qwen3

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
)

func TestLogitsDependOnOwnTokensOnly(t *testing.T) {
	var d modeltest.Draws
	for seed := range uint64(8) {
		c := []Config{odd(), small()}[seed%2]
		subject(c, seeded(t, c, seed)).TestBatches(t, seed, 60, &d)
	}
	if d.Batches < 50 || d.Shared < 5 || d.Cut < 50 {
		t.Errorf("%+v: the draw tests too little", d)
	}
}

// The small model's tokens are worth comparing: they differ with the prompt and
// the seed, and do not stand still.
func TestSmallModelIsLively(t *testing.T) {
	c := small()
	var all []string
	for seed := range uint64(2) {
		w := seeded(t, c, seed)
		for _, prompt := range []string{"a", "b", "Hello, world", "Hello, World"} {
			var ids []int64
			for _, b := range []byte(prompt) {
				ids = append(ids, int64(b))
			}
			tokens, _ := alone(t, c, w, ids, 64)
			text := fmt.Sprint(tokens)
			if slices.Contains(all, text) {
				t.Errorf("seed %d, prompt %q: the same tokens as another prompt's or seed's", seed, prompt)
			}
			all = append(all, text)
			kinds := slices.Clone(tokens)
			slices.Sort(kinds)
			if n := len(slices.Compact(kinds)); n < 12 {
				t.Errorf("seed %d, prompt %q: %d different tokens among 64", seed, prompt, n)
			}
		}
	}
}

func BenchmarkSeeded(b *testing.B) {
	for b.Loop() {
		if _, err := Seeded(Small(), 1); err != nil {
			b.Fatal(err)
		}
	}
}

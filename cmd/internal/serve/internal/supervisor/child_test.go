package supervisor

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

func TestProcessors(t *testing.T) {
	a := &args.Args{TokenizerWorkerNum: 4, DetokenizerWorkerNum: 2}
	for _, c := range []struct {
		kind      string
		all, want int
	}{
		{part.Worker, 2, 1}, {part.Worker, 4, 1}, {part.Worker, 64, 16}, {part.Detokenizer, 1, 1}, {part.Detokenizer, 7, 3},
		{part.Router, 64, 1}, {part.DetokenizerRouter, 64, 1}, {part.Scheduler, 64, 64},
	} {
		if got := processors(c.kind, a, c.all); got != c.want {
			t.Errorf("%s of %d processors: %d, want %d", c.kind, c.all, got, c.want)
		}
	}
}

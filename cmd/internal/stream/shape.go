package stream

import "math/rand/v2"

// MixedSteps is the number of batches of a mixed stream.
const MixedSteps = 8

// maxTokens is the most ids that a row of a mixed stream brings.
const maxTokens = 64

// shape says which row of a mixed stream comes when, where to, and with how many
// ids. It depends on the seed, the number of rows and the number of consumers,
// not on the trial: every trial of a cell moves as many rows.
type shape []shapeRow

type shapeRow struct {
	consumer int
	tokens   []int // of each batch up to the last one; 0 is no row in that batch
}

// shapeStream separates its random numbers from others of the seed.
const shapeStream = 0x73686170

// newShape makes the shape of so many rows. The first row comes in every batch,
// so none is empty. The others end anywhere, and in between are now and then
// held back, as a scheduler does. In every second batch one consumer gets
// nothing, if there are two or more, and consumers have unequal shares.
func newShape(seed uint64, rows, consumers int) shape {
	r := rand.New(rand.NewPCG(seed, shapeStream<<32^uint64(rows)<<16^uint64(consumers)))
	s := make(shape, rows)
	for i := range s {
		s[i].consumer = min(r.IntN(consumers), r.IntN(consumers))
	}
	quiet := make([]int, MixedSteps)
	for step := range quiet {
		quiet[step] = (s[0].consumer + 1 + r.IntN(max(1, consumers-1))) % consumers
		if step%2 == 0 || consumers == 1 {
			quiet[step] = -1
		}
	}
	for i := range s {
		s[i].tokens = presence(r, i == 0, s[i].consumer, quiet)
	}
	return s
}

// presence draws the batches that a row of that consumer is in.
func presence(r *rand.Rand, always bool, consumer int, quiet []int) []int {
	last := r.IntN(len(quiet))
	if always {
		last = len(quiet) - 1
	} else if quiet[last] == consumer {
		last-- // no batch before a quiet one is quiet
	}
	tokens := make([]int, last+1)
	for step := range tokens {
		held := step > 0 && step < last && r.IntN(4) == 0
		if n := tokenCount(r); always || !held && quiet[step] != consumer {
			tokens[step] = n
		}
	}
	return tokens
}

// tokenCount is 1 half of the time, as in plain decoding, and up to maxTokens.
func tokenCount(r *rand.Rand) int {
	switch r.IntN(8) {
	case 0, 1, 2, 3:
		return 1
	case 4, 5:
		return 2 + r.IntN(3)
	case 6:
		return 5 + r.IntN(12)
	}
	return 1 + r.IntN(maxTokens)
}

// total is the number of rows of the whole stream.
func (s shape) total() int {
	n := 0
	for _, row := range s {
		for _, tokens := range row.tokens {
			if tokens > 0 {
				n++
			}
		}
	}
	return n
}

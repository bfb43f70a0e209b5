package stats

import (
	"fmt"
	"math/rand/v2"
)

// BlockTest says whether blocks of rounds, one a host, differ in where their
// values lie.
type BlockTest struct {
	// Statistic is the sum over blocks of n (r - (N+1)/2)^2, with r the mean rank
	// of a block's n values among all N (Kruskal and Wallis without their factor).
	Statistic float64
	// P is (1+count)/(1+draws), of the draws whose statistic reaches this one.
	P float64
}

// blockTolerance is how far, of the statistic, a draw's may be below it and still
// reach it: more than rounding can do.
const blockTolerance = 1e-9

// BlockEffect compares blocks by the ranks of their values. P is by chance: the
// values are dealt out to the blocks anew, so many times as sample says. That is
// exact where all rounds of all blocks are independent and alike; a drift within
// hosts makes P too small, so it describes and decides nothing.
//
// An error says that there are fewer than two blocks, names one without values or
// with one that is not finite, or says that there are no draws.
func BlockEffect(blocks [][]float64, sample FlipSample) (BlockTest, error) {
	if len(blocks) < 2 || sample.Draws < 1 {
		return BlockTest{}, fmt.Errorf("block effect: %d blocks and %d draws, expected at least 2 and 1", len(blocks), sample.Draws)
	}
	var all []float64
	var sizes []int
	for i, x := range blocks {
		if len(x) == 0 || firstNonFinite(x) >= 0 {
			return BlockTest{}, fmt.Errorf("block effect: block %d is %v, expected finite numbers", i, x)
		}
		all, sizes = append(all, x...), append(sizes, len(x))
	}
	ranks := doubledRanks(all)
	t := BlockTest{Statistic: blockStatistic(ranks, sizes)}
	rng := rand.New(rand.NewPCG(sample.Seed, blockStream))
	count := 0
	for range sample.Draws {
		rng.Shuffle(len(ranks), func(i, j int) { ranks[i], ranks[j] = ranks[j], ranks[i] })
		if blockStatistic(ranks, sizes) >= t.Statistic-float64(blockTolerance*t.Statistic) {
			count++
		}
	}
	t.P = float64(1+count) / float64(1+sample.Draws)
	return t, nil
}

// blockStream separates these draws from those of flips with the same seed.
const blockStream = 0xb10c

// blockStatistic takes doubled ranks, whose sum over n values has the mean n(N+1).
func blockStatistic(ranks, sizes []int) float64 {
	total, from := 0.0, 0
	for _, n := range sizes {
		sum := -n * (len(ranks) + 1)
		for _, r := range ranks[from : from+n] {
			sum += r
		}
		total += float64(sum) * float64(sum) / float64(4*n)
		from += n
	}
	return total
}

package stats

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// The flips themselves: the sums of every cell under all sign vectors, or under
// a seeded sample of them.

// sumRows is the sum of every cell, unflipped.
func sumRows(rows [][]int64) []int64 {
	sums := make([]int64, len(rows[0]))
	for _, row := range rows {
		for c, v := range row {
			sums[c] += v
		}
	}
	return sums
}

// inverseNorm is one over the root of a cell's sum of squares, 0 for a cell of
// zeros. The sum is exact: it needs up to 100 bits.
func inverseNorm(rows [][]int64, cell int) float64 {
	sum, square := new(big.Int), new(big.Int)
	for _, row := range rows {
		square.SetInt64(row[cell])
		sum.Add(sum, square.Mul(square, square))
	}
	if sum.Sign() == 0 {
		return 0
	}
	squares, _ := new(big.Float).SetInt(sum).Float64()
	return 1 / math.Sqrt(squares)
}

// enumerate visits all 2^n sign vectors in the order of a Gray code, which
// changes one round's sign at a time.
func (k *flipCounts) enumerate(rows [][]int64, observed []int64) {
	sums := slices.Clone(observed)
	flipped := make([]bool, len(rows))
	k.add(sums)
	for step := 1; step < 1<<len(rows); step++ {
		i := bits.TrailingZeros(uint(step))
		flipped[i] = !flipped[i]
		for c, v := range rows[i] {
			if flipped[i] {
				sums[c] -= 2 * v
			} else {
				sums[c] += 2 * v
			}
		}
		k.add(sums)
	}
}

// draw visits a sample of the sign vectors, independent and uniform, with
// replacement. A bit of the generator is a round's sign, the lowest first.
func (k *flipCounts) draw(rows [][]int64, sample FlipSample) {
	source := rand.NewPCG(sample.Seed, 0)
	sums := make([]int64, len(k.unit))
	for range sample.Draws {
		clear(sums)
		var word uint64
		for i, row := range rows {
			if i%64 == 0 {
				word = source.Uint64()
			}
			keep := int64(word&1)*2 - 1
			word >>= 1
			for c, v := range row {
				sums[c] += keep * v
			}
		}
		k.add(sums)
	}
}

package stats

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
)

// The dumb twin of the bootstrap: every one of the n^n resamples.

// rankPairs counts, over all n^n resamples, the ranks (from 0) of the two middle
// draws; for odd n both are the middle one.
var rankPairs = sync.OnceValue(func() map[int]map[[2]int]int64 {
	tables := map[int]map[[2]int]int64{}
	for n := 1; n <= 7; n++ {
		tables[n] = countPairs(n)
	}
	return tables
})

func countPairs(n int) map[[2]int]int64 {
	table := map[[2]int]int64{}
	draws := make([]int, n)
	for {
		s := slices.Clone(draws)
		slices.Sort(s)
		table[[2]int{s[(n-1)/2], s[n/2]}]++
		at := 0
		for at < n && draws[at] == n-1 {
			draws[at] = 0
			at++
		}
		if at == n {
			return table
		}
		draws[at]++
	}
}

// twin is the distribution of the resampled median: each value with the number
// of resamples that give it.
func twin(x []float64) map[float64]int64 {
	sorted := slices.Sorted(slices.Values(x))
	counts := map[float64]int64{}
	for pair, c := range rankPairs()[len(x)] {
		counts[(sorted[pair[0]]+sorted[pair[1]])/2] += c
	}
	return counts
}

// twinAtMost counts the resamples with a median of at most v.
func twinAtMost(counts map[float64]int64, v float64) (sum int64) {
	for median, c := range counts {
		if median <= v {
			sum += c
		}
	}
	return sum
}

// twinInterval reads both ends off the two tails, without any mirroring.
func twinInterval(x []float64, tail *big.Rat) (low, high float64) {
	counts := twin(x)
	var medians []float64
	var total int64
	for v, c := range counts {
		medians = append(medians, v)
		total += c
	}
	slices.Sort(medians)
	enough := func(count int64) bool { return big.NewRat(count, total).Cmp(tail) >= 0 }
	for _, v := range slices.Backward(medians) {
		if enough(twinAtMost(counts, v)) {
			low = v
		}
	}
	for _, v := range medians {
		var above int64
		for median, c := range counts {
			if median >= v {
				above += c
			}
		}
		if enough(above) {
			high = v
		}
	}
	return low, high
}

// samples yields data sets of n values: with and without ties and equal sums.
// They are multiples of 1/1024, so that sums and shifts are exact.
func samples(n int, rng *rand.Rand) [][]float64 {
	sets := make([][]float64, 4)
	for i := range n {
		sets[0] = append(sets[0], float64(i)) // many equal sums
		sets[1] = append(sets[1], float64(rng.IntN(4)-1))
		sets[2] = append(sets[2], float64(rng.IntN(1<<20)-1<<19)/1024)
		sets[3] = append(sets[3], 2.5) // nothing but ties
	}
	for _, s := range sets {
		rng.Shuffle(n, func(i, j int) { s[i], s[j] = s[j], s[i] })
	}
	return sets
}

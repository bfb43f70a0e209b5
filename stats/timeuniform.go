package stats

import "math/big"

// TimeUniform is the interval for the median that the sign e-process inverts to:
// the values m at which SignE of x-m, Either, is below cells/(1-level). It is
// [x(k), x(n+1-k)] with the largest k for which
//
//	2^n / ((n+1) C(n,k-1)) >= cells/(1-level)
//
// A run that computes it after every round may stop whenever it likes: the
// probability that it ever misses the median is at most 1-level, and the same
// holds for all of several cells at once when cells is their number (1 for one
// cell). Level is the level asked for, a bound and not an attained coverage.
//
// ok is false when there is no such k (fewer than eight values at 95 %), when a
// value is not finite, when the level is not between 0 and 1, or with no cells.
func TimeUniform(x []float64, level float64, cells int) (interval Interval, ok bool) {
	threshold, err := eThreshold(cells, level)
	if err != nil || firstNonFinite(x) >= 0 {
		return Interval{}, false
	}
	n := len(x)
	k := timeUniformRank(n, threshold)
	if k == 0 {
		return Interval{}, false
	}
	sorted := ordered(x)
	return Interval{Low: sorted[k-1], High: sorted[n-k], Level: level}, true
}

// timeUniformRank is the largest k with 2^n >= threshold (n+1) C(n,k-1), 0 for
// none. C(n,k-1) grows with k up to the middle, and there no threshold above 1 is
// reached.
func timeUniformRank(n int, threshold *big.Rat) int {
	left := new(big.Int).Lsh(threshold.Denom(), uint(n))
	factor := new(big.Int).Mul(threshold.Num(), big.NewInt(int64(n+1)))
	right, choose := new(big.Int), big.NewInt(1)
	k := 0
	for left.Cmp(right.Mul(factor, choose)) >= 0 {
		nextBinomial(choose, n, k)
		k++
	}
	return k
}

package stats

import "math/big"

// OrderStatistic is the exact interval for the median: the narrowest
// [x(k), x(n+1-k)] whose coverage 1-2 P(Bin(n,1/2) <= k-1) is at least level,
// whatever the continuous distribution; Level is the coverage attained (96.09 %
// for nine values at 95 %, [x(2), x(8)]).
//
// ok is false when not even [x(1), x(n)] reaches the level (fewer than six
// values at 95 %), when a value is not finite, or when the level is not between
// 0 and 1. There is no such interval then; a wider one would be made up.
func OrderStatistic(x []float64, level float64) (Interval, bool) {
	tail, ok := tailOf(level)
	if !ok || firstNonFinite(x) >= 0 {
		return Interval{}, false
	}
	n := len(x)
	k := narrowest(n, tail)
	if k == 0 {
		return Interval{}, false
	}
	sorted := ordered(x)
	return Interval{Low: sorted[k-1], High: sorted[n-k], Level: attained(n, k)}, true
}

// narrowest is the largest k, up to the middle value's rank, with
// P(Bin(n,1/2) <= k-1) <= tail, 0 for none.
func narrowest(n int, tail *big.Rat) int {
	all := new(big.Int).Lsh(big.NewInt(1), uint(n))
	missed, term, k := new(big.Int), big.NewInt(1), 0
	for ; k < (n+1)/2; k++ {
		if missed.Add(missed, term); exceeds(missed, all, tail) {
			break
		}
		nextBinomial(term, n, k)
	}
	return k
}

package stats

import "math/big"

// Bound is a one-sided confidence bound for a median, and its attained coverage.
type Bound struct{ Value, Level float64 }

// UpperBound is the exact upper bound for the median: the smallest order
// statistic x(n+1-k), not below the middle of the values, whose coverage
// 1 - P(Bin(n,1/2) <= k-1) is at least level, whatever the continuous
// distribution (for one with ties, at least that). Of nine values at 95 % it is
// x(8), whose Level is 98.05 %. UpperBound and LowerBound together, each at
// level 1-a, are the interval at 1-2a.
//
// ok is false when not even the largest value reaches the level (RoundsForBound
// says how many do), when a value is not finite, or when the level is not between
// 0 and 1. For m bounds that are to hold at once, ask for level 1-a/m
// (Bonferroni).
func UpperBound(x []float64, level float64) (Bound, bool) {
	k, sorted, ok := boundRank(x, level)
	if !ok {
		return Bound{}, false
	}
	return Bound{Value: sorted[len(x)-k], Level: attainedSides(len(x), k, 1)}, true
}

// LowerBound is the same from below, x(k): the negated UpperBound of the negated
// values.
func LowerBound(x []float64, level float64) (Bound, bool) {
	k, sorted, ok := boundRank(x, level)
	if !ok {
		return Bound{}, false
	}
	return Bound{Value: sorted[k-1], Level: attainedSides(len(x), k, 1)}, true
}

// RoundsForBound is the smallest number of values for which UpperBound and
// LowerBound exist at the level, the smallest n with 2^-n <= 1-level: 5 at 95 %.
// ok is false when the level is not between 0 and 1.
func RoundsForBound(level float64) (n int, ok bool) {
	alpha, ok := alphaOf(level)
	if !ok {
		return 0, false
	}
	return fewestValues(alpha), true
}

// RoundsForInterval is the same for OrderStatistic and SignedRank, the smallest
// n with 2^(1-n) <= 1-level: 6 at 95 %.
func RoundsForInterval(level float64) (n int, ok bool) {
	tail, ok := tailOf(level)
	if !ok {
		return 0, false
	}
	return fewestValues(tail), true
}

func boundRank(x []float64, level float64) (k int, sorted []float64, ok bool) {
	alpha, ok := alphaOf(level)
	if !ok || firstNonFinite(x) >= 0 {
		return 0, nil, false
	}
	k = narrowest(len(x), alpha)
	return k, ordered(x), k > 0
}

// alphaOf is 1-level, exactly, for a level read as tailOf reads it.
func alphaOf(level float64) (alpha *big.Rat, ok bool) {
	if alpha, ok = tailOf(level); !ok {
		return nil, false
	}
	return alpha.Mul(alpha, big.NewRat(2, 1)), true
}

// fewestValues is the smallest n with 2^-n <= p.
func fewestValues(p *big.Rat) int {
	n := 0
	for all := big.NewInt(1); exceeds(big.NewInt(1), all, p); n++ {
		all.Lsh(all, 1)
	}
	return n
}

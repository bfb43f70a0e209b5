package stats

import (
	"math/big"
	"strconv"
)

// NearestRank is the rank, from 1, of the value below or at which the share q of n
// values lies: the smallest whole number that is at least qn. q is read as the
// shortest decimal that denotes it, so that the 7th percentile of 100 values is the
// 7th of them, though 0.07*100 is more than 7 in float64. ok is false without values
// and where q is not between 0 and 1.
func NearestRank(n int, q float64) (rank int, ok bool) {
	share, ok := shareOf(q)
	if !ok || n < 1 {
		return 0, false
	}
	product := new(big.Int).Mul(share.Num(), big.NewInt(int64(n)))
	whole, rest := new(big.Int).QuoRem(product, share.Denom(), new(big.Int))
	rank = int(whole.Int64())
	if rest.Sign() > 0 {
		rank++
	}
	return rank, true
}

// Percentile is the value at NearestRank: one that was measured, never a mean of
// two. ok is false where there is no rank or a value is not finite.
func Percentile(x []float64, q float64) (v float64, ok bool) {
	rank, ok := NearestRank(len(x), q)
	if !ok || firstNonFinite(x) >= 0 {
		return 0, false
	}
	return ordered(x)[rank-1], true
}

// PercentileInterval is the exact interval for the quantile q of the distribution
// that the values came from: [x(low), x(high)] with the ranks of PercentileRanks.
//
// ok is false when no two values are such an interval: n is too small. From 368
// values on there is one for the 99th percentile at 95 %, from 36 for the 90th, from
// 6 for the median.
func PercentileInterval(x []float64, q, level float64) (Interval, bool) {
	low, high, covered, ok := PercentileRanks(len(x), q, level)
	if !ok || firstNonFinite(x) >= 0 {
		return Interval{}, false
	}
	sorted := ordered(x)
	return Interval{Low: sorted[low-1], High: sorted[high-1], Level: covered}, true
}

// PercentileRanks are the ranks of the interval for the quantile q, and the
// probability that it covers, P(low <= Bin(n,q) <= high-1), for independent values
// from any one continuous distribution (with ties at least that). The tails have at
// most (1-level)/2 each: low is the largest rank with P(Bin(n,q) <= low-1) within
// that, high the smallest with P(Bin(n,q) >= high). At q = 1/2 these are the ranks
// of OrderStatistic.
//
// ok is false where such a rank lies outside 1 to n, for more than
// MaxBinomialTrials values, and where q or level are not between 0 and 1.
func PercentileRanks(n int, q, level float64) (low, high int, covered float64, ok bool) {
	tail, ok := tailOf(level)
	share, shareOK := shareOf(q)
	if !ok || !shareOK || n < 1 || n > MaxBinomialTrials {
		return 0, 0, 0, false
	}
	lower := wide().SetRat(tail)
	upper := wide().Sub(one, lower)
	var below, held *big.Float
	for j, sum := range binomialSums(n, share) {
		if sum.Cmp(lower) <= 0 {
			low, below = j+1, wide().Set(sum)
		}
		if sum.Cmp(upper) >= 0 {
			high, held = j+1, wide().Set(sum)
			break
		}
	}
	if low == 0 || high == 0 || high > n {
		return 0, 0, 0, false
	}
	covered, _ = held.Sub(held, below).Float64()
	return low, high, covered, true
}

// binomialSums gives P(Bin(n,q) <= j) for j from 0 to n. The numbers have 128 bits,
// which round alike on every machine, and a million steps cost 20 of them.
func binomialSums(n int, q *big.Rat) func(yield func(int, *big.Float) bool) {
	return func(yield func(int, *big.Float) bool) {
		p := wide().SetRat(q)
		rest := wide().Sub(one, p)
		odds := wide().Quo(p, rest)
		term, sum, number := floatPower(rest, n), wide(), wide()
		for j := 0; j <= n; j++ {
			if !yield(j, sum.Add(sum, term)) {
				return
			}
			term.Mul(term, odds).Mul(term, number.SetInt64(int64(n-j)))
			term.Quo(term, number.SetInt64(int64(j+1)))
		}
	}
}

// shareOf is q, exactly, read as tailOf reads a level.
func shareOf(q float64) (*big.Rat, bool) {
	if !(q > 0 && q < 1) {
		return nil, false
	}
	return new(big.Rat).SetString(strconv.FormatFloat(q, 'g', -1, 64))
}

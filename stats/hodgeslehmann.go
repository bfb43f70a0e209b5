package stats

import (
	"math"
	"math/big"
	"slices"
	"sort"
)

// MaxHodgesLehmann is the largest number of values HodgesLehmann and SignedRank
// take. They list all n(n+1)/2 Walsh averages, and the exact distribution costs
// n^3/6 additions, some tenths of a second at this size.
const MaxHodgesLehmann = 1000

// HodgesLehmann is the median of the Walsh averages (x(i)+x(j))/2, i <= j: the
// centre of symmetry, where the values have one, and the pseudomedian otherwise.
// It is NaN for no values or more than MaxHodgesLehmann, or where one is not
// finite.
func HodgesLehmann(x []float64) float64 {
	if len(x) == 0 || len(x) > MaxHodgesLehmann || firstNonFinite(x) >= 0 {
		return math.NaN()
	}
	w := walshAverages(x)
	return midpoint(w[(len(w)-1)/2], w[len(w)/2])
}

// SignedRank is the interval for the centre of symmetry that goes with
// HodgesLehmann: the shifts that Wilcoxon's signed-rank test does not reject at
// 1-level. Of the M = n(n+1)/2 Walsh averages in order it is
// [w(k), w(M+1-k)] with the largest k for which P(T <= k-1) <= (1-level)/2,
// where T is the sum of those of the ranks 1..n that n fair coins pick. Level is
// the coverage attained, 1-2 P(T <= k-1), exact for independent values from
// continuous distributions that are symmetric about one centre, and for no
// other: see the package documentation.
//
// ok is false when no k reaches the level (fewer than six values at 95 %), for
// more than MaxHodgesLehmann values, when a value is not finite, or when the
// level is not between 0 and 1.
func SignedRank(x []float64, level float64) (Interval, bool) {
	tail, ok := tailOf(level)
	if !ok || len(x) > MaxHodgesLehmann || firstNonFinite(x) >= 0 {
		return Interval{}, false
	}
	tails := signedRankTails(len(x))
	k := sort.Search(len(tails), func(i int) bool { return new(big.Rat).SetFloat64(tails[i]).Cmp(tail) > 0 })
	if k == 0 {
		return Interval{}, false
	}
	w := walshAverages(x)
	return Interval{Low: w[k-1], High: w[len(w)-k], Level: 1 - float64(2*tails[k-1])}, true
}

func walshAverages(x []float64) []float64 {
	sorted := ordered(x)
	averages := make([]float64, 0, len(x)*(len(x)+1)/2)
	for i, a := range sorted {
		for _, b := range sorted[i:] {
			averages = append(averages, midpoint(a, b))
		}
	}
	slices.Sort(averages)
	return averages
}

// signedRankTails is P(T <= t) for t up to the middle of T's range. A rank more
// halves each probability and adds it to the one further up. Halving is exact and
// nothing is subtracted, so up to 53 values the figures are exact, and beyond
// that their relative error stays below n^2 times 2^-53, on every machine the same.
func signedRankTails(n int) []float64 {
	half := n * (n + 1) / 4
	p := make([]float64, half+1)
	p[0] = 1
	for rank := 1; rank <= n; rank++ {
		for t := min(half, rank*(rank+1)/2); t >= 0; t-- {
			if t >= rank {
				p[t] += p[t-rank]
			}
			p[t] /= 2
		}
	}
	for t := 1; t <= half; t++ {
		p[t] += p[t-1]
	}
	return p
}

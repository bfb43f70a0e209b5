package stats

import (
	"fmt"
	"math"
	"math/big"
	"slices"
)

// MaxBootstrap is the largest number of values BootstrapMedian takes. An even
// number n costs n^2/2 floats of memory and, at this size, some tenths of a
// second.
const MaxBootstrap = 1000

// BootstrapMedian is the percentile bootstrap interval of the median at a
// nominal level 1-alpha, as infinitely many resamples would give it: Low is the
// smallest v with P(med* <= v) >= alpha/2, High the largest v with
// P(med* >= v) >= alpha/2, where med* is the median of a resample of len(x)
// values with replacement.
//
// Level is not the nominal level. For an odd number of values it is the exact
// coverage of the two order statistics selected, for any continuous
// distribution. It is 0 for one value, whose interval is a point. For an even
// number it is NaN: no exact coverage exists.
//
// An error says that there are no values or more than MaxBootstrap, that a value
// is not finite, or that the nominal level is not between 0 and 1.
func BootstrapMedian(x []float64, nominal float64) (Interval, error) {
	tail, ok := tailOf(nominal)
	if !ok {
		return Interval{}, fmt.Errorf("bootstrap of the median: nominal level is %v, expected a number between 0 and 1", nominal)
	}
	if len(x) == 0 || len(x) > MaxBootstrap {
		return Interval{}, fmt.Errorf("bootstrap of the median: got %d values, expected 1 to %d", len(x), MaxBootstrap)
	}
	if i := firstNonFinite(x); i >= 0 {
		return Interval{}, fmt.Errorf("bootstrap of the median: value %d is %v, expected a finite number", i, x[i])
	}
	if len(x)%2 == 0 {
		return evenBootstrap(ordered(x), tail), nil
	}
	return oddBootstrap(ordered(x), tail), nil
}

func oddBootstrap(sorted []float64, tail *big.Rat) Interval {
	n := len(sorted)
	k := rankReaching(n, (n+1)/2, tail)
	return Interval{Low: sorted[k-1], High: sorted[n-k], Level: attained(n, k)}
}

func evenBootstrap(sorted []float64, tail *big.Rat) Interval {
	return Interval{
		Low:   newEvenMedian(sorted).quantile(tail),
		High:  0 - newEvenMedian(negated(sorted)).quantile(tail),
		Level: math.NaN(),
	}
}

// negated is the sorted list of the negated values.
func negated(sorted []float64) []float64 {
	mirror := make([]float64, len(sorted))
	for i, v := range sorted {
		mirror[i] = 0 - v // not -v, which would make -0
	}
	slices.Reverse(mirror)
	return mirror
}

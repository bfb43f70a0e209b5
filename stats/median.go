package stats

import (
	"math"
	"slices"
)

// Median is the middle value, or the mean of the middle two for an even number.
// It is NaN for no values or where one is not finite.
func Median(x []float64) float64 {
	if len(x) == 0 || firstNonFinite(x) >= 0 {
		return math.NaN()
	}
	sorted := ordered(x)
	return midpoint(sorted[(len(x)-1)/2], sorted[len(x)/2])
}

// midpoint is (a+b)/2, also where a+b is too large for a float64. It never
// falls when a or b grows, which the search over pairs relies on.
func midpoint(a, b float64) float64 {
	if sum := a + b; finite(sum) {
		return sum / 2
	}
	return float64(a/2) + float64(b/2)
}

// ordered is a sorted copy, with -0 replaced by 0: the two compare equal, so
// their order after sorting would be the caller's.
func ordered(x []float64) []float64 {
	sorted := make([]float64, len(x))
	for i, v := range x {
		sorted[i] = v + 0
	}
	slices.Sort(sorted)
	return sorted
}

package stats

import (
	"math"
	"math/big"
)

// exactBits holds any sum of float64 values without rounding: they span 2,098
// bits, and the rest is room for carries.
const exactBits = 2200

// Mean is the arithmetic mean, NaN for no values or where one is not finite.
// The sum is exact and rounded once, so neither the order of the values nor
// their size can change or overflow the result.
func Mean(x []float64) float64 {
	if len(x) == 0 || firstNonFinite(x) >= 0 {
		return math.NaN()
	}
	sum := new(big.Float).SetPrec(exactBits)
	for _, v := range x {
		sum.Add(sum, new(big.Float).SetFloat64(v))
	}
	mean, _ := sum.Quo(sum, new(big.Float).SetInt64(int64(len(x)))).Float64()
	return mean
}

// firstNonFinite is the index of the first NaN or infinity, -1 without one.
func firstNonFinite(x []float64) int {
	for i, v := range x {
		if !finite(v) {
			return i
		}
	}
	return -1
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

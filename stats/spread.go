package stats

import "math"

// madToSigma makes the median distance from the median of a normal distribution
// its standard deviation: 1/Phi^-1(3/4).
const madToSigma = 1.4826022185056018

// madSmall is what the median distance of n normal values falls short of, for
// n = 2 to 9 (Croux and Rousseeuw 1992).
var madSmall = [...]float64{2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}

// RobustSpread estimates the standard deviation of normal values from the median
// distance to their median: b(n) * 1.4826 * median|x - median(x)|, which a few
// spikes do not move. b(n) corrects the small sample, and is 1.107 at n = 9 and
// n/(n-0.8) above it; without it, plans would count on a tenth less noise than
// there is. It is NaN for fewer than two values or where one is not finite or the
// result would not be, and 0 where more than half of the values are equal.
func RobustSpread(x []float64) float64 {
	n := len(x)
	if n < 2 || firstNonFinite(x) >= 0 {
		return math.NaN()
	}
	middle, distances := Median(x), make([]float64, n)
	for i, v := range x {
		distances[i] = math.Abs(v - middle)
	}
	spread := madToSigma * smallSample(n) * Median(distances) // NaN from an infinite distance
	if !finite(spread) {
		return math.NaN()
	}
	return spread
}

func smallSample(n int) float64 {
	if n < len(madSmall) {
		return madSmall[n]
	}
	return float64(n) / (float64(n) - 0.8)
}

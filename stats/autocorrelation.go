package stats

import "math"

// Lag1 is the lag-1 autocorrelation of a series, and the range that independent
// values would give.
type Lag1 struct{ R, Low, High float64 }

// Autocorrelation is the lag-1 autocorrelation of the log ratios in the order of
// their rounds: R = sum (x(i)-m)(x(i+1)-m) / sum (x(i)-m)^2, m the mean. For
// independent normal values its mean is -1/n and its variance
// (n-2)^2/(n^2(n-1)) (Moran 1948); Low and High are -1/n -+ z((1+level)/2) times
// that standard deviation, the normal approximation. At n = 9 and 95 % that is
// -0.65 to 0.43. An R outside is a sign that rounds share a state, which no
// random order cures.
//
// This is the one function here for which the order of the values matters. ok is
// false for fewer than four values, values that are all equal or not finite, or a
// level not between 0 and 1.
func Autocorrelation(x []float64, level float64) (Lag1, bool) {
	n := len(x)
	if n < 4 || firstNonFinite(x) >= 0 || !(level > 0 && level < 1) {
		return Lag1{}, false
	}
	d, ok := deviations(x)
	if !ok {
		return Lag1{}, false
	}
	squares, products := 0.0, 0.0
	for i, v := range d {
		squares += float64(v * v)
		if i > 0 {
			products += float64(v * d[i-1])
		}
	}
	count := float64(n)
	reach := math.Sqrt2 * math.Erfinv(level) * (count - 2) / (count * math.Sqrt(count-1))
	return Lag1{R: products / squares, Low: -1/count - reach, High: -1/count + reach}, true
}

// deviations are the values less their mean, over the largest of them, so that no
// square overflows or vanishes. ok is false where all are equal or too far apart.
func deviations(x []float64) (d []float64, ok bool) {
	mean, largest := Mean(x), 0.0
	d = make([]float64, len(x))
	for i, v := range x {
		d[i] = v - mean
		largest = max(largest, math.Abs(d[i]))
	}
	if !positive(largest) {
		return nil, false
	}
	for i := range d {
		d[i] /= largest
	}
	return d, true
}

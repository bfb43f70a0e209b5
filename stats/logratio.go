package stats

import "math"

// LogRatio is ln(candidate/reference): 0 for equal times, below zero where the
// candidate took less, and ln(1.05) = 0.0488 where it took 5 % more. Swapping
// the arms negates it, bit for bit, and equal quotients give equal values.
// ok is false, and the value 0, where a time is zero, negative, NaN or infinite:
// none of these has a ratio, and a made-up one would enter every figure.
func LogRatio(reference, candidate float64) (l float64, ok bool) {
	if !positive(reference) || !positive(candidate) {
		return 0, false
	}
	// The larger over the smaller, so that the two orders share one quotient.
	if candidate < reference {
		return 0 - logQuotient(reference, candidate), true
	}
	return logQuotient(candidate, reference), true
}

// LogMargin is the margin of so many percent of slow-down on the scale of
// LogRatio, ln(1+percent/100): 5 gives 0.0488. The same distance below zero is a
// candidate that takes 1/1.05 of the reference's time, 4.76 % less: a margin on
// log ratios treats the arms alike, which one in percent does not. ok is false
// where percent is not above zero or not finite.
func LogMargin(percent float64) (margin float64, ok bool) {
	if !positive(percent) {
		return 0, false
	}
	return math.Log1p(percent / 100), true
}

// ReductionOf is the reduction in percent that a log ratio stands for,
// 100*(1-exp(l)), as PairedReduction gives it for the two times: ln(1/2) gives
// 50, and a slower candidate a negative number. It falls as l grows, so an
// interval's ends change places. It is NaN where l is, 100 for minus infinity
// and minus infinity from about l = 705 on.
func ReductionOf(l float64) float64 { return 0 - float64(100*math.Expm1(l)) }

// logQuotient needs high >= low > 0. The quotient of two finite times may still
// be too large for a float64. It is at least 1 otherwise, so that math.Log never
// sees a subnormal number, of which its amd64 code makes about -709 at any size.
func logQuotient(high, low float64) float64 {
	if q := high / low; finite(q) {
		return math.Log(q)
	}
	h, up := math.Frexp(high)
	l, down := math.Frexp(low)
	return math.Log(h/l) + float64(float64(up-down)*math.Ln2)
}

func positive(v float64) bool { return v > 0 && finite(v) }

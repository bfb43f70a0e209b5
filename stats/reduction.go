package stats

// PairedReduction is how much less the candidate took than the reference in one
// round, in percent of the reference: 100*(1-candidate/reference). A slower
// candidate gives a negative number. ok is false, and pct 0, when the reference
// is 0, when either is not finite, or when the result would not be.
func PairedReduction(reference, candidate float64) (pct float64, ok bool) {
	if reference == 0 || !finite(reference) || !finite(candidate) {
		return 0, false
	}
	pct = 100 * (1 - candidate/reference)
	if !finite(pct) {
		return 0, false
	}
	return pct, true
}

// FasterRounds counts the rounds whose reduction is strictly above zero.
func FasterRounds(reductions []float64) int {
	faster := 0
	for _, r := range reductions {
		if r > 0 {
			faster++
		}
	}
	return faster
}

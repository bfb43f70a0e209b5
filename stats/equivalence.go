package stats

// MarginTest is the outcome of Equivalent or NonInferior: exact one-sided bounds
// for the median log ratio, each with its own attained level, and whether what
// was asked holds. The bounds are there whatever the outcome.
type MarginTest struct {
	Lower, Upper Bound
	Within       bool
}

// Equivalent says whether the median of log ratios lies between -margin and
// margin, by two one-sided tests (TOST): Within when LowerBound and UpperBound,
// each at level 1-a, lie strictly inside. Where the median is outside, that
// happens with probability at most a, since only one of the two bounds has to
// fail; no correction for two tests is due. It is the question whether the
// interval at 1-2a fits into the margin.
//
// margin is on the scale of the values; LogMargin makes one of a percentage. For
// m cells, each claimed at once, ask for level 1-a/m. ok is false when the margin
// is not above zero or not finite, or for the reasons UpperBound has; too few
// values (RoundsForBound) are then no evidence of anything.
func Equivalent(x []float64, margin, level float64) (MarginTest, bool) {
	if !positive(margin) {
		return MarginTest{}, false
	}
	t, ok := marginTest(x, level)
	t.Within = ok && -margin < t.Lower.Value && t.Upper.Value < margin
	return t, ok
}

// NonInferior says whether the median of log ratios is below margin: Within when
// UpperBound is strictly below it, whatever lies on the other side. Where the
// median is at or above margin, that happens with probability at most 1-level.
// A margin of 0 asks for an improvement. ok is as with Equivalent, except that a
// margin of 0 is allowed.
func NonInferior(x []float64, margin, level float64) (MarginTest, bool) {
	if margin != 0 && !positive(margin) {
		return MarginTest{}, false
	}
	t, ok := marginTest(x, level)
	t.Within = ok && t.Upper.Value < margin
	return t, ok
}

func marginTest(x []float64, level float64) (MarginTest, bool) {
	lower, ok := LowerBound(x, level)
	if !ok {
		return MarginTest{}, false
	}
	upper, ok := UpperBound(x, level)
	return MarginTest{Lower: lower, Upper: upper}, ok
}

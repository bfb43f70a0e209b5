package stats

import (
	"math"
	"slices"
	"sort"
)

// EmpiricalEffect is SmallestEffect without a model of the noise, which is taken
// to be spread as these log ratios are about their median (a control's or a
// calibration's, the more the better): the smallest shift such that n rounds with
// any larger one, up or down, exclude zero on the right side with probability
// power. Of the values' distances to the median it is the smallest one, or 0, that
// leaves so few values beyond it on either side that SignPower reaches power.
//
// The largest distance always does. Nine rounds need fewer than one value in ten
// beyond the effect for 80 %, so with ten values and fewer that distance is what
// comes out, and is itself uncertain.
//
// ok is false for no values, when one or a distance is not finite, when no interval
// exists for n and level, when n is above MaxExactRounds, or when power is not
// between 0 and 1.
func EmpiricalEffect(noise []float64, n int, level, power float64) (effect float64, ok bool) {
	middle := Median(noise) // NaN for no values or a value that is not finite
	if _, ok := SignPower(0, n, level); !ok || !finite(middle) || !(power > 0 && power < 1) {
		return 0, false
	}
	centred, distances := make([]float64, len(noise)), []float64{0}
	for i, v := range ordered(noise) {
		centred[i] = v - middle
		distances = append(distances, math.Abs(centred[i]))
	}
	if firstNonFinite(centred) >= 0 {
		return 0, false
	}
	slices.Sort(distances)
	i := sort.Search(len(distances)-1, func(i int) bool {
		reached, ok := SignPower(shareBeyond(centred, distances[i]), n, level)
		return ok && reached >= power
	})
	return distances[i], true
}

// shareBeyond is the share of the sorted values below -distance or above
// distance, whichever is larger.
func shareBeyond(sorted []float64, distance float64) float64 {
	below := sort.SearchFloat64s(sorted, -distance)
	above := len(sorted) - sort.Search(len(sorted), func(i int) bool { return sorted[i] > distance })
	return float64(max(below, above)) / float64(len(sorted))
}

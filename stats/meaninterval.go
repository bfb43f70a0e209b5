package stats

import "slices"

// TimeUniformMean is the interval that the mean of several hosts' sign e-values
// inverts to: from the smallest to the largest value m of the data at which the
// mean over hosts of SignE of x-m, Either, is below cells/(1-level). hosts has the
// values of each. For one host it is TimeUniform.
//
// Each host may have stopped whenever it liked. The mean of e-values is an e-value
// however they depend on each other (MeanE), so the probability that the interval
// misses a median that all hosts share is at most 1-level, and the same holds for
// all of several cells at once when cells is their number. It is to be computed
// once, of hosts that were named before: unlike TimeUniform it gives no leave to
// add hosts until it pleases. Where hosts differ, so that no value is below the
// threshold on both sides of a gap, what lies between is part of the interval.
//
// ok is false when an end does not exist, when no value is below the threshold at
// all (the hosts contradict each other), when a value is not finite, when the
// level is not between 0 and 1, or with no cells or a host without values.
func TimeUniformMean(hosts [][]float64, level float64, cells int) (interval Interval, ok bool) {
	threshold, err := EThreshold(cells, level)
	if err != nil || len(hosts) == 0 {
		return Interval{}, false
	}
	h := make([]signHost, len(hosts))
	var all []float64
	for i, x := range hosts {
		if len(x) == 0 || firstNonFinite(x) >= 0 {
			return Interval{}, false
		}
		h[i] = newSignHost(x)
		all = append(all, x...)
	}
	slices.Sort(all)
	low := slices.IndexFunc(all, func(v float64) bool { return meanSignE(h, v) < threshold })
	if low < 0 || outsideE(h) < threshold {
		return Interval{}, false
	}
	high := len(all) - 1
	for meanSignE(h, all[high]) >= threshold {
		high--
	}
	return Interval{Low: all[low], High: all[high], Level: level}, true
}

// signHost is one host's values, sorted, with the e-value for each number of signs
// of the minority.
type signHost struct{ sorted, e []float64 }

func newSignHost(x []float64) signHost {
	h := signHost{sorted: ordered(x)}
	for minority := range len(x)/2 + 1 {
		h.e = append(h.e, roundedDown(signE(len(x), minority)))
	}
	return h
}

// at is SignE of x-v. A zero counts for the minority, as there.
func (h signHost) at(v float64) float64 {
	n := len(h.sorted)
	below, found := slices.BinarySearch(h.sorted, v)
	above := n - below
	for i := below; found && i < n && h.sorted[i] == v; i++ {
		above--
	}
	return h.e[min(n/2, n-max(above, below))]
}

func meanSignE(hosts []signHost, v float64) float64 {
	e := make([]float64, len(hosts))
	for i, h := range hosts {
		e[i] = h.at(v)
	}
	return Mean(e)
}

// outsideE is the mean e-value beyond all values, where every sign is the same.
func outsideE(hosts []signHost) float64 {
	e := make([]float64, len(hosts))
	for i, h := range hosts {
		e[i] = h.e[0]
	}
	return Mean(e)
}

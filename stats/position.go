package stats

import (
	"math"
	"slices"
)

// Position is the effect of going first: how far the log ratios of the rounds in
// which the candidate went first lie above the others, and how likely so large a
// difference is where the order does nothing.
type Position struct{ Shift, P float64 }

// MaxExactPosition is the largest number of rounds for which PositionEffect counts
// the rank sums.
const MaxExactPosition = 100

// PositionEffect compares the log ratios of the rounds in which the candidate went
// first with those of the other rounds. Shift is the median of all differences of
// one of the first and one of the second kind (Hodges and Lehmann); below zero, an
// arm looks faster when it goes first. P is two-sided, by the sum of the ranks of
// the first kind (Wilcoxon; equal values share the mean of their ranks): the share
// of the choices of as many rounds out of all whose rank sum is at least as far
// from its mean. One independent coin a round makes all these choices equally
// likely (an order balanced within blocks does not), so P is exact whatever the
// noise and its drift. The choices are counted, not drawn;
// above MaxExactPosition rounds P is the normal approximation with the variance of
// those same ranks.
//
// ok is false where the two lists differ in length, a value or a difference of two
// is not finite, or the candidate went first in every round or in none.
func PositionEffect(logRatios []float64, candidateFirst []bool) (Position, bool) {
	if len(logRatios) != len(candidateFirst) || firstNonFinite(logRatios) >= 0 {
		return Position{}, false
	}
	var first, second []float64
	for i, v := range logRatios {
		if candidateFirst[i] {
			first = append(first, v)
		} else {
			second = append(second, v)
		}
	}
	if len(first) == 0 || len(second) == 0 {
		return Position{}, false
	}
	shift := middleDifference(first, second)
	if !finite(shift) {
		return Position{}, false
	}
	return Position{Shift: shift, P: rankSumP(logRatios, candidateFirst)}, true
}

func rankSumP(x []float64, chosen []bool) float64 {
	ranks, m, sum := doubledRanks(x), 0, 0
	for i, r := range ranks {
		if chosen[i] {
			m++
			sum += r
		}
	}
	// Twice the rank sum has the mean m(n+1); the others' is as far from theirs.
	distance := sum - m*(len(ranks)+1)
	distance, m = max(distance, -distance), min(m, len(ranks)-m)
	if len(ranks) > MaxExactPosition {
		return approximateRankSum(ranks, m, distance)
	}
	return rankSumAtLeast(ranks, m, distance)
}

func middleDifference(first, second []float64) float64 {
	differences := make([]float64, 0, len(first)*len(second))
	for _, a := range first {
		for _, b := range second {
			differences = append(differences, a-b)
		}
	}
	return Median(differences)
}

// doubledRanks are twice the ranks, whole numbers also where equal values share
// one.
func doubledRanks(x []float64) []int {
	sorted, ranks := ordered(x), make([]int, len(x))
	for i, v := range x {
		from, _ := slices.BinarySearch(sorted, v)
		to := from
		for to < len(sorted) && sorted[to] == v {
			to++
		}
		ranks[i] = from + 1 + to
	}
	return ranks
}

// rankSumAtLeast is the share of the choices of m of the ranks whose sum is so far
// from its mean or farther. ways[j][s] counts the choices of j ranks with the sum
// s: whole numbers, exact up to 2^53, and beyond that sums without a difference.
func rankSumAtLeast(ranks []int, m, distance int) float64 {
	n := len(ranks)
	largest := m * 2 * n
	ways := make([][]float64, m+1)
	for j := range ways {
		ways[j] = make([]float64, largest+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for j := min(m, i+1); j >= 1; j-- {
			fewer, more := ways[j-1], ways[j][r:]
			for s, v := range fewer[:len(more)] {
				more[s] += v
			}
		}
	}
	mean, far, all := m*(n+1), 0.0, 0.0
	for s, v := range ways[m] {
		all += v
		if s-mean >= distance || mean-s >= distance {
			far += v
		}
	}
	return far / all
}

// approximateRankSum is the same by the normal distribution: the variance of a sum
// of m of n numbers is m(n-m)/(n(n-1)) times their sum of squares about the mean.
func approximateRankSum(ranks []int, m, distance int) float64 {
	n := len(ranks)
	squares := 0
	for _, r := range ranks {
		squares += (r - n - 1) * (r - n - 1)
	}
	if squares == 0 {
		return 1 // all values equal
	}
	share := float64(m) * float64(n-m) / (float64(n) * float64(n-1))
	return 2 * normalTail(float64(distance)/math.Sqrt(share*float64(squares)))
}

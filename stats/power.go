package stats

import (
	"math"
	"math/big"
)

// MaxExactRounds is the number of rounds up to which power is an exact sum.
const MaxExactRounds = 1000

// goodRounds are the numbers of rounds whose attained level is near 95 % (96.1,
// 96.1, 95.1, 95.9, 95.7 and 95.7 %). Between them power may fall with a round
// more: 11 rounds find less than 9.
var goodRounds = []int{9, 12, 17, 20, 25, 30}

// SignPower is the probability that the interval OrderStatistic gives for n log
// ratios excludes zero on the right side, where each is below zero with
// probability below (the wrong side, so at most one half) on its own:
// P(Bin(n,below) <= k-1) with the interval's k. That is also the power of the
// two-sided sign test at 1-level, and holds for any noise.
//
// ok is false when no interval exists for n and level, when n is above
// MaxExactRounds, or when below is not between 0 and 1/2.
func SignPower(below float64, n int, level float64) (power float64, ok bool) {
	tail, ok := tailOf(level)
	if !ok || n < 1 || n > MaxExactRounds || !(below >= 0 && below <= 0.5) {
		return 0, false
	}
	k := narrowest(n, tail)
	if k == 0 {
		return 0, false
	}
	return binomialAtMost(n, k-1, below), true
}

// SmallestEffect is the shift of the log ratios that the interval of
// OrderStatistic excludes zero for, on the right side, with probability power,
// where the ratios of n rounds are normal about the shift with standard deviation
// spread (RobustSpread of a control's log ratios, or of the run's own). Found by
// bisection of SignPower(Phi(-effect/spread), n, level); 0 where no shift is
// needed, as with a spread of 0. ReductionOf(-effect) makes it percent.
//
// ok is false when no interval exists for n and level, when n is above
// MaxExactRounds, when spread is negative, or it or the effect not finite, or when
// power is not between 0 and 1.
func SmallestEffect(spread float64, n int, level, power float64) (effect float64, ok bool) {
	at, ok := SignPower(0.5, n, level)
	if !ok || !(spread >= 0) || !finite(spread) || !(power > 0 && power < 1) {
		return 0, false
	}
	if at >= power {
		return 0, true
	}
	tail, _ := tailOf(level)
	k := narrowest(n, tail)
	low, high := 0.0, 40.0 // 40 standard deviations leave nothing on the other side
	for range 80 {
		middle := (low + high) / 2
		if binomialAtMost(n, k-1, normalTail(middle)) < power {
			low = middle
		} else {
			high = middle
		}
	}
	if effect = high * spread; !finite(effect) {
		return 0, false
	}
	return effect, true
}

// RoundsNeeded is the number of rounds after which the interval of OrderStatistic
// excludes zero, on the right side, with probability power, where the log ratios
// are normal about effect with standard deviation spread: the first of 9, 12, 17,
// 20, 25 and 30 that is enough, else the smallest number up to MaxExactRounds, by
// the exact sum; beyond that Noether's (1987) approximation for the sign test,
// ((z(1-alpha/2)+z(power))/(2(1/2-q)))^2 with q = Phi(-effect/spread), rounded up.
//
// ok is false when effect is not above zero, spread is negative, either is not
// finite, level or power is not between 0 and 1, or the number is above a
// billion.
func RoundsNeeded(effect, spread, level, power float64) (n int, ok bool) {
	tail, ok := tailOf(level)
	if !ok {
		return 0, false
	}
	return rounds(effect, spread, tail, power)
}

// RoundsNonInferior is the same for NonInferior, where the true shift is zero: the
// number of rounds after which UpperBound at the level is below the margin.
func RoundsNonInferior(margin, spread, level, power float64) (n int, ok bool) {
	alpha, ok := alphaOf(level)
	if !ok {
		return 0, false
	}
	return rounds(margin, spread, alpha, power)
}

// RoundsEquivalent is the same for Equivalent, where the true shift is zero. Each
// bound may fail with half of 1-power, so that both hold with at least power.
func RoundsEquivalent(margin, spread, level, power float64) (n int, ok bool) {
	if !(power > 0 && power < 1) {
		return 0, false
	}
	return RoundsNonInferior(margin, spread, level, (1+power)/2)
}

// rounds finds n for an order statistic that tail leaves outside, at a distance
// from where the values centre.
func rounds(distance, spread float64, tail *big.Rat, power float64) (n int, ok bool) {
	if !positive(distance) || !(spread >= 0) || !finite(spread) || !(power > 0 && power < 1) {
		return 0, false
	}
	below := normalTail(distance / spread) // of +Inf, 0, without spread
	enough := func(n, k int) bool { return k > 0 && binomialAtMost(n, k-1, below) >= power }
	for _, n := range goodRounds {
		if enough(n, narrowest(n, tail)) {
			return n, true
		}
	}
	for rank := rankAt(goodRounds[len(goodRounds)-1], tail); rank.n < MaxExactRounds; {
		if rank.next(); enough(rank.n, rank.k) {
			return rank.n, true
		}
	}
	return noether(below, tail, power)
}

// rank is narrowest for one n after the other. A rank of its own for each of a
// thousand n would add up half a million whole numbers.
type rank struct {
	tail                *big.Rat
	n, k                int
	all                 *big.Int // 2^n
	missed, term, below *big.Int // sum of C(n,j) for j < k; C(n,k); C(n,k-1), 0 with k = 0
}

func rankAt(n int, tail *big.Rat) *rank {
	r := &rank{tail: tail, n: n, all: new(big.Int).Lsh(big.NewInt(1), uint(n)), missed: new(big.Int), term: big.NewInt(1), below: new(big.Int)}
	r.climb()
	return r
}

// next goes from n to n+1 by Pascal's rule: C(n+1,j) = C(n,j) + C(n,j-1).
func (r *rank) next() {
	r.missed.Sub(r.missed.Lsh(r.missed, 1), r.below)
	r.term.Add(r.term, r.below)
	if r.k > 0 { // C(n+1,k-1) = C(n,k-1) (n+1)/(n+2-k)
		r.below.Mul(r.below, big.NewInt(int64(r.n+1)))
		r.below.Quo(r.below, big.NewInt(int64(r.n+2-r.k)))
	}
	r.n++
	r.all.Lsh(r.all, 1)
	r.climb() // k never falls: P(Bin(n+1,1/2) <= k-1) is at most P(Bin(n,1/2) <= k-1)
}

// climb raises k as far as the tail allows.
func (r *rank) climb() {
	for r.k < (r.n+1)/2 {
		more := new(big.Int).Add(r.missed, r.term)
		if exceeds(more, r.all, r.tail) {
			return
		}
		r.missed = more
		r.below.Set(r.term)
		nextBinomial(r.term, r.n, r.k)
		r.k++
	}
}

func noether(below float64, tail *big.Rat, power float64) (n int, ok bool) {
	t, _ := tail.Float64()
	z := (normalQuantile(1-t) + normalQuantile(power)) / (1 - float64(2*below))
	if !(z*z < 1e9) {
		return 0, false
	}
	return max(MaxExactRounds+1, int(math.Ceil(z*z))), true
}

// binomialAtMost is P(Bin(n,q) <= m) for q <= 1/2 and n <= MaxExactRounds, where
// the first term is no smaller than 2^-1000.
func binomialAtMost(n, m int, q float64) float64 {
	term := 1.0
	for range n {
		term *= 1 - q
	}
	sum, odds := 0.0, q/(1-q)
	for j := 0; j <= m; j++ {
		sum += float64(term)
		term = float64(term*odds) * float64(n-j) / float64(j+1)
	}
	return min(sum, 1)
}

// normalTail is Phi(-z). The conversions keep a product or a halving from being
// fused into a sum of the caller's, once this is inlined.
func normalTail(z float64) float64 { return float64(math.Erfc(z/math.Sqrt2) / 2) }

func normalQuantile(p float64) float64 { return float64(math.Sqrt2 * math.Erfinv(float64(2*p)-1)) }

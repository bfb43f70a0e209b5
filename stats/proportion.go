package stats

import (
	"fmt"
	"math/big"
)

// MaxBinomialTrials is the largest number of trials BinomialInterval takes.
const MaxBinomialTrials = 1_000_000

// BinomialInterval is the interval of Clopper and Pearson for a probability of
// which so many of so many independent trials were successes: Low is the p with
// P(Bin(trials,p) >= successes) = (1-level)/2, High the one with
// P(Bin(trials,p) <= successes) = (1-level)/2; 0 without successes and 1 with
// nothing but successes. It holds the probability at least as often as the level
// says, whatever the probability is, and both ends are rounded outwards.
// Level is the level asked for.
//
// An error says that there are no trials or more than MaxBinomialTrials, that
// the successes are not between 0 and that number, or that the level is not
// between 0 and 1.
func BinomialInterval(successes, trials int, level float64) (Interval, error) {
	tail, ok := tailOf(level)
	if !ok {
		return Interval{}, fmt.Errorf("interval of a proportion: level is %v, expected a number between 0 and 1", level)
	}
	if trials < 1 || trials > MaxBinomialTrials {
		return Interval{}, fmt.Errorf("interval of a proportion: %d trials, expected 1 to %d", trials, MaxBinomialTrials)
	}
	if successes < 0 || successes > trials {
		return Interval{}, fmt.Errorf("interval of a proportion: %d successes, expected 0 to %d", successes, trials)
	}
	interval := Interval{Low: 0, High: 1, Level: level}
	if successes > 0 {
		interval.Low, _ = crossing(func(p float64) bool { return upperTail(trials, successes, p).Cmp(wide().SetRat(tail)) > 0 })
	}
	if successes < trials {
		// P(Bin(trials,p) <= successes) is the upper tail of the failures at 1-p.
		_, interval.High = crossing(func(p float64) bool {
			return lowerTail(trials, successes, p).Cmp(wide().SetRat(tail)) < 0
		})
	}
	return interval, nil
}

// crossing halves the numbers between 0 and 1 until the last p that is not past
// the crossing and the first that is are neighbours.
func crossing(past func(p float64) bool) (before, after float64) {
	before, after = 0, 1
	for {
		middle := midpoint(before, after)
		if middle == before || middle == after {
			return before, after
		}
		if past(middle) {
			after = middle
		} else {
			before = middle
		}
	}
}

// wide has three times the digits of a float64 to spare, and an exponent that
// no probability here can leave; its operations round alike everywhere.
func wide() *big.Float { return new(big.Float).SetPrec(256) }

// upperTail is P(Bin(n,p) >= s) for p between 0 and 1.
func upperTail(n, s int, p float64) *big.Float {
	success := wide().SetFloat64(p)
	return tailFrom(n, s, success, wide().Sub(wide().SetInt64(1), success))
}

// lowerTail is P(Bin(n,p) <= s): at least n-s failures.
func lowerTail(n, s int, p float64) *big.Float {
	success := wide().SetFloat64(p)
	return tailFrom(n, n-s, wide().Sub(wide().SetInt64(1), success), success)
}

// tailFrom adds C(n,j) p^j q^(n-j) from j = s up, until the terms fall and no
// longer count.
func tailFrom(n, s int, p, q *big.Float) *big.Float {
	term := wide().SetInt(new(big.Int).Binomial(int64(n), int64(s)))
	term.Mul(term, floatPower(p, s)).Mul(term, floatPower(q, n-s))
	odds := wide().Quo(p, q)
	sum, step := wide(), wide()
	for j := s; ; j++ {
		sum.Add(sum, term)
		if j == n {
			return sum
		}
		step.Mul(odds, step.Quo(step.SetInt64(int64(n-j)), wide().SetInt64(int64(j+1))))
		falling := step.Cmp(wide().SetInt64(1)) < 0
		if term.Mul(term, step); falling && term.MantExp(nil) < sum.MantExp(nil)-200 {
			return sum
		}
	}
}

// floatPower is x^exponent by repeated squaring.
func floatPower(x *big.Float, exponent int) *big.Float {
	result, square := wide().SetInt64(1), wide().Set(x)
	for ; exponent > 0; exponent >>= 1 {
		if exponent&1 == 1 {
			result.Mul(result, square)
		}
		square.Mul(square, square)
	}
	return result
}

package stats

import (
	"fmt"
	"math"
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
	share := float64(successes) / float64(trials)
	interval := Interval{Low: 0, High: 1, Level: level}
	if successes > 0 {
		upper := newBinomialTail(trials, successes, tail)
		interval.Low, _ = crossing(0, math.Nextafter(share, 1), func(p float64) bool {
			return upper.exceeded(wide().SetFloat64(p))
		})
	}
	if successes < trials {
		// P(Bin(trials,p) <= successes) is the upper tail of the failures at 1-p.
		lower := newBinomialTail(trials, trials-successes, tail)
		_, interval.High = crossing(math.Nextafter(share, 0), 1, func(p float64) bool {
			return !lower.exceeded(wide().Sub(one, wide().SetFloat64(p)))
		})
	}
	return interval, nil
}

// crossing halves the numbers between two ends until the last that is not past
// the crossing and the first that is are neighbours. The share of successes is
// such an end for either bound: there both tails are 1/2 or more.
func crossing(before, after float64, past func(p float64) bool) (last, first float64) {
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

// wide has more than twice the digits of a float64, and an exponent that no
// probability here can leave; its operations round alike everywhere.
func wide() *big.Float { return new(big.Float).SetPrec(wideBits) }

const wideBits = 128

var one = wide().SetInt64(1)

// binomialTail is P(Bin(n,p) >= s), as far as is needed to compare it with a cut.
type binomialTail struct {
	n, s   int
	choose *big.Float // C(n,s)
	cut    *big.Float
}

func newBinomialTail(n, s int, cut *big.Rat) *binomialTail {
	choose := new(big.Int).Binomial(int64(n), int64(s))
	return &binomialTail{n: n, s: s, choose: wide().SetInt(choose), cut: wide().SetRat(cut)}
}

// exceeded adds C(n,j) p^j (1-p)^(n-j) from j = s up, until the sum is above the
// cut or the terms no longer count. Where np <= s each is smaller than the last.
func (b *binomialTail) exceeded(p *big.Float) bool {
	q := wide().Sub(one, p)
	term := wide().Mul(b.choose, floatPower(p, b.s))
	term.Mul(term, floatPower(q, b.n-b.s))
	odds := q.Quo(p, q)
	sum, number := wide(), wide()
	for j := b.s; ; j++ {
		if sum.Add(sum, term); sum.Cmp(b.cut) > 0 {
			return true
		}
		if j == b.n || term.MantExp(nil) < sum.MantExp(nil)-wideBits {
			return false
		}
		term.Mul(term, odds).Mul(term, number.SetInt64(int64(b.n-j)))
		term.Quo(term, number.SetInt64(int64(j+1)))
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

package stats

import (
	"fmt"
	"math"
	"math/big"
)

// SignE is the value of the sign e-process after the rounds seen so far, for the
// hypothesis that the median of the log ratios is zero (Above: zero or below;
// Below: zero or above). With n rounds, s of them above zero:
//
//	Either: 2^n B(s+1,n-s+1) = 2^n / ((n+1) C(n,s))
//	Above:  twice that, times P(Bin(n+1,1/2) <= s)
//
// A zero counts for whichever sign makes the value smallest, so one against
// Above and Below, and one against the majority for Either. See the package
// documentation, Looking after every round.
//
// The result is rounded down to a float64 and at most math.MaxFloat64, so that a
// comparison with a threshold never passes by rounding. It is 1 before the first
// round. An error names a value that is not finite, by its round from 0, or an
// unknown side.
func SignE(x []float64, side Side) (float64, error) {
	if i := firstNonFinite(x); i >= 0 {
		return 0, fmt.Errorf("sign e-process: round %d is %v, expected a finite number", i, x[i])
	}
	if !side.valid() {
		return 0, fmt.Errorf("sign e-process: side is %v, expected either, above or below", side)
	}
	above, below := 0, 0
	for _, v := range x {
		if v > 0 {
			above++
		} else if v < 0 {
			below++
		}
	}
	n := len(x)
	switch side {
	case Above:
		return roundedDown(oneSidedE(n, above)), nil
	case Below:
		return roundedDown(oneSidedE(n, below)), nil
	}
	// The zeros go to the minority until it is one no longer.
	return roundedDown(signE(n, min(n/2, n-max(above, below)))), nil
}

// signE is 2^n / ((n+1) C(n,s)), the mean over p, uniform between 0 and 1, of
// (2p)^s (2-2p)^(n-s).
func signE(n, s int) *big.Rat {
	below := new(big.Int).Binomial(int64(n), int64(s))
	below.Mul(below, big.NewInt(int64(n+1)))
	return new(big.Rat).SetFrac(new(big.Int).Lsh(big.NewInt(1), uint(n)), below)
}

// oneSidedE is the same mean over p between 1/2 and 1. The share of Beta(s+1,
// n-s+1) above 1/2 is P(Bin(n+1,1/2) <= s).
func oneSidedE(n, s int) *big.Rat {
	share := new(big.Rat).SetFrac(tailCount(n+1, s+1), new(big.Int).Lsh(big.NewInt(1), uint(n)))
	return share.Mul(share, signE(n, s))
}

func roundedDown(e *big.Rat) float64 {
	down, _ := new(big.Float).SetPrec(53).SetMode(big.ToZero).SetRat(e).Float64()
	return min(down, math.MaxFloat64)
}

// EThreshold is the e-value at which one of several cells may stop: cells over
// 1-level, 20 a cell at 95 %, rounded up. The probability that any true
// hypothesis among them ever reaches it, at whatever look, is at most 1-level.
// An error says that there are no cells or that the level is not between 0 and 1.
func EThreshold(cells int, level float64) (float64, error) {
	threshold, err := eThreshold(cells, level)
	if err != nil {
		return 0, err
	}
	up, _ := new(big.Float).SetPrec(53).SetMode(big.ToPositiveInf).SetRat(threshold).Float64()
	return up, nil
}

func eThreshold(cells int, level float64) (*big.Rat, error) {
	half, ok := tailOf(level)
	if !ok {
		return nil, fmt.Errorf("e-value threshold: level is %v, expected a number between 0 and 1", level)
	}
	if cells < 1 {
		return nil, fmt.Errorf("e-value threshold: %d cells, expected at least 1", cells)
	}
	return new(big.Rat).Quo(big.NewRat(int64(cells), 2), half), nil
}

// MeanE is the mean of e-values of one hypothesis, itself an e-value however
// they depend on each other: the way to join hosts or nights whose runs may have
// influenced one another. An error names a value that is not finite or below
// zero, or says that there are none.
func MeanE(e []float64) (float64, error) {
	if err := checkE(e); err != nil {
		return 0, err
	}
	return Mean(e), nil
}

// ProductE is the product of e-values, an e-value if each was computed from
// rounds that are independent of those of the others. It is rounded down and at
// most math.MaxFloat64. Errors are those of MeanE.
func ProductE(e []float64) (float64, error) {
	if err := checkE(e); err != nil {
		return 0, err
	}
	product := big.NewRat(1, 1)
	for _, v := range e {
		product.Mul(product, new(big.Rat).SetFloat64(v))
	}
	return roundedDown(product), nil
}

func checkE(e []float64) error {
	if len(e) == 0 {
		return fmt.Errorf("e-values: none, expected at least one")
	}
	for i, v := range e {
		if !finite(v) || v < 0 {
			return fmt.Errorf("e-values: value %d is %v, expected a finite number not below zero", i, v)
		}
	}
	return nil
}

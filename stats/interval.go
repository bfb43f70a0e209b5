package stats

import (
	"math"
	"math/big"
	"strconv"
)

// Interval is a closed interval [Low, High] for a median, and its attained
// coverage, which is NaN where no exact one exists (see the package
// documentation, What Level means).
type Interval struct{ Low, High, Level float64 }

// tailOf is (1-level)/2, exactly, for a level between 0 and 1 read as the
// shortest decimal that denotes it.
func tailOf(level float64) (tail *big.Rat, ok bool) {
	if math.IsNaN(level) || level <= 0 || level >= 1 {
		return nil, false
	}
	tail, ok = new(big.Rat).SetString(strconv.FormatFloat(level, 'g', -1, 64))
	if !ok {
		return nil, false
	}
	tail.Sub(big.NewRat(1, 1), tail)
	return tail.Mul(tail, big.NewRat(1, 2)), true
}

// reaches reports count/total >= p.
func reaches(count, total *big.Int, p *big.Rat) bool { return compare(count, total, p) >= 0 }

// exceeds reports count/total > p.
func exceeds(count, total *big.Int, p *big.Rat) bool { return compare(count, total, p) > 0 }

func compare(count, total *big.Int, p *big.Rat) int {
	left := new(big.Int).Mul(count, p.Denom())
	return left.Cmp(new(big.Int).Mul(total, p.Num()))
}

// attained is the coverage of [x(k), x(n+1-k)], 1-2 P(Bin(n,1/2) <= k-1).
func attained(n, k int) float64 { return attainedSides(n, k, 2) }

// attainedSides is 1 - sides P(Bin(n,1/2) <= k-1).
func attainedSides(n, k int, sides int64) float64 {
	all := new(big.Int).Lsh(big.NewInt(1), uint(n))
	missed, term := new(big.Int), big.NewInt(1)
	for j := range k {
		missed.Add(missed, term)
		nextBinomial(term, n, j)
	}
	held := new(big.Int).Sub(all, missed.Mul(missed, big.NewInt(sides)))
	level, _ := new(big.Rat).SetFrac(held, all).Float64()
	return level
}

// nextBinomial turns C(n,j) into C(n,j+1).
func nextBinomial(c *big.Int, n, j int) {
	c.Mul(c, big.NewInt(int64(n-j)))
	c.Quo(c, big.NewInt(int64(j+1)))
}

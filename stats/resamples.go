package stats

import (
	"math/big"
	"sort"
)

// resamples is n^n, the number of ways to draw n of n values with replacement.
func resamples(n int) *big.Int { return power(n, n) }

func power(base, exponent int) *big.Int {
	return new(big.Int).Exp(big.NewInt(int64(base)), big.NewInt(int64(exponent)), nil)
}

// atLeast counts the resamples in which at least m of the n draws fall on the k
// smallest values: n^n P(Bin(n,k/n) >= m). It needs 0 <= k <= n.
func atLeast(n, k, m int) *big.Int {
	if k == 0 && m > 0 {
		return new(big.Int)
	}
	sum, term := new(big.Int), power(k, n)
	up, down := new(big.Int), new(big.Int)
	for j := n; j >= m && term.Sign() > 0; j-- {
		sum.Add(sum, term)
		// C(n,j) k^j (n-k)^(n-j) becomes the same for j-1; the division is exact.
		term.Mul(term, up.SetInt64(int64(j)*int64(n-k)))
		term.Quo(term, down.SetInt64(int64(n-j+1)*int64(k)))
	}
	return sum
}

// rankReaching is the smallest k with P(Bin(n,k/n) >= m) >= p.
func rankReaching(n, m int, p *big.Rat) int {
	total := resamples(n)
	return 1 + sort.Search(n-1, func(i int) bool { return reaches(atLeast(n, i+1, m), total, p) })
}

package stats

import (
	"fmt"
	"math/big"
)

// Bounds are one-sided bounds for the median of every cell, each family of which
// holds for all cells at once.
type Bounds struct {
	// Cells has the two bounds of every cell, in the caller's order.
	Cells []CellBounds
	// Level is the attained level of the lower bounds, and of the upper bounds:
	// the probability that all of them hold is at least this, whatever the
	// correlation of the cells. Both families together hold with at least
	// 2*Level-1.
	Level float64
	// Rank is the k of the bounds x(k) and x(n+1-k).
	Rank int
}

// CellBounds are the one-sided bounds for the median of one cell.
type CellBounds struct{ Lower, Upper float64 }

// FewRoundsError says that no bound for all cells at once exists at a level, and
// how many rounds would give one.
type FewRoundsError struct {
	Rounds, Cells, Needed int
	Level                 float64
}

func (e *FewRoundsError) Error() string {
	return fmt.Sprintf("%d rounds have no simultaneous bounds for %d cells at level %v, expected at least %d rounds", e.Rounds, e.Cells, e.Level, e.Needed)
}

// SimultaneousBounds are the order statistics x(k) and x(n+1-k) of every cell,
// with the largest k whose miss, P(Bin(n,1/2) <= k-1), times the number of cells
// is at most 1-level. rounds[i][c] is the log ratio of cell c in round i. The
// package documentation, Many cells, says why these and not an inversion of MaxT.
//
// The error is a *FewRoundsError where not even the smallest and the largest
// value are bounds at this level; any other says what is wrong with the rounds,
// as MaxT's does, or that the level is not between 0 and 1.
func SimultaneousBounds(rounds [][]float64, level float64) (Bounds, error) {
	half, ok := tailOf(level)
	if !ok {
		return Bounds{}, fmt.Errorf("simultaneous bounds: level is %v, expected a number between 0 and 1", level)
	}
	if err := checkRounds(rounds); err != nil {
		return Bounds{}, fmt.Errorf("simultaneous bounds: %w", err)
	}
	n, cells := len(rounds), len(rounds[0])
	share := new(big.Rat).Mul(half, big.NewRat(2, int64(cells)))
	k := narrowest(n, share)
	if k == 0 {
		return Bounds{}, &FewRoundsError{Rounds: n, Cells: cells, Needed: fewestValues(share), Level: level}
	}
	bounds := Bounds{Cells: make([]CellBounds, cells), Level: simultaneousLevel(n, k, cells), Rank: k}
	for c := range cells {
		sorted := ordered(column(rounds, c))
		bounds.Cells[c] = CellBounds{Lower: sorted[k-1], Upper: sorted[n-k]}
	}
	return bounds, nil
}

// simultaneousLevel is 1 - cells P(Bin(n,1/2) <= k-1).
func simultaneousLevel(n, k, cells int) float64 {
	missed := new(big.Rat).SetFrac(tailCount(n, k), new(big.Int).Lsh(big.NewInt(1), uint(n)))
	missed.Mul(missed, big.NewRat(int64(cells), 1))
	level, _ := missed.Sub(big.NewRat(1, 1), missed).Float64()
	return level
}

// tailCount is 2^n P(Bin(n,1/2) <= k-1).
func tailCount(n, k int) *big.Int {
	count, term := new(big.Int), big.NewInt(1)
	for j := range k {
		count.Add(count, term)
		nextBinomial(term, n, j)
	}
	return count
}

// column is one cell's values, round by round.
func column(rounds [][]float64, cell int) []float64 {
	values := make([]float64, len(rounds))
	for i, round := range rounds {
		values[i] = round[cell]
	}
	return values
}

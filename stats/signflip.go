package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// MaxEnumerated is the largest number of rounds whose 2^n flips MaxT enumerates.
// With more rounds it draws a sample of them.
const MaxEnumerated = 16

// MaxFlipRounds is the largest number of rounds that MaxT takes.
const MaxFlipRounds = 1 << 20

// FlipSample says how MaxT samples the flips of more than MaxEnumerated rounds:
// how many it draws, and the seed of the generator (PCG) that draws them. Fewer
// rounds are enumerated, and it is not used.
type FlipSample struct {
	Draws int
	Seed  uint64
}

// FlipTest is the result of MaxT: one entry a cell, in the caller's order, and
// the flips that its probabilities are counts of.
type FlipTest struct {
	Cells []FlippedCell
	// Flips is the number of flips compared with the data: all 2^n, the data
	// themselves among them, or the number drawn.
	Flips int
	// Exact says that all 2^n were. A p-value is then a count over Flips;
	// otherwise it is (1+count)/(1+Flips).
	Exact bool
}

// FlippedCell has the p-values of one cell. P is of the cell alone and holds for
// one cell chosen before the data; the others hold for all cells at once.
type FlippedCell struct {
	// Statistic is the sum of the log ratios over the root of the sum of their
	// squares: between -sqrt(n) and sqrt(n), its sign that of the mean; 0 for a
	// cell with nothing but zeros.
	Statistic float64
	P         float64
	// Adjusted is the single-step p-value: the share of flips in which the
	// largest statistic of any cell reaches this one's.
	Adjusted float64
	// StepDown is never larger. It compares a cell with those cells only whose
	// statistics are no larger than its own.
	StepDown float64
}

// MaxT tests every cell for a departure from zero by flipping the signs of whole
// rounds (see the package documentation, Many cells). rounds[i][c] is the log
// ratio of cell c in round i.
//
// An error names the round and the cell, both counted from 0, of a value that is
// not finite, or the round whose number of cells differs from round 0's; or it
// says that there are no rounds, no cells, more than MaxFlipRounds rounds, an
// unknown side, or no draws where a sample is needed.
func MaxT(rounds [][]float64, side Side, sample FlipSample) (FlipTest, error) {
	if err := checkRounds(rounds); err != nil {
		return FlipTest{}, fmt.Errorf("sign flips: %w", err)
	}
	if !side.valid() {
		return FlipTest{}, fmt.Errorf("sign flips: side is %v, expected either, above or below", side)
	}
	exact := len(rounds) <= MaxEnumerated
	if !exact && sample.Draws < 1 {
		return FlipTest{}, fmt.Errorf("sign flips: %d draws for %d rounds, expected at least 1 above %d rounds", sample.Draws, len(rounds), MaxEnumerated)
	}
	rows, unit := wholeRows(rounds, side)
	observed := sumRows(rows)
	counts := newFlipCounts(side, unit, observed)
	flips := sample.Draws
	if exact {
		flips = 1 << len(rounds)
		counts.enumerate(rows, observed)
	} else {
		counts.draw(rows, sample)
	}
	return FlipTest{Cells: counts.cells(flips, exact), Flips: flips, Exact: exact}, nil
}

// checkRounds says what is wrong with a matrix of rounds and cells.
func checkRounds(rounds [][]float64) error {
	if len(rounds) == 0 || len(rounds) > MaxFlipRounds {
		return fmt.Errorf("got %d rounds, expected 1 to %d", len(rounds), MaxFlipRounds)
	}
	if len(rounds[0]) == 0 {
		return fmt.Errorf("round 0 has no cells, expected at least one")
	}
	for i, round := range rounds {
		if len(round) != len(rounds[0]) {
			return fmt.Errorf("round %d has %d cells, expected %d as in round 0", i, len(round), len(rounds[0]))
		}
		if c := firstNonFinite(round); c >= 0 {
			return fmt.Errorf("round %d, cell %d is %v, expected a finite number", i, c, round[c])
		}
	}
	return nil
}

// flipBits is the size, in bits, of the largest value of a cell as a whole
// number: sums over MaxFlipRounds rounds stay below 2^60.
const flipBits = 40

// wholeRows rounds every cell to whole numbers of 2^-40 of its largest value, so
// that sums of flipped values are exact, in any order, and equal sums are equal.
// Rounding treats x and -x alike, so the test stays exact. unit[c] is one over
// the root of the sum of squares. Below is Above of the negated values.
func wholeRows(rounds [][]float64, side Side) (rows [][]int64, unit []float64) {
	cells := len(rounds[0])
	rows, unit = make([][]int64, len(rounds)), make([]float64, cells)
	for i := range rows {
		rows[i] = make([]int64, cells)
	}
	for c := range cells {
		largest := 0.0
		for _, round := range rounds {
			largest = max(largest, math.Abs(round[c]))
		}
		_, exponent := math.Frexp(largest)
		for i, round := range rounds {
			v := math.Ldexp(round[c], flipBits-exponent)
			if side == Below {
				v = 0 - v
			}
			rows[i][c] = int64(math.RoundToEven(v))
		}
		unit[c] = inverseNorm(rows, c)
	}
	return rows, unit
}

// flipTolerance is how far below the observed statistic a flip's may be and
// still reach it: more than rounding can do, less than data mean. It can only
// raise a p-value.
const flipTolerance = 1e-9

// flipCounts counts the flips whose statistic reaches the observed one.
type flipCounts struct {
	side      Side
	unit      []float64
	order     []int     // the cells, from the smallest observed statistic up
	threshold []float64 // in that order
	statistic []float64 // in the caller's order, with its sign
	// In the order of the cells' statistics: of the cell itself, of the largest
	// of this cell and those before, and of the largest of all.
	own, upTo, all []int
}

func newFlipCounts(side Side, unit []float64, observed []int64) *flipCounts {
	m := len(unit)
	k := &flipCounts{side: side, unit: unit, own: make([]int, m), upTo: make([]int, m), all: make([]int, m+1)}
	for c := range m {
		k.order = append(k.order, c)
		k.statistic = append(k.statistic, float64(float64(observed[c])*unit[c]))
	}
	slices.SortStableFunc(k.order, func(a, b int) int {
		return cmp.Compare(k.of(a, observed), k.of(b, observed))
	})
	for _, c := range k.order {
		k.threshold = append(k.threshold, k.of(c, observed)-flipTolerance)
	}
	return k
}

// of is the statistic that the side asks for, of sums that may be flipped.
func (k *flipCounts) of(cell int, sums []int64) float64 {
	v := float64(float64(sums[cell]) * k.unit[cell])
	if k.side == Either {
		return math.Abs(v)
	}
	return v
}

// add compares one flip with the data.
func (k *flipCounts) add(sums []int64) {
	largest := math.Inf(-1)
	for j, c := range k.order {
		v := k.of(c, sums)
		if v >= k.threshold[j] {
			k.own[j]++
		}
		if largest = max(largest, v); largest >= k.threshold[j] {
			k.upTo[j]++
		}
	}
	// The largest of all reaches the first so many cells; cells() adds them up.
	reached, _ := slices.BinarySearchFunc(k.threshold, largest, func(threshold, v float64) int {
		if threshold <= v {
			return -1
		}
		return 1
	})
	k.all[reached]++
}

// cells turns the counts into p-values, in the caller's order.
func (k *flipCounts) cells(flips int, exact bool) []FlippedCell {
	share := func(count int) float64 {
		if exact {
			return float64(count) / float64(flips)
		}
		return float64(1+count) / float64(1+flips)
	}
	cells := make([]FlippedCell, len(k.order))
	reaching, stepDown := 0, 0.0
	for j, c := range slices.Backward(k.order) {
		reaching += k.all[j+1]
		stepDown = max(stepDown, share(k.upTo[j]))
		cells[c] = FlippedCell{
			Statistic: k.signed(c),
			P:         share(k.own[j]),
			Adjusted:  share(reaching),
			StepDown:  stepDown,
		}
	}
	return cells
}

// signed undoes the negation of Below, without making a -0.
func (k *flipCounts) signed(cell int) float64 {
	if k.side == Below {
		return 0 - k.statistic[cell]
	}
	return k.statistic[cell]
}

package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// The dumb twin of MaxT, and the data that both are given.

// dumbMaxT is the definition: every sign vector by recursion, every statistic
// from the flipped values themselves.
func dumbMaxT(rounds [][]float64, side Side) []FlippedCell {
	var all [][]float64 // a row a flip, a column a cell
	signs := make([]float64, len(rounds))
	var flip func(i int)
	flip = func(i int) {
		if i == len(rounds) {
			all = append(all, dumbStatistics(rounds, signs, side))
			return
		}
		for _, sign := range []float64{1, -1} {
			signs[i] = sign
			flip(i + 1)
		}
	}
	flip(0)
	observed := all[0]
	share := func(cell int, rivals func(c int) bool) float64 {
		count := 0
		for _, row := range all {
			largest := math.Inf(-1)
			for c, v := range row {
				if rivals(c) {
					largest = math.Max(largest, v)
				}
			}
			if largest >= observed[cell]-1e-9 {
				count++
			}
		}
		return float64(count) / float64(len(all))
	}
	cells := make([]FlippedCell, len(observed))
	for c := range cells {
		signed := observed[c]
		if side == Below {
			signed = -signed
		} else if side == Either {
			signed = dumbStatistics(rounds, slices.Repeat([]float64{1}, len(rounds)), Above)[c]
		}
		cells[c] = FlippedCell{
			Statistic: signed,
			P:         share(c, func(d int) bool { return d == c }),
			Adjusted:  share(c, func(int) bool { return true }),
		}
	}
	for c := range cells {
		// The largest share of this cell and those above it, each against the
		// cells no larger than itself.
		for d := range cells {
			if observed[d] >= observed[c] {
				p := share(d, func(e int) bool { return observed[e] <= observed[d] })
				cells[c].StepDown = math.Max(cells[c].StepDown, p)
			}
		}
	}
	return cells
}

func dumbStatistics(rounds [][]float64, signs []float64, side Side) []float64 {
	statistics := make([]float64, len(rounds[0]))
	for c := range statistics {
		sum, squares := 0.0, 0.0
		for i, round := range rounds {
			sum += signs[i] * round[c]
			squares += round[c] * round[c]
		}
		if squares > 0 {
			statistics[c] = sum / math.Sqrt(squares)
		}
		switch side {
		case Either:
			statistics[c] = math.Abs(statistics[c])
		case Below:
			statistics[c] = 0 - statistics[c]
		}
	}
	return statistics
}

// flipMatrices yields n rounds of m cells: normal, correlated with a shift,
// small whole numbers with ties and zeros, a column of zeros, equal columns.
func flipMatrices(n, m int, rng *rand.Rand) [][][]float64 {
	sets := make([][][]float64, 4)
	for range n {
		shared := rng.NormFloat64()
		rows := make([][]float64, 4)
		for c := range m {
			rows[0] = append(rows[0], rng.NormFloat64())
			rows[1] = append(rows[1], shared+rng.NormFloat64()+float64(c))
			rows[2] = append(rows[2], float64(rng.IntN(5)-2))
			rows[3] = append(rows[3], float64(c%2)*shared) // zeros, and copies
		}
		for s := range sets {
			sets[s] = append(sets[s], rows[s])
		}
	}
	return sets
}

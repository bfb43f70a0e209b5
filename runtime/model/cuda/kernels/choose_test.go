//go:build cuda

package kernels

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// ranked are the ids of a row in the order that the kernels have: the largest first, a NaN before all, of
// equals the lowest.
func ranked(row []float32) []int {
	ids := make([]int, len(row))
	for i := range ids {
		ids[i] = i
	}
	slices.SortStableFunc(ids, func(a, b int) int {
		x, y := row[a], row[b]
		switch {
		case x != x && y != y:
			return 0
		case x != x:
			return -1
		case y != y:
			return 1
		}
		return cmp.Compare(y, x)
	})
	return ids
}

// rows of logits, and what is special about each.
func logits(vocabulary int) map[string][]float32 {
	r := random(uint64(vocabulary))
	made := map[string][]float32{"normal": normal(r, F32, vocabulary)}
	row := func(name string, f func(i int) float32) {
		for i := range vocabulary {
			made[name] = append(made[name], f(i))
		}
	}
	zero := math.Float32frombits(1 << 31)
	row("equal", func(int) float32 { return -2.5 })
	row("few values", func(int) float32 { return float32(r.IntN(3)) })
	row("zeros of both signs", func(int) float32 { return []float32{0, zero}[r.IntN(2)] })
	row("close together", func(int) float32 { return math.Float32frombits(0x41200000 + uint32(r.IntN(vocabulary))) })
	row("negative", func(int) float32 { return -10 - 5*r.Float32() })
	row("wide", func(int) float32 { return float32(math.Exp(40 * (r.Float64() - 0.5))) })
	row("mostly masked", func(i int) float32 {
		if i%7 == 5 || i == 0 {
			return r.Float32()
		}
		return float32(math.Inf(-1))
	})
	return made
}

const pad = 3 // logits behind each row, of ids that are padding

// upload puts rows there, with padding that would win.
func uploadLogits(d *device, rows ...[]float32) uint64 {
	var all []float32
	for _, row := range rows {
		all = append(append(all, row...), float32(math.Inf(1)), 1e30, float32(math.NaN()))
	}
	return d.floats(all)
}

var vocabularies = []int{1, 2, 33, 1024, 2049}

func TestArgmax(t *testing.T) {
	inOrders(t, func(d *device) {
		for _, vocabulary := range vocabularies {
			made := logits(vocabulary)
			made["NaN"] = slices.Clone(made["normal"])
			made["NaN"][vocabulary/2] = -float32(math.NaN())
			made["NaN"][vocabulary-1] = float32(math.NaN())
			for what, row := range made {
				const rows = 2 // the other way round behind it
				other := slices.Clone(row)
				slices.Reverse(other)
				values, ids := d.room(4*rows), d.room(8*rows)
				check(d.Argmax(d.t, values, ids, uploadLogits(d, row, other), rows, vocabulary, vocabulary+pad))
				want := []int{ranked(row)[0], ranked(other)[0]}
				if got := d.getInts(ids); !slices.Equal(got, want) {
					differs("%s of %d: %d, expected %d", what, vocabulary, got, want)
				}
				same(what, d.get(F32, values), []float32{row[want[0]], other[want[1]]})
			}
			d.free()
		}
	})
}

// The sum of at most 2049 exponentials, each within 3 units for its own rounding and its exponent's times
// the exponent, which is below 100 where it counts; then one logarithm.
func logSumTolerance(want float64) float64 { return 2e-5 + 4*unit*math.Abs(want) }

func logSum(row []float32, inverse float64) float64 {
	top, sum := float64(slices.Max(row))*inverse, 0.0
	for _, v := range row {
		sum += math.Exp(float64(v)*inverse - top)
	}
	return top + math.Log(sum)
}

func TestTopK(t *testing.T) {
	inOrders(t, func(d *device) {
		for _, vocabulary := range vocabularies {
			for what, row := range logits(vocabulary) {
				for _, k := range []int{1, 20, 1024} {
					if k > vocabulary {
						break
					}
					checkTopK(d, fmt.Sprint(what, " of ", vocabulary, " k ", k), k, row)
				}
			}
			d.free()
		}
	})
}

func checkTopK(d *device, what string, k int, row []float32) {
	const inverse = float32(1 / 0.6)
	other := slices.Clone(row)
	rand.New(rand.NewPCG(9, 9)).Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
	p := TopK{
		Values: d.room(8 * k), IDs: d.room(16 * k), Sums: d.room(8), Logits: uploadLogits(d, row, other),
		Rows: 2, Vocabulary: len(row), Stride: len(row) + pad, K: k, InverseTemperature: inverse,
	}
	check(d.TopK(d.t, p))
	var ids []int
	var values []float32
	var sums, tolerance []float64
	for _, r := range [][]float32{row, other} {
		for _, id := range ranked(r)[:k] {
			ids, values = append(ids, id), append(values, r[id])
		}
		sum := logSum(r, float64(inverse))
		sums, tolerance = append(sums, sum), append(tolerance, logSumTolerance(sum))
	}
	if got := d.getInts(p.IDs); !slices.Equal(got, ids) {
		differs("%s: ids %v, expected %v", what, got, ids)
	}
	same(what+": values", d.get(F32, p.Values), values)
	near(what+": sums", d.get(F32, p.Sums), sums, tolerance)
}

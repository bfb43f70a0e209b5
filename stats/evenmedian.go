package stats

import (
	"math/big"
	"slices"
	"sort"
)

// evenMedian is the distribution of the median of a resample of an even number
// of values.
type evenMedian struct {
	sorted []float64
	half   int
	power  []*big.Int // power[k] is k^half
	step   []*big.Int // step[k] is k^half-(k-1)^half, for k >= 1
	choose *big.Int   // C(n, half)
	total  *big.Int   // n^n
}

func newEvenMedian(sorted []float64) *evenMedian {
	n := len(sorted)
	d := &evenMedian{
		sorted: sorted,
		half:   n / 2,
		power:  make([]*big.Int, n+1),
		step:   make([]*big.Int, n+1),
		choose: new(big.Int).Binomial(int64(n), int64(n/2)),
		total:  resamples(n),
	}
	for k := range d.power {
		d.power[k] = power(k, d.half)
		if k > 0 {
			d.step[k] = new(big.Int).Sub(d.power[k], d.power[k-1])
		}
	}
	return d
}

// atMost counts the resamples whose median is at most v.
//
// Let i be the rank of the h-th smallest draw and j >= i that of the next. The
// median is at most v when the value of rank i is, one of the first K, and j is
// at most J(i), the last rank whose midpoint with i is. Count the resamples with
// i <= K and take away those with j > J(i): h draws with the highest at i, the
// other h all above J(i), C(n,h) (i^h-(i-1)^h) (n-J(i))^h of them.
func (d *evenMedian) atMost(v float64) *big.Int {
	n := len(d.sorted)
	last := sort.Search(n, func(i int) bool { return d.sorted[i] > v })
	above, product := new(big.Int), new(big.Int)
	partner := n // J(i), which never rises with i
	for i := 1; i <= last; i++ {
		for midpoint(d.sorted[i-1], d.sorted[partner-1]) > v {
			partner--
		}
		above.Add(above, product.Mul(d.step[i], d.power[n-partner]))
	}
	count := atLeast(n, last, d.half)
	return count.Sub(count, above.Mul(above, d.choose))
}

// quantile is the smallest v with P(med* <= v) >= p.
func (d *evenMedian) quantile(p *big.Rat) float64 {
	medians := d.medians()
	i := sort.Search(len(medians)-1, func(i int) bool { return reaches(d.atMost(medians[i]), d.total, p) })
	return medians[i]
}

// medians lists the values a median can take, in order.
func (d *evenMedian) medians() []float64 {
	n := len(d.sorted)
	all := make([]float64, 0, n*(n+1)/2)
	for i, a := range d.sorted {
		for _, b := range d.sorted[i:] {
			all = append(all, midpoint(a, b))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

package counters

import (
	"math"
	"runtime"
	"slices"
)

// Counter only grows.
type Counter struct {
	word *word
	file *mapping
}

// Add adds.
func (c *Counter) Add(n uint64) {
	c.word.Add(n)
	runtime.KeepAlive(c.file)
}

// Value is the sum so far.
func (c *Counter) Value() uint64 {
	defer runtime.KeepAlive(c.file)
	return c.word.Load()
}

// Gauge goes up and down.
type Gauge struct {
	word *word
	file *mapping
}

// Set replaces the value.
func (g *Gauge) Set(v float64) {
	g.word.Store(math.Float64bits(v))
	runtime.KeepAlive(g.file)
}

// Add adds, or takes away.
func (g *Gauge) Add(v float64) {
	change(g.word, func(old float64) float64 { return old + v })
	runtime.KeepAlive(g.file)
}

// Max raises the value to v if it is below: a high-water mark.
func (g *Gauge) Max(v float64) {
	change(g.word, func(old float64) float64 { return max(old, v) })
	runtime.KeepAlive(g.file)
}

// Value is the last that was set.
func (g *Gauge) Value() float64 {
	defer runtime.KeepAlive(g.file)
	return math.Float64frombits(g.word.Load())
}

// change replaces a float that others change too.
func change(w *word, f func(old float64) float64) {
	for {
		old := w.Load()
		now := math.Float64bits(f(math.Float64frombits(old)))
		if now == old || w.CompareAndSwap(old, now) {
			return
		}
	}
}

// Histogram counts observations in buckets.
type Histogram struct {
	bounds []float64
	words  []word // a count for each bound, one beyond, the sum
	file   *mapping
}

// Observe counts v in the first bucket whose bound is not below it. A NaN is
// beyond all bounds, and makes the sum NaN: it is seen.
func (h *Histogram) Observe(v float64) {
	i, _ := slices.BinarySearch(h.bounds, v)
	if math.IsNaN(v) { // which a search takes for the smallest
		i = len(h.bounds)
	}
	h.words[i].Add(1)
	change(&h.words[len(h.bounds)+1], func(old float64) float64 { return old + v })
	runtime.KeepAlive(h.file)
}

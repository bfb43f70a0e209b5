package main

import (
	"fmt"
	"sync"
)

// reader holds words that are read once a pass, each thread its own part.
type reader struct {
	parts [][]uint64
}

// wordsAStep are the additions that run side by side in a step, a cache line.
const wordsAStep = 8

// newReader makes as many bytes, whole cache lines for each thread.
func newReader(bytes int64, threads int) (*reader, error) {
	if threads < 1 {
		return nil, fmt.Errorf("%d threads, expected at least 1", threads)
	}
	line := int64(8 * wordsAStep * threads)
	if bytes < line || bytes%line != 0 {
		return nil, fmt.Errorf("%d bytes, expected a multiple of %d: whole cache lines for %d threads", bytes, line, threads)
	}
	r := &reader{}
	words := make([]uint64, bytes/8)
	for i := range words { // pages of zeros that nobody wrote may all be one page
		words[i] = uint64(i)
	}
	for part := range threads {
		each := len(words) / threads
		r.parts = append(r.parts, words[part*each:][:each])
	}
	return r, nil
}

// pass reads everything once and gives the sum.
func (r *reader) pass() uint64 {
	sums := make([]uint64, len(r.parts))
	var all sync.WaitGroup
	for i, part := range r.parts {
		all.Go(func() { sums[i] = sum(part) })
	}
	all.Wait()
	var total uint64
	for _, s := range sums {
		total += s
	}
	return total
}

// sum adds a multiple of wordsAStep words; additions that wait for each other would be slower than memory.
func sum(words []uint64) uint64 {
	var a, b, c, d uint64
	for len(words) >= wordsAStep {
		w := (*[wordsAStep]uint64)(words)
		a += w[0] + w[4]
		b += w[1] + w[5]
		c += w[2] + w[6]
		d += w[3] + w[7]
		words = words[wordsAStep:]
	}
	return a + b + c + d
}

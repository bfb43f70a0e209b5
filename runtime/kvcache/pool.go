package kvcache

import "fmt"

// Pool has the slots that are free.
type Pool struct {
	pageSize int
	free     []int32 // pages; the last is taken first
	used     []bool  // by page
}

// NewPool makes a pool of tokens slots, all free, rounded down to whole pages.
func NewPool(tokens, pageSize int) (*Pool, error) {
	if pageSize < 1 {
		return nil, fmt.Errorf("kvcache: page size %d, expected at least 1", pageSize)
	}
	if tokens < pageSize || tokens > 1<<31-1 {
		return nil, fmt.Errorf("kvcache: %d tokens in all, expected one page of %d to %d", tokens, pageSize, 1<<31-1)
	}
	pages := tokens / pageSize
	p := &Pool{pageSize: pageSize, free: make([]int32, pages), used: make([]bool, pages)}
	for i := range p.free {
		p.free[i] = int32(pages - 1 - i)
	}
	return p, nil
}

// PageSize is the number of slots of a page.
func (p *Pool) PageSize() int { return p.pageSize }

// Total is the number of slots, free or not.
func (p *Pool) Total() int { return len(p.used) * p.pageSize }

// Available is the number of free slots.
func (p *Pool) Available() int { return len(p.free) * p.pageSize }

// Need is the number of free slots that n more tokens take behind have tokens:
// those of whole new pages.
func (p *Pool) Need(have, n int) int { return p.Ceil(have+n) - p.Ceil(have) }

// Ceil rounds a number of tokens up to whole pages.
func (p *Pool) Ceil(tokens int) int { return (tokens + p.pageSize - 1) / p.pageSize * p.pageSize }

// Floor rounds a number of tokens down to whole pages.
func (p *Pool) Floor(tokens int) int { return tokens / p.pageSize * p.pageSize }

// Extend appends the slots of n more tokens to a request's. Where the pool has
// fewer than Need, it changes nothing and says false.
func (p *Pool) Extend(slots []int32, n int) ([]int32, bool) {
	if p.Need(len(slots), n) > p.Available() {
		return slots, false
	}
	for range n {
		if len(slots)%p.pageSize != 0 {
			slots = append(slots, slots[len(slots)-1]+1)
			continue
		}
		page := p.free[len(p.free)-1]
		p.free = p.free[:len(p.free)-1]
		p.used[page] = true
		slots = append(slots, page*int32(p.pageSize))
	}
	return slots, true
}

// Free gives back the pages of slots, which begin at a page; a page of which the
// end is missing is given back whole.
func (p *Pool) Free(slots []int32) {
	for i := 0; i < len(slots); i += p.pageSize {
		slot := slots[i]
		page := slot / int32(p.pageSize)
		if slot < 0 || slot%int32(p.pageSize) != 0 || int(page) >= len(p.used) || !p.used[page] {
			panic(fmt.Sprintf("kvcache: slot %d is freed, which is no taken page's first", slot))
		}
		p.used[page] = false
		p.free = append(p.free, page)
	}
}

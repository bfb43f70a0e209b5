package kvcache

import (
	"fmt"
	"slices"
)

// twin is the tree as a flat map of token lists: each node under its whole key.
// It looks at every entry for everything.
type twin struct {
	page  int
	nodes map[string]*flat
	tick  int
}

type flat struct {
	extra  string
	tokens []int64 // from the root
	slots  []int32 // of tokens[from:]
	from   int     // where the parent ends
	locks  int
	tick   int
}

func newTwin(page int) *twin { return &twin{page: page, nodes: map[string]*flat{}} }

func name(extra string, tokens []int64) string { return fmt.Sprint(len(extra), extra, tokens) }

func (w *twin) put(f *flat) { w.nodes[name(f.extra, f.tokens)] = f }

// common is the length of the whole pages at the beginning of both.
func (w *twin) common(a, b []int64) int {
	n := 0
	for n+w.page <= min(len(a), len(b)) && slices.Equal(a[:n+w.page], b[:n+w.page]) {
		n += w.page
	}
	return n
}

func (w *twin) match(key Key) []int32 {
	w.tick++
	var path []*flat
	for _, f := range w.nodes {
		if f.extra == key.Extra && w.common(f.tokens, key.Tokens) > f.from {
			path = append(path, f)
		}
	}
	slices.SortFunc(path, func(a, b *flat) int { return a.from - b.from })
	var found []int32
	for _, f := range path {
		if n := w.common(f.tokens, key.Tokens); n < len(f.tokens) {
			upper := *f
			upper.tokens, upper.slots = f.tokens[:n], f.slots[:n-f.from]
			f.slots, f.from = f.slots[n-f.from:], n
			w.put(&upper)
			f = &upper
		}
		f.tick = w.tick
		found = append(found, f.slots...)
	}
	return found
}

func (w *twin) insert(key Key, slots []int32) int {
	n := len(w.match(key))
	end := len(key.Tokens) - len(key.Tokens)%w.page
	if n < end {
		w.put(&flat{extra: key.Extra, tokens: slices.Clone(key.Tokens[:end]), slots: slices.Clone(slots[n:end]), from: n, tick: w.tick})
	}
	return n
}

// lock adds by to the locks of the node with that key and of those above.
func (w *twin) lock(key Key, by int) {
	for _, f := range w.nodes {
		if f.extra == key.Extra && len(f.tokens) <= len(key.Tokens) && slices.Equal(f.tokens, key.Tokens[:len(f.tokens)]) {
			f.locks += by
		}
	}
}

// evict returns the slots it takes away, in order.
func (w *twin) evict(n int) []int32 {
	var freed []int32
	for len(freed) < n {
		var oldest *flat
		for _, f := range w.nodes {
			if f.locks == 0 && !w.hasChild(f) && (oldest == nil || f.tick < oldest.tick) {
				oldest = f
			}
		}
		if oldest == nil {
			break
		}
		freed = append(freed, oldest.slots...)
		delete(w.nodes, name(oldest.extra, oldest.tokens))
	}
	return freed
}

func (w *twin) hasChild(f *flat) bool {
	for _, g := range w.nodes {
		if g.extra == f.extra && g.from == len(f.tokens) && slices.Equal(g.tokens[:g.from], f.tokens) {
			return true
		}
	}
	return false
}

// sizes are the slots without and with a lock.
func (w *twin) sizes() (evictable, protected int) {
	for _, f := range w.nodes {
		if f.locks == 0 {
			evictable += len(f.slots)
		} else {
			protected += len(f.slots)
		}
	}
	return evictable, protected
}

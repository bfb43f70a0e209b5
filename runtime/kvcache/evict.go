package kvcache

import "container/heap"

// Evict gives the slots of whole leaves back to the pool, the least recently
// used first, until they are n or more, or no leaf is left that is not locked.
// It returns how many they were.
func (c *Cache) Evict(n int) int {
	if n <= 0 || c.evictable == 0 {
		return 0
	}
	var h leaves
	c.collect(c.root, &h)
	heap.Init(&h)
	freed := 0
	for freed < n && len(h) > 0 {
		leaf := heap.Pop(&h).(*Node)
		parent := leaf.parent
		c.remove(leaf)
		freed += len(leaf.slots)
		if c.isEvictableLeaf(parent) {
			heap.Push(&h, parent)
		}
	}
	return freed
}

// Reset evicts everything; it does nothing and says false while a lock is held.
func (c *Cache) Reset() bool {
	if c.protected > 0 {
		return false
	}
	c.Evict(c.evictable)
	return true
}

func (c *Cache) remove(leaf *Node) {
	delete(leaf.parent.children, string(c.labelOf(leaf.parent, leaf.extra, leaf.tokens)))
	c.pool.Free(leaf.slots)
	c.evictable -= len(leaf.slots)
	c.nodes--
}

func (c *Cache) isEvictableLeaf(n *Node) bool {
	return n != c.root && n.locks == 0 && len(n.children) == 0
}

func (c *Cache) collect(n *Node, h *leaves) {
	if c.isEvictableLeaf(n) {
		*h = append(*h, n)
	}
	for _, child := range n.children {
		c.collect(child, h)
	}
}

// leaves is a heap by tick.
type leaves []*Node

func (l leaves) Len() int           { return len(l) }
func (l leaves) Less(i, j int) bool { return l[i].tick < l[j].tick }
func (l leaves) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *leaves) Push(x any)        { *l = append(*l, x.(*Node)) }
func (l *leaves) Pop() any {
	old := *l
	n := old[len(old)-1]
	*l = old[:len(old)-1]
	return n
}

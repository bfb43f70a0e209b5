package kvcache

import (
	"encoding/binary"
	"fmt"
)

// Key is what a prefix is looked up by.
type Key struct {
	Tokens []int64
	Extra  string // keys with another one share nothing
}

// Node is a place in the tree. Its fields are the tree's.
type Node struct {
	tokens   []int64 // of the edge that leads here
	slots    []int32
	parent   *Node
	children map[string]*Node // by the first page of their edges; at the root after Extra
	extra    string           // of nodes below the root
	locks    int
	tick     uint64
}

// Cache is a radix tree of token prefixes and their slots.
type Cache struct {
	pool      *Pool
	root      *Node
	evictable int
	protected int
	nodes     int
	tick      uint64
	label     []byte // scratch
}

// New makes an empty tree whose evicted slots go to the pool.
func New(pool *Pool) *Cache {
	return &Cache{pool: pool, root: &Node{children: map[string]*Node{}}}
}

// Evictable is the number of slots in the tree that no lock holds.
func (c *Cache) Evictable() int { return c.evictable }

// Protected is the number of slots in the tree that a lock holds.
func (c *Cache) Protected() int { return c.protected }

// Nodes is the number of nodes below the root.
func (c *Cache) Nodes() int { return c.nodes }

// Match finds the longest prefix of the key in the tree: its slots, and its
// node, which is the root where nothing was found. The slots are a copy.
func (c *Cache) Match(key Key) ([]int32, *Node) {
	c.tick++
	node, n := c.walk(key)
	slots := make([]int32, n)
	for at := node; at != c.root; at = at.parent {
		n -= len(at.slots)
		copy(slots[n:], at.slots)
	}
	return slots, node
}

// Insert adds the key's whole pages with their slots. It returns how many tokens
// were there before, whose slots stay the caller's, and the node of the whole.
func (c *Cache) Insert(key Key, slots []int32) (int, *Node) {
	if len(slots) != len(key.Tokens) {
		panic(fmt.Sprintf("kvcache: a key of %d tokens is inserted with %d slots", len(key.Tokens), len(slots)))
	}
	c.tick++
	node, n := c.walk(key)
	end := c.pool.Floor(len(key.Tokens))
	if n == end {
		return n, node
	}
	leaf := &Node{
		tokens: append([]int64(nil), key.Tokens[n:end]...),
		slots:  append([]int32(nil), slots[n:end]...),
		extra:  key.Extra,
		tick:   c.tick,
	}
	c.link(node, leaf)
	c.nodes++
	c.evictable += end - n
	return n, leaf
}

// walk goes down as far as the key leads, with the present tick, and splits the
// last edge where only its beginning fits.
func (c *Cache) walk(key Key) (*Node, int) {
	node, n := c.root, 0
	end := c.pool.Floor(len(key.Tokens))
	for n < end {
		child := node.children[string(c.labelOf(node, key.Extra, key.Tokens[n:end]))]
		if child == nil {
			break
		}
		same := c.common(child.tokens, key.Tokens[n:end])
		n += same
		if same < len(child.tokens) {
			child = c.split(child, same)
		}
		child.tick = c.tick
		node = child
	}
	return node, n
}

// common is the length of the whole pages that both begin with.
func (c *Cache) common(a, b []int64) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return c.pool.Floor(n)
}

// split puts a node for the first n tokens of the child's edge above it.
func (c *Cache) split(child *Node, n int) *Node {
	upper := &Node{
		tokens: child.tokens[:n:n],
		slots:  child.slots[:n:n],
		extra:  child.extra,
		locks:  child.locks,
		tick:   child.tick,
	}
	c.link(child.parent, upper) // in the child's place
	child.tokens, child.slots = child.tokens[n:], child.slots[n:]
	c.link(upper, child)
	c.nodes++
	return upper
}

func (c *Cache) link(parent, child *Node) {
	child.parent = parent
	if parent.children == nil {
		parent.children = map[string]*Node{}
	}
	parent.children[string(c.labelOf(parent, child.extra, child.tokens))] = child
}

// labelOf is what a child is found by below the node: its first page, and its
// Extra where the root is its parent.
func (c *Cache) labelOf(parent *Node, extra string, tokens []int64) []byte {
	c.label = c.label[:0]
	if parent == c.root {
		c.label = append(c.label, extra...)
	}
	for _, t := range tokens[:c.pool.pageSize] {
		c.label = binary.LittleEndian.AppendUint64(c.label, uint64(t))
	}
	return c.label
}

// Lock keeps the node and those above it from eviction.
func (c *Cache) Lock(node *Node) {
	for ; node != c.root; node = node.parent {
		if node.locks == 0 {
			c.evictable -= len(node.slots)
			c.protected += len(node.slots)
		}
		node.locks++
	}
}

// Unlock takes back one Lock of the node.
func (c *Cache) Unlock(node *Node) {
	for ; node != c.root; node = node.parent {
		if node.locks == 0 {
			panic("kvcache: a node is unlocked that no lock holds")
		}
		node.locks--
		if node.locks == 0 {
			c.evictable += len(node.slots)
			c.protected -= len(node.slots)
		}
	}
}

package kvcache

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// pair is the tree beside its twin, and the locks on both.
type pair struct {
	t      *testing.T
	pool   *Pool
	cache  *Cache
	twin   *twin
	locked []lock
}

type lock struct {
	node *Node
	key  Key
}

func newPair(t *testing.T, page int) *pair {
	pool, err := NewPool(64*page, page)
	if err != nil {
		t.Fatal(err)
	}
	return &pair{t: t, pool: pool, cache: New(pool), twin: newTwin(page)}
}

// step does what the bytes from next say: an operation, and a key of few
// different tokens, so that keys share beginnings.
func (p *pair) step(next func() int) {
	op := next() % 8
	key := Key{Extra: []string{"", "", "a", "ab"}[next()%4]}
	for range next() % 10 * p.pool.pageSize {
		key.Tokens = append(key.Tokens, int64(next()%2))
	}
	if cut := next() % p.pool.pageSize; cut < len(key.Tokens) {
		key.Tokens = key.Tokens[:len(key.Tokens)-cut]
	}
	switch op {
	case 0, 1, 2:
		p.insert(key)
	case 3:
		p.match(key)
	case 4, 5:
		_, node := p.match(key)
		p.cache.Lock(node)
		key := p.keyOf(node)
		p.twin.lock(key, 1)
		p.locked = append(p.locked, lock{node, key})
	case 6:
		p.unlock(next())
	case 7:
		p.evict(next() % 12 * p.pool.pageSize)
	}
	p.check()
}

// insert does as a scheduler does: match, take slots for the rest, insert, free
// what was there before.
func (p *pair) insert(key Key) {
	slots, _ := p.match(key)
	prefix := len(slots)
	slots, ok := p.pool.Extend(slots, len(key.Tokens)-prefix)
	if !ok {
		return
	}
	was, node := p.cache.Insert(key, slots)
	if want := p.twin.insert(key, slots); was != want || was != prefix {
		p.t.Fatalf("insert of %v: %d were there before, twin says %d, match said %d", key, was, want, prefix)
	}
	end := p.pool.Floor(len(key.Tokens))
	if got := p.keyOf(node); !slices.Equal(got.Tokens, key.Tokens[:end]) {
		p.t.Fatalf("insert of %v: node of %v", key, got)
	}
	p.pool.Free(slots[end:])
}

func (p *pair) match(key Key) ([]int32, *Node) {
	got, node := p.cache.Match(key)
	if want := p.twin.match(key); !slices.Equal(got, want) {
		p.t.Fatalf("match of %v: slots %v, twin says %v", key, got, want)
	}
	return got, node
}

func (p *pair) unlock(i int) {
	if len(p.locked) == 0 {
		return
	}
	i %= len(p.locked)
	l := p.locked[i]
	p.locked = slices.Delete(p.locked, i, i+1)
	p.cache.Unlock(l.node)
	p.twin.lock(l.key, -1)
}

func (p *pair) evict(n int) {
	before := len(p.pool.free)
	freed := p.cache.Evict(n)
	want := p.twin.evict(n)
	if freed != len(want) {
		p.t.Fatalf("evict of %d freed %d, twin says %d", n, freed, len(want))
	}
	var pages []int32
	for i := 0; i < len(want); i += p.pool.pageSize {
		pages = append(pages, want[i]/int32(p.pool.pageSize))
	}
	if got := p.pool.free[before:]; !slices.Equal(got, pages) {
		p.t.Fatalf("evict of %d freed pages %v, twin says %v", n, got, pages)
	}
}

func (p *pair) keyOf(node *Node) (key Key) {
	key.Extra = node.extra
	for ; node != p.cache.root; node = node.parent {
		key.Tokens = append(slices.Clone(node.tokens), key.Tokens...)
	}
	return key
}

// check says what must hold after every step.
func (p *pair) check() {
	p.t.Helper()
	evictable, protected := p.twin.sizes()
	if p.cache.Evictable() != evictable || p.cache.Protected() != protected || p.cache.Nodes() != len(p.twin.nodes) {
		p.t.Fatalf("evictable %d, protected %d, nodes %d; twin says %d, %d, %d", p.cache.Evictable(), p.cache.Protected(), p.cache.Nodes(), evictable, protected, len(p.twin.nodes))
	}
	if sum := p.pool.Available() + evictable + protected; sum != p.pool.Total() {
		p.t.Fatalf("free %d, evictable %d, protected %d: %d in all, expected %d", p.pool.Available(), evictable, protected, sum, p.pool.Total())
	}
	seen := map[int32]bool{}
	for _, page := range p.pool.free {
		seen[page*int32(p.pool.pageSize)] = true
	}
	p.checkNode(p.cache.root, seen)
	for _, l := range p.locked {
		if got := p.keyOf(l.node); l.node != p.cache.root && !slices.Equal(got.Tokens, l.key.Tokens) {
			p.t.Fatalf("a locked node's key is %v, was %v", got, l.key)
		}
	}
}

func (p *pair) checkNode(n *Node, seen map[int32]bool) {
	for _, child := range n.children {
		switch {
		case child.parent != n || child.extra != n.extra && n != p.cache.root:
			p.t.Fatalf("node of %v: parent or extra is wrong", p.keyOf(child))
		case len(child.tokens) == 0 || len(child.tokens)%p.pool.pageSize != 0 || len(child.slots) != len(child.tokens):
			p.t.Fatalf("node of %d tokens and %d slots, want the same number of whole pages", len(child.tokens), len(child.slots))
		case n != p.cache.root && (child.locks > n.locks || child.tick > n.tick):
			p.t.Fatalf("node with locks %d, tick %d below one with %d, %d", child.locks, child.tick, n.locks, n.tick)
		}
		for i := 0; i < len(child.slots); i += p.pool.pageSize {
			if seen[child.slots[i]] {
				p.t.Fatalf("slot %d is in two places", child.slots[i])
			}
			seen[child.slots[i]] = true
		}
		p.checkNode(child, seen)
	}
}

// finish gives all locks back and empties the tree.
func (p *pair) finish() {
	if len(p.locked) > 0 && p.cache.Protected() > 0 && p.cache.Reset() {
		p.t.Fatal("reset while a lock is held")
	}
	for len(p.locked) > 0 {
		p.unlock(0)
	}
	if !p.cache.Reset() || p.pool.Available() != p.pool.Total() || p.cache.Nodes() != 0 {
		p.t.Fatalf("after reset %d of %d slots are free, %d nodes", p.pool.Available(), p.pool.Total(), p.cache.Nodes())
	}
}

func TestCacheAgainstTwin(t *testing.T) {
	for _, page := range []int{1, 2, 4} {
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, uint64(page)))
			p := newPair(t, page)
			for range 80 {
				p.step(func() int { return r.IntN(1 << 16) })
			}
			p.finish()
		}
	}
}

func FuzzCacheAgainstTwin(f *testing.F) {
	f.Add(uint8(0), []byte("\x00\x00\x05\x01\x00\x01\x01\x00\x04\x00\x03\x01\x00\x07\x01"))
	f.Add(uint8(1), []byte("insert, match, lock, unlock, evict, and again insert"))
	f.Fuzz(func(t *testing.T, page uint8, ops []byte) {
		p := newPair(t, 1+int(page%4))
		for len(ops) > 0 {
			p.step(func() int {
				if len(ops) == 0 {
					return 0
				}
				b := ops[0]
				ops = ops[1:]
				return int(b)
			})
		}
		p.finish()
	})
}

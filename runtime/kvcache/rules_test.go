package kvcache

import (
	"slices"
	"strings"
	"testing"
)

func made(t *testing.T, tokens, page int) (*Pool, *Cache) {
	t.Helper()
	pool, err := NewPool(tokens, page)
	if err != nil {
		t.Fatal(err)
	}
	return pool, New(pool)
}

func put(t *testing.T, p *Pool, c *Cache, tokens ...int64) *Node {
	t.Helper()
	slots, _ := c.Match(Key{Tokens: tokens})
	n := len(slots)
	slots, ok := p.Extend(slots, len(tokens)-n)
	if !ok {
		t.Fatalf("no room for %v", tokens)
	}
	_, node := c.Insert(Key{Tokens: tokens}, slots)
	return node
}

func matched(c *Cache, tokens ...int64) int {
	slots, _ := c.Match(Key{Tokens: tokens})
	return len(slots)
}

// The least recently used leaf goes first, and goes whole.
func TestEvictTakesWholeLeastRecentLeaf(t *testing.T) {
	pool, c := made(t, 16, 1)
	put(t, pool, c, 1, 2, 3)
	put(t, pool, c, 1, 2, 4, 5)
	put(t, pool, c, 9)
	matched(c, 1, 2, 3)
	if freed := c.Evict(1); freed != 2 {
		t.Errorf("freed %d slots, want the 2 of the leaf 4, 5", freed)
	}
	if got := matched(c, 1, 2, 4, 5); got != 2 {
		t.Errorf("%d tokens of 1, 2, 4, 5 are left, want 2", got)
	}
	if got := matched(c, 9); got != 1 {
		t.Errorf("%d tokens of 9 are left, want 1", got)
	}
}

// A parent goes only after its children.
func TestEvictParentAfterChildren(t *testing.T) {
	pool, c := made(t, 16, 1)
	put(t, pool, c, 1, 2)
	put(t, pool, c, 1, 2, 3)
	if freed := c.Evict(1); freed != 1 || matched(c, 1, 2) != 2 {
		t.Errorf("freed %d, want the child's 1 slot only", freed)
	}
	if freed := c.Evict(1); freed != 2 || c.Nodes() != 0 {
		t.Errorf("freed %d with %d nodes left, want the parent's 2 and none", freed, c.Nodes())
	}
}

// A lock keeps the way up, not what hangs below it.
func TestLockKeepsTheWayUp(t *testing.T) {
	pool, c := made(t, 16, 1)
	upper := put(t, pool, c, 1, 2)
	put(t, pool, c, 1, 2, 3)
	c.Lock(upper)
	if freed := c.Evict(10); freed != 1 || matched(c, 1, 2) != 2 {
		t.Errorf("freed %d, want 1", freed)
	}
	c.Lock(upper)
	c.Unlock(upper)
	if freed := c.Evict(10); freed != 0 {
		t.Errorf("freed %d under the second lock, want 0", freed)
	}
	c.Unlock(upper)
	if freed := c.Evict(10); freed != 2 || pool.Available() != 16 {
		t.Errorf("freed %d, %d free, want 2 and 16", freed, pool.Available())
	}
}

// A lock whose node is split keeps both parts.
func TestSplitKeepsLocks(t *testing.T) {
	pool, c := made(t, 16, 1)
	node := put(t, pool, c, 1, 2, 3, 4)
	c.Lock(node)
	put(t, pool, c, 1, 2, 7)
	if c.Protected() != 4 || c.Evictable() != 1 {
		t.Errorf("protected %d, evictable %d, want 4 and 1", c.Protected(), c.Evictable())
	}
	c.Unlock(node)
	if c.Protected() != 0 || c.Evictable() != 5 {
		t.Errorf("protected %d, evictable %d, want 0 and 5", c.Protected(), c.Evictable())
	}
}

// Only whole pages are kept and found; pages with an equal beginning stand side
// by side.
func TestPages(t *testing.T) {
	pool, c := made(t, 32, 4)
	slots, _ := pool.Extend(nil, 6)
	if was, node := c.Insert(Key{Tokens: []int64{1, 2, 3, 4, 5, 6}}, slots); was != 0 || len(node.tokens) != 4 {
		t.Errorf("insert of six: %d before, %d kept, want 0 and 4", was, len(node.tokens))
	}
	pool.Free(slots[4:])
	put(t, pool, c, 1, 2, 3, 5)
	for want, key := range map[int][]int64{0: {1, 2, 3}, 4: {1, 2, 3, 5, 9, 9, 9, 9}} {
		if got := matched(c, key...); got != want {
			t.Errorf("match of %v: %d, want %d", key, got, want)
		}
	}
	if got := pool.Need(6, 2); got != 0 {
		t.Errorf("two more behind six need %d slots, want 0", got)
	}
	if got := pool.Need(6, 3); got != 4 {
		t.Errorf("three more behind six need %d slots, want 4", got)
	}
}

// Keys with another Extra share nothing, however the bytes of both lie.
func TestExtraSeparates(t *testing.T) {
	pool, c := made(t, 16, 1)
	slots, _ := pool.Extend(nil, 2)
	c.Insert(Key{Tokens: []int64{1, 2}, Extra: "salt"}, slots)
	for _, extra := range []string{"", "sal", "salt\x01\x00\x00\x00\x00\x00\x00\x00"} {
		if got, _ := c.Match(Key{Tokens: []int64{1, 2}, Extra: extra}); len(got) != 0 {
			t.Errorf("match with extra %q: %v, want none", extra, got)
		}
	}
	if got, _ := c.Match(Key{Tokens: []int64{1, 2}, Extra: "salt"}); !slices.Equal(got, slots) {
		t.Errorf("match with its extra: %v, want %v", got, slots)
	}
}

func TestPoolErrors(t *testing.T) {
	for want, size := range map[string][2]int{
		"kvcache: page size 0, expected at least 1":                          {8, 0},
		"kvcache: 3 tokens in all, expected one page of 4 to 2147483647":     {3, 4},
		"kvcache: -1 tokens in all, expected one page of 1 to 2147483647":    {-1, 1},
		"kvcache: 2147483648 tokens in all, expected one page of 1 to 21474": {1 << 31, 1},
	} {
		if _, err := NewPool(size[0], size[1]); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("NewPool(%d, %d): error %v, want %s", size[0], size[1], err, want)
		}
	}
	pool, _ := made(t, 10, 4)
	if pool.Total() != 8 {
		t.Errorf("a pool of 10 in pages of 4 has %d slots, want 8", pool.Total())
	}
	if slots, ok := pool.Extend(nil, 9); ok || slots != nil || pool.Available() != 8 {
		t.Errorf("9 slots of 8: %v, %t, %d left, want none and all left", slots, ok, pool.Available())
	}
}

// Faults that would hand one slot to two requests stop the program.
func TestFaultsPanic(t *testing.T) {
	pool, c := made(t, 8, 2)
	slots, _ := pool.Extend(nil, 2)
	for what, fault := range map[string]func(){
		"double free":        func() { pool.Free(slots); pool.Free(slots) },
		"middle of a page":   func() { pool.Free([]int32{3}) },
		"beyond the pool":    func() { pool.Free([]int32{8}) },
		"negative":           func() { pool.Free([]int32{-2}) },
		"slots and tokens":   func() { c.Insert(Key{Tokens: []int64{1, 2}}, []int32{0}) },
		"unlock without one": func() { c.Unlock(&Node{parent: c.root}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			fault()
		}()
	}
}

package bpe

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// cacheSlots is how many words are remembered at most, and cacheWord how long
// one may be: some 6 MB with every slot full of long words.
const (
	cacheSlots = 1 << 14
	cacheWord  = 64
)

// cache remembers words. A word has one slot, by its hash, and takes it from
// whatever is there; the seed is a process's own, so that no client knows which
// words fall together. It is safe for concurrent use.
type cache struct {
	seed  maphash.Seed
	slots [cacheSlots]atomic.Pointer[cached]
}

// cached is not changed once it is in a slot.
type cached struct {
	word string
	ids  []int32
}

func newCache() *cache { return &cache{seed: maphash.MakeSeed()} }

func (c *cache) slot(word string) *atomic.Pointer[cached] {
	return &c.slots[maphash.String(c.seed, word)%cacheSlots]
}

func (c *cache) get(word string) (ids []int32, ok bool) {
	e := c.slot(word).Load()
	if e == nil || e.word != word {
		return nil, false
	}
	return e.ids, true
}

// put remembers a word, unless it is too long. The word is copied: it is a part
// of a whole request's text. The ids are copied too.
func (c *cache) put(word string, ids []int32) {
	if len(word) > cacheWord {
		return
	}
	c.slot(word).Store(&cached{strings.Clone(word), append([]int32(nil), ids...)})
}

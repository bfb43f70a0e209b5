// Package kvcache keeps account of the key-value memory of a model: which slots
// are free ([Pool]), and which hold the keys and values of token prefixes that
// later requests can use again ([Cache], a radix tree). It holds numbers only,
// no keys and no values, no clock, no I/O and no goroutine; one goroutine at a
// time may use it.
//
// # Slots and pages
//
// A slot has room for the keys and values of one token. Slots come in pages of
// PageSize, page p being the slots p·PageSize and following; pages are taken and
// given back whole. The slots of a request stand in the order of its tokens and
// fill its pages one after the other, so only its last page can have slots that
// no token uses yet. With a page size of 1, the default of SGLang, a page is a
// slot.
//
// # The tree
//
// An edge holds a run of tokens and their slots; a node's key is the tokens from
// the root to it. Only whole pages are kept: keys are cut down to a multiple of
// the page size, and edges begin and end at pages. Two keys share a page when
// all tokens up to its end are equal and so is their Extra (SGLang's extra_key
// and cache_salt: requests with another Extra never share).
//
//   - Match finds the longest prefix there is, and splits an edge that the key
//     leaves half-way, so that the prefix has a node of its own.
//   - Insert adds the rest of a key as one new leaf. What was there before stays;
//     the caller frees its own slots for that part.
//   - Lock keeps a node and all nodes above it from eviction, as often as it was
//     called; Unlock takes one call back.
//   - Evict gives slots of unlocked leaves back to the pool, whole leaves at a
//     time, the one least recently matched or inserted first, until enough is
//     free. A parent without children left is a leaf.
//
// "Recently" is counted in calls: each Match and each Insert is one tick, and
// every node on its path gets that tick. No two leaves have the same one.
//
// At any time the pool's slots are the free ones, the tree's, and those that
// requests hold outside the tree; Evictable of the tree's are not locked,
// Protected are.
//
// The rules are those of SGLang's RadixCache (mem_cache/radix_cache.py). It
// orders leaves by the time of last access, of which two can be equal; ticks
// give the same order every time.
//
// # Errors
//
// NewPool names a size that cannot be. Freeing a slot twice, unlocking what is
// not locked and slots that do not fit their key are faults of the caller that
// would hand one slot to two requests: they panic.
//
// # Designs dropped
//
// A map from the hash of a page and all before it to its slots (vLLM): the
// longest prefix then takes a look-up a page, and eviction has to find out which
// pages others build on. Trimming a leaf's end instead of evicting the leaf keeps
// more, but then what is cached under pressure is not what SGLang has cached. A
// heap of leaves by tick: every match would have to move one; Evict looks at the
// leaves there are, in one pass for each call, and is called when memory is short.
package kvcache

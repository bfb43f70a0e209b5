package detokenizer

import "unsafe"

// maxKept is the largest buffer, in bytes, that a free entry keeps.
const maxKept = 64 << 10

// entry is the state of one rid or, once evicted, its tombstone.
type entry struct {
	rid []byte // the bytes behind the map's key

	// of the offset method
	ids        []int64 // the window: surrounding ids, then new ones
	readOffset int     // where in ids the new ones begin
	pending    int     // characters behind text that were emitted

	// of the byte buffer
	held       [3]byte // bytes that may begin a character
	nheld      int
	promptChar bool // held begins with the prompt's last bytes

	text []byte // committed text, needed to find stop strings
	sent int    // bytes of text that were emitted

	evicted    bool
	prev, next *entry // in live or graves, oldest first
}

// store finds entries by rid and knows the oldest. Removed entries are used again.
type store struct {
	byRID  map[string]*entry
	live   queue // states by first row
	graves queue // tombstones by eviction
	free   []*entry
}

func newStore() store { return store{byRID: make(map[string]*entry)} }

func (s *store) find(rid string) *entry { return s.byRID[rid] }

func (s *store) add(rid string) *entry {
	e := s.take()
	e.rid = append(e.rid, rid...)
	s.byRID[e.key()] = e
	s.live.push(e)
	return e
}

// key is the rid as the map holds it. The string shares the entry's bytes, so
// that a rid costs no allocation and the caller's may lie in a receive buffer.
// The bytes do not change before release, when the map has forgotten the key.
func (e *entry) key() string { return unsafe.String(unsafe.SliceData(e.rid), len(e.rid)) }

// evict turns the oldest state into a tombstone, of which at most graves stay.
func (s *store) evict(graves int) {
	e := s.live.first
	s.live.drop(e)
	e.ids, e.text = nil, nil // a tombstone may stay for long
	e.evicted = true
	s.graves.push(e)
	if s.graves.n > graves {
		s.remove(s.graves.first)
	}
}

// remove forgets e, a state or a tombstone.
func (s *store) remove(e *entry) {
	if e.evicted {
		s.graves.drop(e)
	} else {
		s.live.drop(e)
	}
	delete(s.byRID, e.key())
	if cap(e.rid) > maxKept {
		e.rid = nil
	}
	if cap(e.ids) > maxKept/8 {
		e.ids = nil
	}
	if cap(e.text) > maxKept {
		e.text = nil
	}
	*e = entry{rid: e.rid[:0], ids: e.ids[:0], text: e.text[:0]}
	s.free = append(s.free, e)
}

// take returns an empty entry.
func (s *store) take() *entry {
	n := len(s.free)
	if n == 0 {
		return new(entry)
	}
	e := s.free[n-1]
	s.free = s.free[:n-1]
	return e
}

// queue is a doubly linked list of entries, so that one in the middle leaves in
// constant time.
type queue struct {
	first, last *entry
	n           int
}

func (q *queue) push(e *entry) {
	e.prev, e.next = q.last, nil
	if q.last == nil {
		q.first = e
	} else {
		q.last.next = e
	}
	q.last = e
	q.n++
}

func (q *queue) drop(e *entry) {
	if e.prev == nil {
		q.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		q.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
	q.n--
}

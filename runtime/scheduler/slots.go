package scheduler

import "fmt"

func (s *Scheduler) evictable() int {
	if s.tree == nil {
		return 0
	}
	return s.tree.Evictable()
}

// room is how many slots could be taken: the free and the evictable ones.
func (s *Scheduler) room() int { return s.pool.Available() + s.evictable() }

// used is the number of slots that requests hold, or keep in the tree.
func (s *Scheduler) used() int { return s.pool.Total() - s.room() }

// grow takes the slots of the request's next n tokens, for which there is room.
func (s *Scheduler) grow(r *request, n int) {
	if need := s.pool.Need(len(r.slots), n) - s.pool.Available(); need > 0 && s.tree != nil {
		s.tree.Evict(need)
	}
	slots, ok := s.pool.Extend(r.slots, n)
	if !ok {
		panic(fmt.Sprintf("scheduler: no room for %d tokens of rid %q: %d slots free", n, r.in.RID, s.pool.Available()))
	}
	r.slots = slots
}

// match finds the request's longest prefix in the tree.
func (s *Scheduler) match(r *request) {
	r.prefix, r.at = nil, nil
	if s.tree != nil {
		r.prefix, r.at = s.tree.Match(r.key(r.matchable()))
	}
}

// hold locks the matched prefix for an admission that is tried.
func (s *Scheduler) hold(r *request) {
	if r.at != nil {
		s.tree.Lock(r.at)
	}
}

func (s *Scheduler) unhold(r *request) {
	if r.at != nil {
		s.tree.Unlock(r.at)
	}
}

// adopt makes the held prefix the request's.
func (r *request) adopt() {
	r.slots, r.protected, r.node = r.prefix, len(r.prefix), r.at
	r.prefix, r.at = nil, nil
	if !r.admitted {
		r.admitted = true
		r.cached = r.protected
	}
}

// commit gives what was computed to the tree, and goes on with the tree's slots
// for what was there before (SGLang: cache_unfinished_req).
func (s *Scheduler) commit(r *request) {
	if s.tree == nil {
		return
	}
	key := r.key(len(r.slots))
	was, node := s.tree.Insert(key, r.slots)
	s.pool.Free(r.slots[r.protected:was])
	shared, _ := s.tree.Match(key)
	copy(r.slots, shared)
	s.tree.Lock(node)
	s.tree.Unlock(r.node)
	r.node, r.protected = node, len(shared)
}

// release frees what the request holds. Where keep is set the tree gets what was
// computed (SGLang: cache_finished_req).
func (s *Scheduler) release(r *request, keep bool) {
	end := r.protected // of what stays in the tree
	if s.tree != nil && keep && len(r.slots) > 0 {
		was, _ := s.tree.Insert(r.key(len(r.slots)), r.slots)
		s.pool.Free(r.slots[r.protected:was])
		end = s.pool.Floor(len(r.slots))
	}
	s.pool.Free(r.slots[end:])
	if r.node != nil {
		s.tree.Unlock(r.node)
	}
	r.slots, r.protected, r.node = nil, 0, nil
}

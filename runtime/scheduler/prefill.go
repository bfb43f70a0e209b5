package scheduler

import (
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// prefill makes a batch of prompts, or chunks of them; nil: nothing is admitted.
func (s *Scheduler) prefill(now float64) *flight {
	if s.chunked == nil && (s.full != open || len(s.waiting) == 0) {
		return nil
	}
	mixed := 0
	if s.config.EnableMixedChunk {
		mixed = len(s.running)
	}
	a := newAdder(s, mixed)
	if s.chunked != nil {
		a.addChunked(s.chunked)
	}
	reason, refused := s.admitWaiting(a)
	if refused != nil {
		refused.record.refuse(reason)
	}
	if len(a.admitted) == 0 {
		return nil
	}
	s.waiting = slices.DeleteFunc(s.waiting, func(r *request) bool { return r.state == extending })
	s.stats.Prefills++
	if len(s.waiting) == 0 {
		reason = a.whyCut
	}
	s.admitRecord(now, a, reason, refused)
	return s.extendBatch(now, a)
}

// admitWaiting tries the waiting requests in their order, and says what ended
// it, and at whom.
func (s *Scheduler) admitWaiting(a *adder) (Close, *request) {
	if s.full != open {
		return s.full, nil
	}
	if len(s.running) < s.config.MaxRunningRequests {
		s.order()
	}
	for i, r := range s.waiting {
		if len(a.admitted) >= s.config.MaxRunningRequests-len(s.running) {
			s.full = CloseMaxRunningRequests
			return CloseMaxRunningRequests, r
		}
		before := len(a.admitted)
		verdict := a.addOne(r)
		if verdict == CloseNoToken {
			s.full = CloseNoToken
		}
		if verdict == open {
			continue
		}
		if len(a.admitted) == before {
			return verdict, r
		}
		if i+1 < len(s.waiting) {
			return verdict, s.waiting[i+1]
		}
		return verdict, nil
	}
	return CloseQueueEmpty, nil
}

// extendBatch takes the slots of the admitted requests, and those of the running
// ones for a mixed batch.
func (s *Scheduler) extendBatch(now float64, a *adder) *flight {
	f := &flight{batch: &model.Batch{Mode: model.Extend}, extends: len(a.admitted)}
	if a.admitted[0] == s.chunked {
		s.chunked = nil
	}
	for _, r := range a.admitted {
		if r.times.ForwardEntry == 0 {
			r.times.ForwardEntry = now
		}
		start := len(r.slots)
		s.grow(r, r.extend)
		f.requests = append(f.requests, r)
		f.batch.Work = append(f.batch.Work, r.work(start))
	}
	// Slots of pages may not do for all; then they decode in the next step.
	if s.config.EnableMixedChunk && len(s.running) > 0 && s.decodeNeed() <= s.room() {
		f.batch.Mode = model.Mixed
		s.addDecodes(f)
	}
	return f
}

package scheduler

import (
	"errors"
	"slices"
)

// abort ends a request wherever it is, or remembers that it is to end.
func (s *Scheduler) abort(now float64, m *AbortReq) error {
	if m.AbortAll {
		for _, r := range s.inOrder() {
			s.abortRequest(now, r, m.reason())
		}
		return nil
	}
	if m.RID == "" {
		return errors.New("scheduler: an AbortReq has an empty rid, expected a request's, or abort_all")
	}
	if r := s.requests[m.RID]; r != nil {
		s.abortRequest(now, r, m.reason())
	} else if !s.records.finished(m.RID) {
		s.aborted.add(now, now+s.config.AbortMemory, m.RID, m.reason())
	}
	return nil
}

func (m *AbortReq) reason() *FinishReason {
	if m.FinishedReason != nil {
		return m.FinishedReason
	}
	message := m.AbortMessage
	if message == "" {
		message = "aborted"
	}
	return &FinishReason{Type: FinishAbort, Message: message}
}

// inOrder has all requests in the order of arrival.
func (s *Scheduler) inOrder() []*request {
	var all []*request
	for _, r := range s.requests {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *request) int { return int(a.arrival) - int(b.arrival) })
	return all
}

func (s *Scheduler) abortRequest(now float64, r *request, reason *FinishReason) {
	if r.computing {
		if r.pending == nil {
			r.pending = reason
		}
		return
	}
	if r.state == waiting {
		s.waiting = slices.DeleteFunc(s.waiting, func(w *request) bool { return w == r })
	}
	r.finish = reason
	s.end(now, r, true)
	s.dropFinished()
}

// abortLimit is how many aborts of unknown rids are remembered.
const abortLimit = 1024

// abortMemory has aborts whose requests have not come yet, the oldest first.
type abortMemory []earlyAbort

type earlyAbort struct {
	rid    string
	until  float64
	reason *FinishReason
}

func (a *abortMemory) add(now, until float64, rid string, reason *FinishReason) {
	a.expire(now)
	if len(*a) == abortLimit {
		*a = slices.Delete(*a, 0, 1)
	}
	*a = append(*a, earlyAbort{rid, until, reason})
}

// take removes the abort of the rid and says why it was; nil: there is none.
func (a *abortMemory) take(now float64, rid string) *FinishReason {
	a.expire(now)
	i := slices.IndexFunc(*a, func(e earlyAbort) bool { return e.rid == rid })
	if i < 0 {
		return nil
	}
	reason := (*a)[i].reason
	*a = slices.Delete(*a, i, i+1)
	return reason
}

func (a *abortMemory) expire(now float64) {
	for len(*a) > 0 && (*a)[0].until < now {
		*a = slices.Delete(*a, 0, 1)
	}
}

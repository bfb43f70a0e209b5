package load

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	// standbyDelay is how long after a request was due the standby sends it.
	standbyDelay = 100 * time.Microsecond
	// standbyNap is the shortest that it sleeps, so that at a high rate it does not wake for every request.
	standbyNap = 250 * time.Microsecond
)

// dispatch sends each request when it is due. It never waits for an answer, nor for a connection.
func (s *sender) dispatch(ctx context.Context, alone bool) {
	s.self.Priority = lockThread()
	if !alone {
		keepTo(0, 2)
	}
	for i := s.untaken(); i < len(s.records); i = s.untaken() {
		s.await(ctx, i)
		s.take(ctx, i)
	}
}

// standBy sends what the dispatcher has not sent a little after it was due, on other processors: a host that takes
// a processor away for milliseconds then holds up no request, unless it takes all.
func (s *sender) standBy(ctx context.Context) {
	lockThread()
	keepTo(1, 2)
	for i := s.untaken(); i < len(s.records); i = s.untaken() {
		left := time.Duration((s.records[i].Intended-s.clock.Now())*1e9) + standbyDelay
		if left > 0 && ctx.Err() == nil {
			sleep(min(max(left, standbyNap), nap))
			continue // it may have been sent meanwhile
		}
		if s.take(ctx, i) {
			s.stoodIn.Add(1)
		}
	}
}

func (s *sender) untaken() int { return int(s.next.Load()) }

// await returns when request i is due, or the context has ended.
func (s *sender) await(ctx context.Context, i int) {
	for ctx.Err() == nil && !s.clock.Until(s.records[i].Intended) {
	}
	if s.turns == nil {
		return
	}
	if i > 0 {
		<-s.turns
	}
	s.records[i].Intended = s.clock.Now()
}

// take sends request i and says so, unless another dispatcher has taken it. When the context has ended it abandons
// what is left.
func (s *sender) take(ctx context.Context, i int) bool {
	if ctx.Err() != nil {
		s.abandon(int(s.next.Swap(int64(len(s.records)))), context.Cause(ctx))
		return false
	}
	if !s.next.CompareAndSwap(int64(i), int64(i+1)) {
		return false
	}
	raise(&s.most, s.inFlight.Add(1))
	s.send(ctx, i)
	if i%16 == 0 {
		raise(&s.goroutines, int64(runtime.NumGoroutine()))
	}
	return true
}

// raise makes m at least n.
func raise(m *atomic.Int64, n int64) {
	for old := m.Load(); n > old && !m.CompareAndSwap(old, n); old = m.Load() {
	}
}

// abandon ends the requests from i on, which are not sent any more.
func (s *sender) abandon(i int, why error) {
	for ; i < len(s.records); i++ {
		s.inFlight.Add(1)
		s.finish(i, s.clock.Now(), fmt.Sprintf("not sent: %v", why))
	}
}

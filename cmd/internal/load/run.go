package load

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// lead is how long after everything is ready the schedule starts.
const lead = 20 * time.Millisecond

// Run sends the schedule's requests to the target and waits until each has been answered, has failed or
// has timed out. check, which may be nil, looks at each request that was answered with a status of 2xx, after the
// last one has ended; its error is the request's. The error of Run is that nothing could be measured,
// or that the context ended; with the latter the result holds what there is.
func Run(ctx context.Context, s Schedule, t Target, bodies [][]byte, check func(Sent) error) (Result, error) {
	return runWith(ctx, s, t, bodies, check, way{clock: realClock, standby: runtime.NumCPU() > 1})
}

// way is how the requests are sent: by which clock, whether each waits for the one before, and whether a second
// dispatcher stands by.
type way struct {
	clock      func(start time.Time) clock
	sequential bool
	standby    bool
}

func realClock(start time.Time) clock { return preciseClock{start} }

func runWith(ctx context.Context, s Schedule, t Target, bodies [][]byte, check func(Sent) error, w way) (Result, error) {
	x, err := newSender(s, t, bodies, check != nil)
	if err != nil {
		return Result{}, err
	}
	if x.self.Descriptors, err = raiseDescriptors(); err != nil {
		return Result{}, err
	}
	restore := moreProcessors(&x.self.Processors)
	defer restore()
	if w.sequential {
		x.turns, x.idle.ahead = make(chan struct{}, len(s.At)), 1 // room for those that are abandoned, too
	}
	result, err := x.run(ctx, w)
	if err != nil {
		return result, err
	}
	checkAll(result.Sent, check)
	if ctx.Err() != nil {
		return result, fmt.Errorf("load: %w", context.Cause(ctx))
	}
	return result, nil
}

func (s *sender) run(ctx context.Context, w way) (Result, error) {
	opening, stopOpening := context.WithCancel(ctx)
	defer stopOpening()
	before, err := takeUsage()
	if err != nil {
		return Result{}, err
	}
	mono, err := monotonicNow()
	now := time.Now()
	if err != nil {
		return Result{}, err
	}
	first := s.openFirst(opening)
	runtime.GC() // not while the clock runs, if it can be helped
	start := time.Now().Add(lead)
	if mono > 0 {
		mono += start.Sub(now).Seconds()
	}
	s.clock = w.clock(start)
	for _, c := range first {
		s.launch(c)
		s.idle.put(c)
	}
	s.pending.Add(len(s.records))
	unhook := context.AfterFunc(ctx, s.open.close)
	defer unhook()
	var workers sync.WaitGroup
	workers.Go(func() { s.keepOpen(opening) })
	workers.Go(func() { s.dispatch(ctx, !w.standby) })
	if w.standby {
		workers.Go(func() { s.standBy(ctx) })
	}
	s.pending.Wait()
	stopOpening()
	workers.Wait()
	s.open.close()
	s.readers.Wait()
	after, err := takeUsage()
	s.account(before, after)
	return Result{Sent: s.records, Self: s.self, Wall: s.last.at, Start: start, StartMonotonic: mono}, err
}

// openFirst opens connections before the clock runs, without readers. A server that is down is met
// again by every request, which says so.
func (s *sender) openFirst(ctx context.Context) []*conn {
	var first []*conn
	for range s.idle.ahead {
		c, err := s.connect(ctx)
		if err != nil {
			break
		}
		first = append(first, c)
	}
	return first
}

// moreProcessors lets more threads run Go code than there are processors: the dispatcher, which wakes
// from a sleep in the kernel, then need not wait for readers or the garbage collector to stop. With one more, a burst
// of answers still kept it waiting for milliseconds.
func moreProcessors(n *int) (restore func()) {
	before := runtime.GOMAXPROCS(0)
	*n = before + 4
	runtime.GOMAXPROCS(*n)
	return func() { runtime.GOMAXPROCS(before) }
}

func checkAll(sent []Sent, check func(Sent) error) {
	if check == nil {
		return
	}
	for i := range sent {
		if sent[i].Failed() {
			continue
		}
		if err := check(sent[i]); err != nil {
			sent[i].Err = "check: " + err.Error()
		}
	}
}

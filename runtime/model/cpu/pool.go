package cpu

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// pool runs the parts of a region on several goroutines. A decode step has some
// hundred regions of a fraction of a millisecond, so that starting and ending one must
// cost a microsecond or two: who waits looks for a while before it sleeps, and a
// worker that comes too late for a region is not waited for.
//
// Tried and left: a sync.WaitGroup and a goroutine a region; a channel a worker. Both
// wake a thread each time.
type pool struct {
	body    func(worker, part int)
	parts   int
	next    atomic.Int64
	state   atomic.Uint64
	done    chan struct{}
	workers []worker
	within  atomic.Bool // a step is going on: the next region follows soon
	ended   atomic.Bool
	running sync.WaitGroup
}

// The state is a region's number, and beside it whether nobody may come in any more,
// whether run sleeps until the last has left, and how many workers are inside.
const (
	insideMask = 1<<16 - 1
	closed     = 1 << 16
	sleeping   = 1 << 17
	regionBits = 18
)

// worker is one's place to sleep. They lie on cache lines of their own.
type worker struct {
	sleeps atomic.Bool
	wake   chan struct{}
	_      [48]byte
}

// Looks are how often who waits looks before it sleeps; each so many it lets others
// run. On a quiet machine this takes some 50 microseconds. Within a step it then looks for a
// millisecond or two more, or for longer on a busy one, as it each time lets other programs run: where a hypervisor
// takes a processor away for that long, one that sleeps meanwhile is late, too.
const (
	looks      = 1 << 14
	looksEach  = 1 << 10
	yields     = 1 << 12
	yieldsEach = 1 << 6
)

// newPool starts threads-1 workers: who calls run is the first.
func newPool(threads int) *pool {
	p := &pool{done: make(chan struct{}, 1), workers: make([]worker, threads-1)}
	p.state.Store(closed)
	for i := range p.workers {
		p.workers[i].wake = make(chan struct{}, 1)
		p.running.Go(func() { p.work(i) })
	}
	return p
}

// run calls body once for each part, on any of the goroutines, and returns when all
// have returned. Of the numbers 0 to threads-1 each call has one to itself.
func (p *pool) run(parts int, body func(worker, part int)) {
	if parts < 2 || len(p.workers) == 0 {
		for part := range parts {
			body(0, part)
		}
		return
	}
	p.body, p.parts = body, parts
	p.next.Store(0)
	p.open()
	for i := range min(parts-1, len(p.workers)) {
		if w := &p.workers[i]; w.sleeps.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
	p.take(0)
	p.close()
}

// open begins a region. Nobody is inside.
func (p *pool) open() { p.state.Store((p.state.Load()>>regionBits + 1) << regionBits) }

// close lets nobody in and waits until all have left.
func (p *pool) close() {
	s := p.state.Or(closed) | closed
	for i := 1; s&insideMask != 0; i++ {
		if !p.pause(i) && p.state.CompareAndSwap(s, s|sleeping) {
			<-p.done
			return
		}
		s = p.state.Load()
	}
}

// pause comes after the i-th look, and says whether there is to be another one.
func (p *pool) pause(i int) bool {
	switch {
	case i < looks:
		if i%looksEach == 0 {
			runtime.Gosched()
		}
	case i < looks+yields && p.within.Load():
		if i%yieldsEach == 0 {
			runtime.Gosched()
		}
		yield()
	default:
		return false
	}
	return true
}

// take does parts until there are no more.
func (p *pool) take(worker int) {
	for {
		part := int(p.next.Add(1)) - 1
		if part >= p.parts {
			return
		}
		p.body(worker, part)
	}
}

func (p *pool) work(i int) {
	for last := uint64(0); ; {
		p.await(&p.workers[i], last)
		if p.ended.Load() {
			return
		}
		s, inside := p.enter()
		if inside {
			p.take(i + 1)
			p.leave()
		}
		last = s >> regionBits
	}
}

// await returns when there is another region than the last, or was.
func (p *pool) await(w *worker, last uint64) {
	for i := 1; p.pause(i); i++ {
		if p.state.Load()>>regionBits != last {
			return
		}
	}
	w.sleeps.Store(true)
	if p.state.Load()>>regionBits != last && w.sleeps.CompareAndSwap(true, false) {
		return
	}
	<-w.wake
}

func (p *pool) enter() (state uint64, inside bool) {
	for {
		s := p.state.Load()
		if s&closed != 0 {
			return s, false
		}
		if p.state.CompareAndSwap(s, s+1) {
			return s, true
		}
	}
}

func (p *pool) leave() {
	if s := p.state.Add(^uint64(0)); s&insideMask == 0 && s&sleeping != 0 {
		p.done <- struct{}{}
	}
}

// end stops the workers. No region is open, and none is begun any more.
func (p *pool) end() {
	p.ended.Store(true)
	p.state.Store((p.state.Load()>>regionBits+1)<<regionBits | closed)
	for i := range p.workers {
		if w := &p.workers[i]; w.sleeps.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
	p.running.Wait()
}

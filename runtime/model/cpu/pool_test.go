package cpu

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"
)

// Every part is done once, by one of the workers, and before run returns; workers'
// numbers are in use by one call at a time. With pauses, so that they sleep.
func TestEveryPartOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		p := newPool(threads)
		p.within.Store(threads%2 == 0)
		r := rand.New(rand.NewPCG(uint64(threads), 0))
		busy := make([]atomic.Bool, threads)
		for region := range 2000 {
			parts := r.IntN([]int{4, 100}[region%2])
			counts := make([]int, parts) // not atomic: the race detector sees a part done twice
			p.run(parts, func(worker, part int) {
				if busy[worker].Swap(true) {
					t.Errorf("worker %d of %d does two parts at once", worker, threads)
				}
				counts[part]++
				busy[worker].Store(false)
			})
			for part, n := range counts {
				if n != 1 {
					t.Fatalf("%d threads, region %d: part %d of %d done %d times", threads, region, part, parts, n)
				}
			}
			if region%400 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		p.end()
	}
}

// Parts of a region do run side by side: each waits for the other.
func TestPartsRunSideBySide(t *testing.T) {
	p := newPool(2)
	defer p.end()
	for range 100 {
		both := make(chan struct{})
		p.run(2, func(_, part int) {
			if part == 0 {
				<-both
			} else {
				both <- struct{}{}
			}
		})
	}
}

// Who waits long, for a part or for the next region, goes to sleep, also within a step, and is woken.
func TestWaitersSleep(t *testing.T) {
	p := newPool(2)
	defer p.end()
	sleeps := func(who string, asleep func() bool) {
		for end := time.Now().Add(time.Minute); !asleep(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%s does not sleep", who)
				return
			}
		}
	}
	for i := range 10 {
		p.within.Store(i >= 5)
		var inside, ended atomic.Int32
		p.run(2, func(worker, _ int) {
			for inside.Add(1); inside.Load() < 2; { // both are at work
				time.Sleep(time.Microsecond)
			}
			if worker == 1 {
				sleeps("run", func() bool { return p.state.Load()&sleeping != 0 })
			}
			ended.Add(1)
		})
		if ended.Load() != 2 {
			t.Fatalf("run returned when %d of two parts had ended", ended.Load())
		}
		sleeps("the worker", p.workers[0].sleeps.Load)
		if t.Failed() {
			return
		}
	}
}

func TestRegionAllocatesNothing(t *testing.T) {
	p := newPool(2)
	defer p.end()
	var sum atomic.Int64
	body := func(_, part int) { sum.Add(int64(part)) }
	if n := testing.AllocsPerRun(1000, func() { p.run(10, body) }); n != 0 {
		t.Errorf("%v allocations a region", n)
	}
}

// BenchmarkRegion is what a region costs beside its parts, which take about as long as
// those of a decode step do.
func BenchmarkRegion(b *testing.B) {
	for _, threads := range []int{1, 2} {
		for _, spins := range []int{0, 10000} {
			b.Run(fmt.Sprintf("threads=%d/work=%d", threads, spins), func(b *testing.B) {
				p := newPool(threads)
				defer p.end()
				var sink [2]atomic.Int64
				body := func(worker, _ int) {
					for range spins {
						sink[worker].Add(1)
					}
				}
				for b.Loop() {
					p.run(2, body)
				}
			})
		}
	}
}

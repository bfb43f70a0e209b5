package counters

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Beat is the sign of life of one loop: what it does, and since when.
type Beat struct {
	word *word
	file *mapping
}

// State of a loop.
type State string

// The states. A loop that has never beaten is idle.
const (
	Idle  State = "idle"  // waits for work
	Busy  State = "busy"  // has taken work
	Ended State = "ended" // its part has closed its counters
)

// The two low bits of a beat's word; the others are its time in nanoseconds.
var states = []State{Idle, Busy, Ended}

// Busy is to be called when the loop takes work, and at every turn while it has
// more: a loop that is busy and does not beat is stuck.
func (b *Beat) Busy() { b.beat(1) }

// Idle is to be called before the loop waits for work.
func (b *Beat) Idle() { b.beat(0) }

func (b *Beat) end() { b.beat(2) }

func (b *Beat) beat(state uint64) {
	b.word.Store(uint64(monotonic())<<2 | state)
	runtime.KeepAlive(b.file)
}

// Now is the time on the clock of the beats: CLOCK_MONOTONIC, in seconds, the
// same in every process of a machine.
func Now() float64 { return time.Duration(monotonic()).Seconds() }

// monotonic reads the process's own clock, which costs no system call, and has
// tied it to the machine's once.
func monotonic() int64 {
	base := tie()
	return base.ns + int64(time.Since(base.own))
}

type instant struct {
	own time.Time
	ns  int64
}

var tie = sync.OnceValue(func() instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(os.NewSyscallError("clock_gettime CLOCK_MONOTONIC", err)) // a machine without one is not unix
	}
	return instant{time.Now(), ts.Nano()}
})

// Process is the beat of a part's process: a Set that declares it beats it by
// itself, whatever the part's loops do.
var Process = Spec{Name: "process", Help: "The process, whatever its loops do.", Kind: KindBeat}

// processInterval is the time between two of its beats.
const processInterval = 500 * time.Millisecond

// beatProcess beats until the Set is closed.
func (s *Set) beatProcess() {
	beat, tick := s.Beat(Process.Name), time.NewTicker(processInterval)
	beat.Busy()
	s.beating.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				beat.Busy()
			case <-s.closing:
				return
			}
		}
	})
}

// Stuck lists the parts of a folder's server whose processes have not beaten for
// longer than after, now being [Now]; if there are none, those of which a loop is
// busy and has not. The list is sorted.
func Stuck(folder string, now float64, after time.Duration) ([]string, error) {
	parts, err := ReadFolder(folder)
	if err != nil {
		return nil, err
	}
	var stopped, stuck []string
	for part, values := range parts {
		late := func(v Value) bool { return v.State == Busy && now-v.Gauge > after.Seconds() }
		if late(values[Process.Name]) {
			stopped = append(stopped, part)
		}
		if slices.ContainsFunc(slices.Collect(maps.Values(values)), late) {
			stuck = append(stuck, part)
		}
	}
	if len(stopped) > 0 {
		stuck = stopped
	}
	slices.Sort(stuck)
	return stuck, nil
}

// readBeat takes a beat's word apart.
func readBeat(bits uint64, v *Value) error {
	state := bits & 3
	if state >= uint64(len(states)) {
		return fmt.Errorf("the beat %s has the state %d, wanted 0 to %d", v.Spec.Name, state, len(states)-1)
	}
	v.State, v.Gauge = states[state], time.Duration(bits>>2).Seconds()
	return nil
}

package counters

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func wantStuck(t *testing.T, folder string, now float64, want ...string) {
	t.Helper()
	got, err := Stuck(folder, now, time.Minute)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("stuck are %q, %v, wanted %q", got, err, want)
	}
}

// sglang 26482 and 25055: the detokenizer was blamed for a scheduler that was stuck.
func TestHealthSaysWhichStageIsStuck(t *testing.T) {
	folder := t.TempDir()
	loops := []Spec{{"rows", "Rows.", KindBeat, nil}, {"answers", "Answers.", KindBeat, nil}}
	scheduler, _ := create(t, folder, "scheduler", loops)
	detokenizer, _ := create(t, folder, "detokenizer-0", loops)
	worker, _ := create(t, folder, "worker-0", loops)

	start := Now()
	later := start + 61
	wantStuck(t, folder, later) // none has ever beaten

	detokenizer.Beat("rows").Busy()
	detokenizer.Beat("rows").Idle() // waits for the scheduler
	scheduler.Beat("answers").Idle()
	scheduler.Beat("rows").Busy()
	worker.Beat("answers").Busy()
	worker.Beat("rows").Idle()
	wantStuck(t, folder, start+59)
	wantStuck(t, folder, later+1, "scheduler", "worker-0")

	// A later turn is a sign of life; the part's other loop is not.
	word := &scheduler.metrics["rows"].words[0]
	word.Store(word.Load() + 30e9<<2)
	worker.Beat("rows").Busy()
	worker.Beat("rows").Idle()
	wantStuck(t, folder, later+1, "worker-0")

	if err := worker.Close(); err != nil {
		t.Fatal(err)
	}
	wantStuck(t, folder, later+100, "scheduler")
}

// A process that was stopped while it waited for work is named, and not those that wait for it in a send.
func TestAStoppedProcessIsNamed(t *testing.T) {
	folder := t.TempDir()
	specs := []Spec{{"rows", "Rows.", KindBeat, nil}, Process}
	scheduler, _ := create(t, folder, "scheduler", specs)
	router, _ := create(t, folder, "detokenizer-router", specs)
	detokenizer, path := create(t, folder, "detokenizer-0", specs)
	scheduler.Beat("rows").Busy() // it sends to the router
	router.Beat("rows").Idle()
	wantStuck(t, folder, Now())
	later := func(s *Set, name string) { // a minute later it has beaten
		word := &s.metrics[name].words[0]
		word.Store(word.Load() + 70e9<<2)
	}
	for _, s := range []*Set{scheduler, detokenizer} {
		s.beatingEnds(t)
		later(s, Process.Name)
	}
	router.beatingEnds(t)
	wantStuck(t, folder, Now()+69, "detokenizer-router")
	later(router, Process.Name)
	wantStuck(t, folder, Now()+69, "scheduler") // a loop hangs, its process does not

	first := read(t, path)[Process.Name].Gauge
	again, path := create(t, folder, "detokenizer-1", specs)
	for begin := read(t, path)[Process.Name].Gauge; read(t, path)[Process.Name].Gauge == begin; time.Sleep(time.Millisecond) {
		if first == 0 || begin == 0 {
			t.Fatal("a process that has just begun has not beaten")
		}
	}
	if err := errors.Join(again.Close(), again.Close()); err != nil {
		t.Error(err)
	}
	if v := read(t, path)[Process.Name]; v.State != Ended {
		t.Errorf("after Close the beat is %+v, wanted ended", v)
	}
}

// beatingEnds leaves the process's beat as it is, as SIGSTOP would.
func (s *Set) beatingEnds(t *testing.T) {
	t.Helper()
	s.close.Do(func() { close(s.closing) })
	s.beating.Wait()
}

func TestStuckReportsAFileThatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	create(t, folder, "worker-0", all)
	path := filepath.Join(folder, "worker-1.counters")
	if err := os.WriteFile(path, []byte("?"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Stuck(folder, Now(), time.Minute)
	wantError(t, err, path, "begins with")
	_, err = Stuck(filepath.Join(folder, "none"), Now(), time.Minute)
	wantError(t, err, "none", "no such file")
}

// The clock is the machine's, not the process's: beats of others are on it.
func TestClock(t *testing.T) {
	var before, after unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &before); err != nil {
		t.Fatal(err)
	}
	now := Now()
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &after); err != nil {
		t.Fatal(err)
	}
	// The two clocks were read one after the other when they were tied, in which
	// time a loaded machine may have done something else.
	from, to := float64(before.Nano())/1e9-10, float64(after.Nano())/1e9+1e-6
	if now < from || now > to || math.IsNaN(now) {
		t.Errorf("the clock says %v, wanted %v to %v", now, from, to)
	}
	s, path := create(t, t.TempDir(), "worker-0", all)
	s.Beat("loop").Busy()
	if v := read(t, path)["loop"]; v.Gauge < now || v.Gauge > Now() || v.State != Busy {
		t.Errorf("the beat is %+v, wanted a time between %v and %v", v, now, Now())
	}
	s.Beat("loop").Idle()
	if v := read(t, path)["loop"]; v.State != Idle {
		t.Errorf("the beat is %+v, wanted idle", v)
	}
}

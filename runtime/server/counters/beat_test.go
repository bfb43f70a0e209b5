package counters

import (
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

package cpuclock

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The process clock of this process equals CLOCK_PROCESS_CPUTIME_ID read around it.
func TestOwnClock(t *testing.T) {
	own := func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
			t.Fatal(err)
		}
		return time.Duration(ts.Nano())
	}
	before := own()
	got, err := Sum([]int{os.Getpid()})
	after := own()
	if err != nil || got < before || got > after {
		t.Fatalf("Sum = %v, %v; want between %v and %v", got, err, before, after)
	}
}

// A child's clock can be read, and a process that is gone is an error.
func TestOtherProcess(t *testing.T) {
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if d, err := Process(child.Process.Pid); err != nil || d < 0 {
		t.Errorf("Process(child) = %v, %v; want a time", d, err)
	}
	in.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if d, err := Process(child.Process.Pid); err == nil {
		t.Errorf("Process(dead child) = %v; want an error", d)
	}
}

package counters

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// childPath names the file that this program counts in when it is a child of a test.
const childPath = "FANOUTBENCH_COUNTERS_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		child(path)
	}
	os.Exit(m.Run())
}

// child counts for ever, and says how far it is after it has counted.
func child(path string) {
	s, err := Create(path, all)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	s.Gauge("queue").Set(12)
	s.Beat("loop").Busy()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				s.Counter("bytes_2").Add(3)
				s.Histogram("wait_seconds").Observe(2)
			}
		})
	}
	wg.Wait()
	for i := 1; ; i++ {
		s.Counter("rows_built").Add(1)
		fmt.Println(i)
	}
}

// A process killed while it counts leaves every count behind.
func TestKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scheduler.counters")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	last := 0
	for lines.Scan() {
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(lines.Text())
		}
		if last != 1000 {
			continue
		}
		if n := read(t, path)["rows_built"].Count; n < 1000 { // it lives
			t.Errorf("it has counted 1000, %d are read", n)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v, wanted SIGKILL", err)
	}
	values := read(t, path)
	if n := values["rows_built"].Count; n != uint64(last) && n != uint64(last)+1 {
		t.Errorf("it had counted %d and perhaps one more, %d are read", last, n)
	}
	h := values["wait_seconds"]
	if values["bytes_2"].Count != 12000 || h.Count != 4000 || h.Bucket[2] != 4000 || h.Sum != 8000 || values["queue"].Gauge != 12 {
		t.Errorf("read %+v", values)
	}
	wantStuck(t, filepath.Dir(path), Now()+61, "scheduler")
}

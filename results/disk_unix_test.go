//go:build unix

package results

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const limitedChild = "FANOUTBENCH_TEST_LIMITED_CHILD"

// A file size limit of the operating system stands for a full disk: the write
// that crosses it is short.
func TestSizeLimit(t *testing.T) {
	if dir := os.Getenv(limitedChild); dir != "" {
		limited(t, dir)
		return
	}
	dir := filepath.Join(t.TempDir(), "run")
	child := exec.Command(os.Args[0], "-test.run=^TestSizeLimit$", "-test.v")
	child.Env = append(os.Environ(), limitedChild+"="+dir)
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "written 6, then: results: write trial 7 ") || !strings.Contains(string(out), "file too large") {
		t.Errorf("the child says\n%s", out)
	}
	trials, err := ReadTrials(dir, examplePlan())
	if err != nil {
		t.Fatal(err)
	}
	if len(trials) != 6 {
		t.Errorf("%d trials are readable, want 6", len(trials))
	}
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f.Result.Verdict.Status != StatusInvalid {
		t.Errorf("status %s", f.Result.Verdict.Status)
	}
}

func limited(t *testing.T, dir string) {
	p := examplePlan()
	trials := trialsOf(p, source())
	r, err := Create(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	bytes := 0
	for _, trial := range trials[:6] {
		line, err := encodeLine(&trial)
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(line)
	}
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	limit := syscall.Rlimit{Cur: uint64(bytes + 100), Max: before.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	written := 0
	for ; err == nil; written++ {
		err = r.Append(trials[written])
	}
	fmt.Printf("written %d, then: %v\n", written-1, err)
	out := exampleOutcome(p)
	out.Verdict = Verdict{Status: StatusInvalid, Decision: DecisionNone, Failure: &Failure{Message: err.Error()}}
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
}

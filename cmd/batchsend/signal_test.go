package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// interrupted runs the program, sends SIGINT when it says what begins with when, and
// wants nothing to be left.
func interrupted(t *testing.T, when string) (output, said string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	output = filepath.Join(t.TempDir(), "run")
	private := t.TempDir() // where servers have their sockets
	cmd := exec.Command(exe, append(tiny[:len(tiny):len(tiny)], "--rounds", "100", "--output", output)...)
	cmd.Env = append(os.Environ(), envMain+"=1", "TMPDIR="+private)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) // its end fails the test
	defer guard.Stop()
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), when) {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInvalid {
		t.Fatalf("%v, want exit status %d\n%s%s", err, exitInvalid, stdout.String(), said)
	}
	if left := children(t, private); len(left) > 0 {
		t.Errorf("servers are left: %q", left)
	}
	sockets, err := filepath.Glob(filepath.Join(private, "*"))
	if err != nil || len(sockets) > 0 {
		t.Errorf("left in the folder for sockets: %q, %v", sockets, err)
	}
	return output, said
}

// Before there is a plan, an interrupt leaves nothing.
func TestInterruptEarly(t *testing.T) {
	t.Parallel()
	output, said := interrupted(t, "starting both servers")
	if !strings.Contains(said, "interrupted before there was a plan") {
		t.Error(said)
	}
	if _, err := os.Stat(output); !os.IsNotExist(err) {
		t.Errorf("a folder is there: %v", err)
	}
}

// An interrupt ends the servers, and leaves a folder that says what happened.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	output, _ := interrupted(t, "round 1:")
	f, err := batchrun.Read(output)
	if err != nil {
		t.Fatal(err)
	}
	if v := f.Result.Verdict; v.Status != results.StatusIncomplete || !strings.HasPrefix(v.Failure, "interrupted: ") {
		t.Errorf("verdict %+v", v)
	}
	if n := len(f.Trials); n < 5 || n >= f.Plan.Len() {
		t.Errorf("%d trials of %d are there, want those of round 0 and a part of the rest", n, f.Plan.Len())
	}
	for _, name := range []string{batchrun.Reference, batchrun.Candidate} {
		log, err := os.ReadFile(filepath.Join(output, "logs", name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		if last := strings.LastIndex(strings.TrimSpace(string(log)), "\n"); !strings.Contains(string(log)[last+1:], "ledger: ") {
			t.Errorf("the %s did not end in order: %s", name, log[last+1:])
		}
	}
	command(t, "verify", output).run(exitInvalid).says("interrupted")
}

// children are the processes that have the private folder in their environment.
func children(t *testing.T, private string) (left []string) {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range environs {
		b, err := os.ReadFile(path)
		if err == nil && bytes.Contains(b, []byte("TMPDIR="+private)) { // another's, or one that has just gone, cannot be read
			left = append(left, path)
		}
	}
	return left
}

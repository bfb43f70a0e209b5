//go:build python

// The example is run as its reader would run it: by check-arm, and in a short
// comparison whose rows are verified. FANOUTBENCH_PYTHON names an interpreter
// that has pyzmq and msgpack.
package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const maxLines = 120

func spec(t *testing.T) string {
	python := os.Getenv("FANOUTBENCH_PYTHON")
	if python == "" {
		t.Fatal("FANOUTBENCH_PYTHON is not set, want a Python with pyzmq and msgpack")
	}
	path, err := filepath.Abs("arm.py")
	if err != nil {
		t.Fatal(err)
	}
	return "exec:" + python + " " + path
}

func build(t *testing.T) string {
	tool := filepath.Join(t.TempDir(), "fanoutbench")
	if out, err := exec.Command("go", "build", "-o", tool, "../cmd/fanoutbench").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return tool
}

func TestLength(t *testing.T) {
	b, err := os.ReadFile("arm.py")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte("\n")); n > maxLines {
		t.Errorf("arm.py has %d lines, want at most %d", n, maxLines)
	}
}

func TestCheckArm(t *testing.T) {
	tool, arm := build(t), spec(t)
	out, err := exec.Command(tool, "check-arm", arm).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("FAIL")) || !bytes.Contains(out, []byte("ok    stop")) {
		t.Errorf("check-arm: %v\n%s", err, out)
	}
}

func TestVerifiedRun(t *testing.T) {
	tool, arm := build(t), spec(t)
	dir := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(tool, "--candidate", arm, "--counts", "1,32", "--rounds", "1", "--repetitions", "1", "--output", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("run: %v\n%s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		VerifiedRows int `json:"verified_rows"`
		Verdict      struct {
			Status string `json:"status"`
		} `json:"verdict"`
		Arms map[string]struct {
			OwnClock bool `json:"own_clock"`
		} `json:"arms"`
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	// (1 + 32) rows, two kinds of metadata, three steps, two rounds, two arms.
	if r.Verdict.Status != "verified" || r.VerifiedRows != 33*2*3*2*2 || !r.Arms["candidate"].OwnClock {
		t.Errorf("got %+v, want a verified run of %d rows whose candidate has its own clock", r, 33*2*3*2*2)
	}
}

// TestRefuses: consumers in processes are refused by an arm that serves them itself.
func TestRefuses(t *testing.T) {
	tool, arm := build(t), spec(t)
	cmd := exec.Command(tool, "--candidate", arm, "--consumers", "process", "--rounds", "1", "--output", filepath.Join(t.TempDir(), "run"))
	if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("serves consumers itself")) {
		t.Errorf("run: %v\n%s", err, out)
	}
}

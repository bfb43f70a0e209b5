package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

// A disk that is full ends the run with the file's name, and what was written
// before can be read.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	const limit = "16384" // bytes of a file: more than the other files have, about 24 trials of raw.jsonl
	p := measure(t, []string{envLimit + "=" + limit}, "--rounds", "40", "--counts", "1", "--metadata", "plain", "--process", "run", "--http-workers", "1")
	p.run(exitInvalid)
	f := p.failed(results.StatusInvalid)
	p.has("failure", f.Message, results.RawFile, "file too large")
	if f.Arm == "" || f.Round == nil || *f.Round < 1 {
		t.Errorf("failure %+v, want where it was", f)
	}
	kept := p.folder()
	if n := len(kept.Trials); n < 6 || n >= kept.Plan.Len() {
		t.Errorf("%d trials are kept", n)
	}
	if st, err := os.Stat(filepath.Join(p.output, results.RawFile)); err != nil || st.Size() > 16384 {
		t.Errorf("%s: %v, %v", results.RawFile, st, err)
	}
}

// Without room even for the result there is none, the error says so, and what
// was measured is still there.
func TestNoRoomForTheResult(t *testing.T) {
	t.Parallel()
	const limit = "26000" // bytes: less than the result.json of eight cells, more than the other files
	p := measure(t, []string{envLimit + "=" + limit}, "--counts", "1,2,3,4,5,6,7,8", "--metadata", "plain", "--process", "run", "--http-workers", "1")
	p.run(exitInvalid)
	p.has("stderr", p.stderr.String(), results.ResultFile, "file too large")
	if p.stdout.Len() > 0 {
		t.Errorf("stdout: %s", &p.stdout)
	}
	plan, err := results.ReadPlan(p.output)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := results.ReadTrials(p.output, plan)
	if err != nil || len(trials) == 0 {
		t.Errorf("%d trials, %v", len(trials), err)
	}
	if _, err := os.Lstat(filepath.Join(p.output, results.ResultFile)); err == nil {
		t.Errorf("a %s that was not written whole", results.ResultFile)
	}
}

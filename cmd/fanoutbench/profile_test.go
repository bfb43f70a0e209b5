package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/worker/faulty"
	"github.com/fanoutbench/fanoutbench/results"
)

// Two workers, of which one wants its frames beforehand, are profiled after the last
// round; the run is
// what it would be without, and its report says what was sampled.
func TestProfile(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--profile", "--candidate", "builtin:floor", "--counts", "32", "--process", "round", "--detokenizers", "2", "--pace", "500", "--consumer", "raw")
	p.run(exitOK)
	p.has("stdout", p.stdout.String(), "CPU profile, count 32, metadata rich, untimed: reference ", " samples (", "; candidate ",
		"shares by innermost function", "function ")
	var names []string
	for _, path := range filesBelow(t, filepath.Join(p.output, results.ProfileFolder)) {
		names = append(names, filepath.Base(path))
	}
	if want := []string{"32-rich-candidate.pb.gz", "32-rich-reference.pb.gz"}; !slices.Equal(names, want) {
		t.Errorf("profiles %q, want %q", names, want)
	}
	p.properties(p.folder())
	v := newProgram(t, nil, "verify", p.output)
	v.run(exitOK)
}

// An arm with a controller of its own has no profile, which the run says.
func TestProfileOfExec(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec := fmt.Sprintf("exec:'%s' %s --strategy per-row", self, arm.ControllerCommand)
	p := measure(t, nil, "--profile", "--reference", spec, "--candidate", spec)
	p.run(exitOK)
	for _, name := range []string{results.Reference, results.Candidate} {
		p.has("stdout", p.stdout.String(), "profile: the "+name+" has none, its worker is not one of this module")
	}
	if strings.Contains(p.stdout.String(), "CPU profile") || fileExists(filepath.Join(p.output, results.ProfileFolder)) {
		t.Errorf("there is a profile:\n%s", &p.stdout)
	}
}

// A row that is wrong in a profile's trial makes the run invalid as any other:
// nothing of it is published.
func TestProfileJudged(t *testing.T) {
	onlyLong(t)
	t.Parallel()
	// Behind the plan's four places: a warm-up and a trial in two rounds.
	f := faulty.Fault{Kind: faulty.Drop, RID: "rid-00000004-00001", Step: 1, Only: "/candidate-"}
	p := measure(t, []string{envFault + "=" + f.String()}, "--profile", "--candidate", "builtin:per-row", "--counts", "32", "--timeout", "6s")
	p.run(exitInvalid)
	got := p.failed(results.StatusInvalid)
	p.has("failure", got.Message, "profile of count 32, metadata rich", "replay 0 for the profile: rows are missing")
	if got.Arm != results.Candidate || got.Round != nil {
		t.Errorf("failure %+v", got)
	}
	if n := len(p.folder().Trials); n != 4 {
		t.Errorf("%d trials are kept, want all 4", n)
	}
}

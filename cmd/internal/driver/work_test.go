package driver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/results"
)

// A stream's file stays until every arm that it is for has had it, and no longer.
func TestWorkFilesAreDropped(t *testing.T) {
	p := results.Plan{
		Counts: []int{2}, Metadata: []string{"rich"}, Rounds: 1, Repetitions: 1, Seed: 1, Stream: results.StreamSeed, HTTPWorkers: 2,
		Control: &results.ArmPlan{},
	}
	source, err := stream.NewSource(p.Stream, p.Seed, p.HTTPWorkers, nil)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = plan.New(p, source); err != nil {
		t.Fatal(err)
	}
	d := &driver{conf: Config{Source: source}, plan: p, dir: t.TempDir(), works: map[string]*work{}}
	for round, arms := range map[int]int{0: 3, p.Rounds: 2} { // that behind the last is the profile's
		slot := results.Slot{Round: round, Count: 2, Metadata: "rich"}
		for i := range arms {
			w, err := d.work(slot)
			if err != nil {
				t.Fatal(err)
			}
			if files, err := filepath.Glob(filepath.Join(d.dir, "*")); err != nil || len(files) != 1 || files[0] != w.file.Path {
				t.Errorf("round %d, arm %d: files %q, %v; want %s alone", round, i, files, err, w.file.Path)
			}
			if w.left != arms-i {
				t.Errorf("round %d, arm %d: %d arms to come, want %d", round, i, w.left, arms-i)
			}
			if err := d.used(w); err != nil {
				t.Fatal(err)
			}
		}
		if left, err := os.ReadDir(d.dir); err != nil || len(left) > 0 {
			t.Errorf("round %d: %d files left, %v", round, len(left), err)
		}
	}
}

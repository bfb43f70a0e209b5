package batchrun

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The committed runs of batchsend verify, those of a sweep one by one.
func TestCommittedRuns(t *testing.T) {
	const root = "../runs/batchsend"
	if _, err := os.Stat(root); os.IsNotExist(err) {
		return // there are none yet: the manual's tables say so
	}
	runs := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != PlanFile {
			return err
		}
		runs++
		dir := filepath.Dir(path)
		checks, err := Verify(dir)
		if err != nil || len(checks) == 0 {
			t.Errorf("%s: %d checks, %v", dir, len(checks), err)
		}
		for _, c := range checks {
			if !c.OK {
				t.Errorf("%s: %s: %s", dir, c.Name, c.Detail)
			}
		}
		return nil
	})
	if err != nil || runs == 0 {
		t.Errorf("%d runs below %s, want at least one (%v)", runs, root, err)
	}
}

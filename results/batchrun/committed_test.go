package batchrun

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The committed runs and sweeps of batchsend verify; that a load was not held, a status of
// invalid, is a result too.
func TestCommittedRuns(t *testing.T) {
	const root = "../runs/batchsend"
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return // there are none yet: the manual's tables say so
	}
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d runs below %s, want at least one (%v)", len(entries), root, err)
	}
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		checks, err := Verify(dir)
		if err != nil || len(checks) == 0 {
			t.Errorf("%s: %d checks, %v", dir, len(checks), err)
		}
		for _, c := range checks {
			if !c.OK && !strings.Contains(c.Name+": "+c.Detail, "status: the run is invalid") {
				t.Errorf("%s: %s: %s", dir, c.Name, c.Detail)
			}
		}
	}
}

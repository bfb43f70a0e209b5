package batchrun

import (
	"path/filepath"
	"testing"
)

// The committed runs of batchsend verify.
func TestCommittedRuns(t *testing.T) {
	plans, err := filepath.Glob("../runs/batchsend/*/" + PlanFile)
	if err != nil || len(plans) == 0 {
		t.Fatalf("no committed run (%v)", err)
	}
	for _, plan := range plans {
		checks, err := Verify(filepath.Dir(plan))
		if err != nil || len(checks) == 0 {
			t.Errorf("%s: %d checks, %v", plan, len(checks), err)
		}
		for _, c := range checks {
			if !c.OK {
				t.Errorf("%s: %s: %s", plan, c.Name, c.Detail)
			}
		}
	}
}

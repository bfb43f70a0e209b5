package results

import (
	"strings"
	"testing"
)

// TestRecordedRun: a recorded stream is in the plan by a folder that is none of
// this machine's, with its hash, and the rows of the full stream are checked.
func TestRecordedRun(t *testing.T) {
	p := examplePlan()
	p.Stream, p.StreamSHA256, p.FullRows = StreamRecorded+t.TempDir()+"/captured", sum([]byte("frames")), 36
	r := create(t, p)
	for _, trial := range trialsOf(p, source()) {
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	out := exampleOutcome(p)
	out.FullRows = 36
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	f, err := Read(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(f.Plan.Stream, "recorded:$TMP/") || f.Plan.StreamSHA256 != p.StreamSHA256 || f.Result.FullRows != 36 {
		t.Errorf("stream %s of sha256 %s, %d full rows", f.Plan.Stream, f.Plan.StreamSHA256, f.Result.FullRows)
	}
	found := ""
	checks, err := Verify(r.Dir(), VerifyOptions{})
	for _, c := range checks {
		if c.Name == "full_rows" {
			found = c.Detail
		}
		if !c.OK {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	if err != nil || found != "36" {
		t.Errorf("full_rows: %q, %v", found, err)
	}
	overwrite(t, r.Dir(), ResultFile, strings.Replace(content(t, r.Dir(), ResultFile), `"full_rows": 36`, `"full_rows": 35`, 1))
	_, err = Read(r.Dir())
	wantError(t, err, "full_rows is 35, want 36")
}

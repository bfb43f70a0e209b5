package htmlreport

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// sweepOf makes a sweep of two runs; without an item's arrival no leading time is known.
func sweepOf(t *testing.T, alter func(*batchrun.Trial, []batchrun.Request)) *batchrun.SweepFolder {
	t.Helper()
	dir := t.TempDir()
	limits := []int{0, 4096}
	for _, limit := range limits {
		f := loadRun(t, func(p *batchrun.Plan) {
			p.Candidate.Options = map[string]string{"batch-send-max-tokens": fmt.Sprint(limit)}
		}, alter)
		if err := os.Rename(f.Dir, filepath.Join(dir, fmt.Sprintf("max-tokens-%d", limit))); err != nil {
			t.Fatal(err)
		}
	}
	f, err := batchrun.FinishSweep(dir, "max-tokens", "batch-send-max-tokens", 10, limits)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func sweepPage(t *testing.T, f *batchrun.SweepFolder) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSweep(&b, f); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	return b.String()
}

// The page has the recommendation with its reason, a table and both curves for each
// cell, and the hashes of the runs.
func TestSweepPage(t *testing.T) {
	f := sweepOf(t, func(trial *batchrun.Trial, q []batchrun.Request) {
		for i := range q {
			leading := 0.5 * (*q[i].DoneMS - *q[i].SentMS)
			q[i].LeadingMS = &leading
		}
	})
	page := sweepPage(t, f)
	for cell, c := range f.Sweep.Cells {
		for _, want := range []string{
			fmt.Sprintf(`id="cell-%d-leading-title"`, cell), fmt.Sprintf(`id="cell-%d-whole-title"`, cell), "Limits, " + c.Cell + "</h2>",
			"no limit is the largest limit", "The dotted line is at what is recommended: no limit.",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
	}
	for _, r := range f.Sweep.Runs {
		if !strings.Contains(page, r.ResultSHA256) {
			t.Errorf("the page lacks the hash of %s", r.Folder)
		}
	}
	// Without evidence there is no curve of the leading item, and nothing is recommended.
	page = sweepPage(t, sweepOf(t, func(_ *batchrun.Trial, q []batchrun.Request) {
		for i := range q {
			q[i].Prefills = nil
		}
	}))
	if strings.Contains(page, "leading-title") || !strings.Contains(page, "No limit is recommended") || !strings.Contains(page, "cell-0-whole-title") {
		t.Error("a curve without a time, or a recommendation without a reason")
	}
}

// Invalid runs are named before anything else.
func TestSweepPageOfInvalidRuns(t *testing.T) {
	page := sweepPage(t, sweepOf(t, func(trial *batchrun.Trial, _ []batchrun.Request) {
		trial.Valid, trial.Reasons = false, []string{"lateness: <b>late</b>"}
	}))
	if strings.Contains(page, "<b>late") || !strings.Contains(page, `class="verdict invalid"`) || strings.Index(page, `id="invalid"`) > strings.Index(page, "<table") {
		t.Error("words of a run are markup, or the page does not say that runs are invalid")
	}
}

func TestByLimit(t *testing.T) {
	got := byLimit([]batchrun.SweepRun{{Limit: 500}, {Limit: 0}, {Limit: 1}, {Limit: 1 << 40}})
	if want := []int{2, 0, 3, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: none is the largest", got, want)
	}
}

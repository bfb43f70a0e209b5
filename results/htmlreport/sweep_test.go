package htmlreport

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// sweepOf makes a sweep with a run a value; without an item's arrival no leading time is known.
func sweepOf(t testing.TB, name string, values []float64, alter func(*batchrun.Trial, []batchrun.Request)) *batchrun.SweepFolder {
	t.Helper()
	dir := t.TempDir()
	w, err := batchrun.FindSwept(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		f := loadRun(t, func(p *batchrun.Plan) {
			arms := map[string]*batchrun.PlanArm{batchrun.Reference: &p.Reference, batchrun.Candidate: &p.Candidate}
			for _, arm := range w.Arms {
				arms[arm].Options = map[string]string{w.Option: batchrun.ValueText(v)}
			}
		}, alter)
		if err := os.Rename(f.Dir, filepath.Join(dir, w.Folder(v))); err != nil {
			t.Fatal(err)
		}
	}
	f, err := batchrun.FinishSweep(dir, w, 10, values)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func sweepPage(t testing.TB, f *batchrun.SweepFolder) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteSweep(&b, f); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	return b.String()
}

// leadingTimes are half of what a request takes.
func leadingTimes(_ *batchrun.Trial, q []batchrun.Request) {
	for i := range q {
		leading := 0.5 * (*q[i].DoneMS - *q[i].SentMS)
		q[i].LeadingMS = &leading
	}
}

var twoLimits = []float64{0, 4096}

// The page has the recommendation with its reason, a table and both curves for each
// cell, and the hashes of the runs.
func TestSweepPage(t *testing.T) {
	f := sweepOf(t, "max-tokens", twoLimits, leadingTimes)
	page := sweepPage(t, f)
	for cell, c := range f.Sweep.Cells {
		for _, want := range []string{
			fmt.Sprintf(`id="cell-%d-leading-title"`, cell), fmt.Sprintf(`id="cell-%d-whole-title"`, cell), "By max-tokens, " + c.Cell + "</h2>",
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
	page = sweepPage(t, sweepOf(t, "max-tokens", twoLimits, func(_ *batchrun.Trial, q []batchrun.Request) {
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
	page := sweepPage(t, sweepOf(t, "max-tokens", twoLimits, func(trial *batchrun.Trial, _ []batchrun.Request) {
		trial.Valid, trial.Reasons = false, []string{"lateness: <b>late</b>"}
	}))
	if strings.Contains(page, "<b>late") || !strings.Contains(page, `class="verdict invalid"`) || strings.Index(page, `id="invalid"`) > strings.Index(page, "<table") {
		t.Error("words of a run are markup, or the page does not say that runs are invalid")
	}
}

// A sweep of what a step takes has its own words; these runs do not say their ratio, so
// there is no answer.
func TestSweepPageOfTheStepBase(t *testing.T) {
	page := sweepPage(t, sweepOf(t, "step-base", []float64{0.005, 0}, leadingTimes))
	for _, want := range []string{
		"step-base of both arms, ", "By step-base, ", "leading ms by fixed part of a step</title>", "The candidate does not win at the largest ratio.", "step-base, s",
		"with a fixed part of 0.005 s, the ratio to what a token takes is not known",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "recommended") {
		t.Error("the page speaks of a recommendation, and no limit was swept")
	}
}

func TestDotted(t *testing.T) {
	at := 0.02
	for name, want := range map[string]string{"max-reqs": "what is recommended: a limit of 0.02.", "step-base": "begins to win: at a fixed part of 0.02 s."} {
		w, err := batchrun.FindSwept(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := dotted(w, &at); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", name, got, want)
		}
	}
}

package batchrun

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sweptBy is one of the things that can be swept.
func sweptBy(t testing.TB, name string) Swept {
	t.Helper()
	w, err := FindSwept(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// exampleSweep is a folder with a run for each limit, without the sweep's own files.
// The leading item waits longer with larger limits, and most without one.
func exampleSweep(t *testing.T, limits []float64, change func(limit float64, p *Plan), alter func(limit float64, trial *Trial, q []Request)) string {
	t.Helper()
	w := sweptBy(t, "max-tokens")
	dir := t.TempDir()
	for _, limit := range limits {
		p := examplePlan(7)
		p.Candidate.Options = map[string]string{w.Option: ValueText(limit)}
		if change != nil {
			change(limit, &p)
		}
		run, _ := exampleRun(t, p, func(trial *Trial, q []Request) {
			if trial.Arm == Candidate {
				for i := range q {
					leading := *q[i].LeadingMS * 2 * math.Min(limit/4000, 3) // 0.5 in exampleRun halves it
					if limit == 0 {
						leading = *q[i].LeadingMS * 20
					}
					q[i].LeadingMS = &leading
				}
			}
			if alter != nil {
				alter(limit, trial, q)
			}
		})
		if err := os.Rename(run, filepath.Join(dir, w.Folder(limit))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func finishSweep(t *testing.T, dir string, limits []float64) *SweepFolder {
	t.Helper()
	f, err := FinishSweep(dir, sweptBy(t, "max-tokens"), 10, limits)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// holdsAsWritten verifies a sweep, reads it back, and compares its reports with golden
// files.
func holdsAsWritten(t *testing.T, dir, name string) {
	t.Helper()
	if names := failed(t, dir); len(names) > 0 {
		t.Errorf("failed checks %q", names)
	}
	again, err := ReadSweep(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats {
		var b bytes.Buffer
		if err := ReportSweep(&b, again, format); err != nil {
			t.Fatal(err)
		}
		golden(t, name+"."+format, strings.ReplaceAll(b.String(), dir, "DIR"))
	}
	if err := ReportSweep(&bytes.Buffer{}, again, "xml"); err == nil || !strings.Contains(err.Error(), `"xml"`) {
		t.Errorf("format xml: %v", err)
	}
}

// A sweep reads back as it was written, verifies, and recommends the largest limit
// whose leading item does not wait too long.
func TestSweep(t *testing.T) {
	limits := []float64{0, 2000, 4000, 8000}
	dir := exampleSweep(t, limits, nil, nil)
	f := finishSweep(t, dir, limits)
	for _, c := range f.Sweep.Cells {
		if c.Recommended == nil || *c.Recommended != 4000 || !strings.Contains(c.Reason, "with a limit of 8000, the leading item waits 100 % longer") {
			t.Errorf("%s: %v, %s", c.Cell, c.Recommended, c.Reason)
		}
	}
	if p := f.Sweep.Cells[2].Points[0]; *p.Batches != 1 || p.Against == "" || *p.LeadingReductionPct > -500 || p.LeadingInterval == nil || *p.AvgReductionPct < 40 {
		t.Errorf("no limit: %+v", p)
	}
	holdsAsWritten(t, dir, "sweep")
}

// The folder of a sweep is no run, whether the sweep ended or not, and says which runs it has.
func TestSweepIsNoRun(t *testing.T) {
	limits := []float64{0, 4000}
	dir := exampleSweep(t, limits, nil, nil)
	const runs = "want one of its runs: max-tokens-0, max-tokens-4000"
	const interrupted = "this is a sweep that did not end, without sweep.json; " + runs
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), interrupted) {
		t.Errorf("read of a sweep that did not end: %v, want %q", err, interrupted)
	}
	if _, err := Verify(dir); err == nil || !strings.Contains(err.Error(), interrupted) {
		t.Errorf("verify of a sweep that did not end: %v, want %q", err, interrupted)
	}
	finishSweep(t, dir, limits)
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "this is a sweep, "+runs) {
		t.Errorf("read of a sweep: %v", err)
	}
}

// What was altered after the sweep is found, whatever it is.
func TestVerifySweep(t *testing.T) {
	limits := []float64{0, 4000}
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		want   string
	}{
		"a figure":         {func(t *testing.T, dir string) { edit(t, dir, SweepFile, `"leading_ms": `, `"leading_ms": 1`) }, "curves"},
		"a recommendation": {func(t *testing.T, dir string) { edit(t, dir, SweepFile, `"recommended": 4000`, `"recommended": 0`) }, "curves"},
		"the table":        {func(t *testing.T, dir string) { edit(t, dir, SweepTable, ",recommended,", ",allowed,") }, SweepTable},
		"no table":         {func(t *testing.T, dir string) { remove(t, dir, SweepTable) }, SweepTable},
		"another form":     {func(t *testing.T, dir string) { edit(t, dir, SweepFile, `"schema": 1`, `"schema":  1`) }, SweepFile},
		"a folder":         {func(t *testing.T, dir string) { edit(t, dir, SweepFile, `"max-tokens-0"`, `"../elsewhere"`) }, SweepFile},
		"a run": {func(t *testing.T, dir string) {
			edit(t, dir, "max-tokens-4000/"+RawFile, `"leading_ms":`, `"leading_ms":9`)
		}, "run max-tokens-4000"},
		"no run": {func(t *testing.T, dir string) { remove(t, dir, "max-tokens-4000/"+ResultFile) }, "run max-tokens-4000"},
		"another run in its place": {func(t *testing.T, dir string) {
			other := exampleSweep(t, []float64{0}, func(_ float64, p *Plan) { p.Warmup = 2 }, nil)
			for _, err := range []error{os.RemoveAll(filepath.Join(dir, "max-tokens-0")), os.Rename(filepath.Join(other, "max-tokens-0"), filepath.Join(dir, "max-tokens-0"))} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}, "run max-tokens-0"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := exampleSweep(t, limits, nil, nil)
			finishSweep(t, dir, limits)
			c.change(t, dir)
			if names := failed(t, dir); !slices.Contains(names, c.want) {
				t.Errorf("failed %q, want %q among them", names, c.want)
			}
			if _, err := ReadSweep(dir); err == nil && c.want != SweepTable {
				t.Error("it is read all the same")
			}
		})
	}
}

// Runs that differ in more than the limit are no sweep, and invalid ones recommend
// nothing.
func TestSweepRefuses(t *testing.T) {
	limits := []float64{0, 4000}
	for want, change := range map[string]func(float64, *Plan){
		"seed is 8":                        func(limit float64, p *Plan) { p.Seed += uint64(limit / 4000) },
		"item_tokens is":                   func(limit float64, p *Plan) { p.ItemTokens += int(limit) },
		`candidate.options.batch-send-max`: func(_ float64, p *Plan) { p.Candidate.Options = map[string]string{"batch-send-max-tokens": "7"} },
	} {
		dir := exampleSweep(t, limits, change, nil)
		if _, err := FinishSweep(dir, sweptBy(t, "max-tokens"), 10, limits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	dir := exampleSweep(t, limits, nil, func(limit float64, trial *Trial, _ []Request) {
		if limit == 4000 {
			trial.Valid, trial.Reasons = false, []string{"late"}
		}
	})
	f := finishSweep(t, dir, limits)
	if c := f.Sweep.Cells[0]; c.Recommended != nil || c.Points[1].Against != "the run is invalid" {
		t.Errorf("%v, %+v", c.Recommended, c.Points[1])
	}
	if names := failed(t, dir); !slices.Equal(names, []string{"run max-tokens-4000"}) {
		t.Errorf("failed %q, want the invalid run alone", names)
	}
}

func FuzzSweep(f *testing.F) {
	for _, name := range []string{"sweep.json", "sweepbase.json"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseSweep(b)
		if err != nil {
			return
		}
		if again, err := encodeFile(s); err != nil || !bytes.Equal(again, b) {
			t.Errorf("written again as other bytes (%v)", err)
		}
		if lines := strings.Count(string(s.csv()), "\n"); lines < 1+len(s.Cells)*len(s.Runs) {
			t.Errorf("%d lines of CSV", lines)
		}
	})
}

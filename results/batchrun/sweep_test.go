package batchrun

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

const sweptOption = "batch-send-max-tokens"

// exampleSweep is a folder with a run for each limit, without the sweep's own files.
// The leading item waits longer with larger limits, and most without one.
func exampleSweep(t *testing.T, limits []int, change func(limit int, p *Plan), alter func(limit int, trial *Trial, q []Request)) string {
	t.Helper()
	dir := t.TempDir()
	for _, limit := range limits {
		p := examplePlan(7)
		p.Candidate.Options = map[string]string{sweptOption: fmt.Sprint(limit)}
		if change != nil {
			change(limit, &p)
		}
		run, _ := exampleRun(t, p, func(trial *Trial, q []Request) {
			if trial.Arm == Candidate {
				for i := range q {
					leading := *q[i].LeadingMS * 2 * math.Min(float64(limit)/4000, 3) // 0.5 in exampleRun halves it
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
		if err := os.Rename(run, filepath.Join(dir, fmt.Sprintf("max-tokens-%d", limit))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func finishSweep(t *testing.T, dir string, limits []int) *SweepFolder {
	t.Helper()
	f, err := FinishSweep(dir, "max-tokens", sweptOption, 10, limits)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A sweep reads back as it was written, verifies, and recommends the largest limit
// whose leading item does not wait too long.
func TestSweep(t *testing.T) {
	limits := []int{0, 2000, 4000, 8000}
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
		golden(t, "sweep."+format, strings.ReplaceAll(b.String(), dir, "DIR"))
	}
	if err := ReportSweep(&bytes.Buffer{}, again, "xml"); err == nil || !strings.Contains(err.Error(), `"xml"`) {
		t.Errorf("format xml: %v", err)
	}
}

// What was altered after the sweep is found, whatever it is.
func TestVerifySweep(t *testing.T) {
	limits := []int{0, 4000}
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		want   string
	}{
		"a figure":         {func(t *testing.T, dir string) { edit(t, dir, SweepFile, `"leading_ms": `, `"leading_ms": 1`) }, "curves"},
		"a recommendation": {func(t *testing.T, dir string) { edit(t, dir, SweepFile, `"recommended": 4000`, `"recommended": 0`) }, "curves"},
		"the table":        {func(t *testing.T, dir string) { edit(t, dir, SweepTable, "true", "false") }, SweepTable},
		"no table":         {func(t *testing.T, dir string) { remove(t, dir, SweepTable) }, SweepTable},
		"another form":     {func(t *testing.T, dir string) { edit(t, dir, SweepFile, `"schema": 1`, `"schema":  1`) }, SweepFile},
		"a folder":         {func(t *testing.T, dir string) { edit(t, dir, SweepFile, `"max-tokens-0"`, `"../elsewhere"`) }, SweepFile},
		"a run": {func(t *testing.T, dir string) {
			edit(t, dir, "max-tokens-4000/"+RawFile, `"leading_ms":`, `"leading_ms":9`)
		}, "run max-tokens-4000"},
		"no run": {func(t *testing.T, dir string) { remove(t, dir, "max-tokens-4000/"+ResultFile) }, "run max-tokens-4000"},
		"another run in its place": {func(t *testing.T, dir string) {
			other := exampleSweep(t, []int{0}, func(_ int, p *Plan) { p.Warmup = 2 }, nil)
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
	limits := []int{0, 4000}
	for want, change := range map[string]func(int, *Plan){
		"seed is 8":                        func(limit int, p *Plan) { p.Seed += uint64(limit / 4000) },
		"item_tokens is":                   func(limit int, p *Plan) { p.ItemTokens += limit },
		`candidate.options.batch-send-max`: func(limit int, p *Plan) { p.Candidate.Options = map[string]string{sweptOption: "7"} },
	} {
		dir := exampleSweep(t, limits, change, nil)
		if _, err := FinishSweep(dir, "max-tokens", sweptOption, 10, limits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	dir := exampleSweep(t, limits, nil, func(limit int, trial *Trial, _ []Request) {
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

// The recommendation is that of a reader who tries the limits from the largest down.
func TestRecommendByHand(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		s := &Sweep{WithinPct: 10}
		c := SweepCell{}
		for _, limit := range rng.Perm(5) {
			leading, avg := 60*rng.Float64()-40, 30*rng.Float64()-10
			p := SweepPoint{LeadingReductionPct: &leading, AvgReductionPct: &avg}
			status := results.StatusVerified
			switch rng.IntN(6) {
			case 0:
				p.LeadingReductionPct = nil
			case 1:
				p.AvgReductionPct = nil
			case 2:
				status = results.StatusInvalid
			}
			p.Against = p.against(status, s.WithinPct)
			s.Runs, c.Points = append(s.Runs, SweepRun{Limit: limit * 100, Status: status}), append(c.Points, p)
		}
		c.recommend(s)
		want := -1
		for _, limit := range []int{0, 400, 300, 200, 100} {
			i := slices.IndexFunc(s.Runs, func(r SweepRun) bool { return r.Limit == limit })
			p := c.Points[i]
			if s.Runs[i].Status == results.StatusVerified && p.LeadingReductionPct != nil && *p.LeadingReductionPct >= -10 && p.AvgReductionPct != nil && *p.AvgReductionPct >= 0 {
				want = limit
				break
			}
		}
		if got := c.Recommended; (got == nil) != (want < 0) || got != nil && *got != want {
			t.Fatalf("recommended %v of %+v, want %d", got, s.Runs, want)
		}
	}
}

func FuzzSweep(f *testing.F) {
	b, err := os.ReadFile(filepath.Join("testdata", "sweep.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
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

package batchrun

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

// sweepOfBases is a folder with a run for each fixed part of a step, without the sweep's
// own files. The candidate is faster from 0.005 s on, and no server says what a token takes
// where the part is 0. change may alter the plan.
func sweepOfBases(t *testing.T, values []float64, change func(value float64, p *Plan)) string {
	t.Helper()
	w := sweptBy(t, stepBase)
	dir := t.TempDir()
	for _, v := range values {
		p := examplePlan(7)
		p.Reference.Options = map[string]string{w.Option: ValueText(v)}
		p.Candidate.Options = maps.Clone(p.Reference.Options)
		if change != nil {
			change(v, &p)
		}
		r := begin(t, p)
		for s := range p.Trials() {
			factor := 0.5
			if v < 0.005 {
				factor = 1.25
			}
			trial, requests := exampleTrial(p, s, factor)
			if err := r.Append(trial, requests); err != nil {
				t.Fatal(err)
			}
		}
		out := exampleOutcome(p)
		for name, arm := range out.Arms {
			arm.Server = map[string]string{"sim_step_base": arm.Options[w.Option], "sim_step_per_token": "9e-06", "sim_step_per_context": "1e-06"}
			if v == 0 {
				arm.Server = nil
			}
			out.Arms[name] = arm
		}
		if _, err := r.Finish(out); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(r.Dir(), filepath.Join(dir, w.Folder(v))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A sweep of what a step takes says from which ratio on the candidate wins, and holds.
func TestSweepOfTheStepBase(t *testing.T) {
	values := []float64{0.005, 0.02, 0.001, 0}
	dir := sweepOfBases(t, values, nil)
	f, err := FinishSweep(dir, sweptBy(t, stepBase), 10, values)
	if err != nil {
		t.Fatal(err)
	}
	if f.Sweep.WithinPct != nil || !slices.Equal(f.Sweep.Arms, []string{Reference, Candidate}) || f.Sweep.Runs[3].Ratio != nil || math.Abs(*f.Sweep.Runs[0].Ratio-500) > 1e-9 {
		t.Errorf("%+v", f.Sweep)
	}
	for _, c := range f.Sweep.Cells {
		if c.Recommended != nil || c.WinsFrom == nil || *c.WinsFrom != 0.005 || !strings.Contains(c.Reason, "from a fixed part of 0.005 s on, which is 500 tokens") {
			t.Errorf("%s: %v, %v, %s", c.Cell, c.Recommended, c.WinsFrom, c.Reason)
		}
	}
	holdsAsWritten(t, dir, "sweepbase")
	edit(t, dir, SweepFile, `"wins_from": 0.005`, `"wins_from": 0.02`)
	if names := failed(t, dir); !slices.Equal(names, []string{"curves", SweepTable}) {
		t.Errorf("failed %q with another answer, want the curves and the table", names)
	}
}

// Both arms have the value; the rest of their options is the same in all runs.
func TestSweepOfTheStepBaseRefuses(t *testing.T) {
	values := []float64{0.02, 0.005}
	for want, change := range map[string]func(float64, *Plan){
		"reference.options.sim-step-base": func(_ float64, p *Plan) { p.Reference.Options = map[string]string{"sim-step-base": "1"} },
		"candidate.options.sim-step-base": func(_ float64, p *Plan) { p.Candidate.Options = nil },
		"differs from that of the first":  func(v float64, p *Plan) { p.Candidate.Options["page-size"] = ValueText(1000 * v) },
	} {
		if _, err := FinishSweep(sweepOfBases(t, values, change), sweptBy(t, stepBase), 10, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// randomCurve is a cell with a value a run, each with figures or without some.
func randomCurve(rng *rand.Rand, name string, values []float64) (*Sweep, *SweepCell) {
	within := 10.0
	s, c := &Sweep{Name: name, WithinPct: &within}, &SweepCell{}
	for _, i := range rng.Perm(len(values)) {
		leading, avg, ratio := 60*rng.Float64()-40, 30*rng.Float64()-10, 1000*values[i]
		r := SweepRun{Value: values[i], Ratio: &ratio, Status: results.StatusVerified}
		p := SweepPoint{LeadingReductionPct: &leading, AvgReductionPct: &avg, AvgInterval: &results.Interval{Low: avg - 1, High: avg + 1}}
		switch rng.IntN(12) {
		case 0:
			p.LeadingReductionPct = nil
		case 1:
			p.AvgReductionPct = nil
		case 2:
			p.AvgInterval = nil
		case 3:
			r.Status = results.StatusInvalid
		case 4:
			r.Ratio = nil
		}
		s.Runs, c.Points = append(s.Runs, r), append(c.Points, p)
	}
	c.conclude(s)
	return s, c
}

func same(got *float64, want float64, any bool) bool {
	return (got != nil) == any && (!any || *got == want)
}

// The recommendation is that of a reader who tries the limits from the largest down.
func TestRecommendByHand(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		s, c := randomCurve(rng, "max-tokens", []float64{0, 100, 200, 300, 400})
		want, any := 0.0, false
		for _, limit := range []float64{0, 400, 300, 200, 100} {
			i := slices.IndexFunc(s.Runs, func(r SweepRun) bool { return r.Value == limit })
			p := c.Points[i]
			if s.Runs[i].Status == results.StatusVerified && p.LeadingReductionPct != nil && *p.LeadingReductionPct >= -10 && p.AvgReductionPct != nil && *p.AvgReductionPct >= 0 {
				want, any = limit, true
				break
			}
		}
		if !same(c.Recommended, want, any) || c.WinsFrom != nil || c.Reason == "" {
			t.Fatalf("recommended %v (%s) of %+v, want %v (%v)", c.Recommended, c.Reason, s.Runs, want, any)
		}
	}
}

// The threshold is that of a reader who strikes out values from the largest down until one
// does not win; a run without a ratio has none larger than it that wins by right.
func TestThresholdByHand(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	found := 0
	for range 2000 {
		s, c := randomCurve(rng, stepBase, []float64{0, 0.001, 0.002, 0.003})
		type line struct {
			value, ratio float64
			wins         bool
		}
		var lines []line
		for i, r := range s.Runs {
			if r.Ratio != nil {
				lines = append(lines, line{r.Value, *r.Ratio, r.Status == results.StatusVerified && c.Points[i].AvgReductionPct != nil && c.Points[i].AvgInterval != nil && c.Points[i].AvgInterval.Low > 0})
			}
		}
		slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(b.ratio, a.ratio) })
		want, any := 0.0, false
		for len(lines) > 0 && lines[0].wins {
			want, any, lines = lines[0].value, true, lines[1:]
		}
		if any {
			found++
		}
		if !same(c.WinsFrom, want, any) || c.Recommended != nil || c.Reason == "" {
			t.Fatalf("wins from %v (%s) of %+v, want %v (%v)", c.WinsFrom, c.Reason, s.Runs, want, any)
		}
	}
	if found < 100 || found > 1900 {
		t.Errorf("%d of 2000 have a threshold, want some of both", found)
	}
}

func TestThresholdWords(t *testing.T) {
	at := func(value, ratio, low float64) (SweepRun, SweepPoint) {
		return SweepRun{Value: value, Ratio: &ratio, Status: results.StatusVerified}, SweepPoint{AvgReductionPct: &low, AvgInterval: &results.Interval{Low: low, High: low + 5}}
	}
	for want, lows := range map[string][]float64{
		"does not win at the largest ratio of these; with a fixed part of 0.02 s, requests may take no less than with the reference: the interval of their reduction is 0 to 5 %": {0, 1, 2},
		"wins from a fixed part of 0.02 s on, which is 2000 tokens: requests take less, by the interval, with it and with all above; with a fixed part of 0.005 s,":               {9, -3, 1},
		"wins from a fixed part of 0 s on, which is 0 tokens": {9, 3, 1},
	} {
		s, c := &Sweep{Name: stepBase}, &SweepCell{}
		for i, v := range []float64{0.02, 0.005, 0} {
			r, p := at(v, 1e5*v, lows[i])
			s.Runs, c.Points = append(s.Runs, r), append(c.Points, p)
		}
		c.conclude(s)
		if !strings.Contains(c.Reason, want) {
			t.Errorf("%q, want %q in it", c.Reason, want)
		}
	}
}

// Without an interval it is not known whether the candidate wins, which is not the same as that it does not.
func TestThresholdUnknown(t *testing.T) {
	ratio, reduction := 2000.0, 9.0
	s := &Sweep{Name: stepBase, Runs: []SweepRun{{Value: 0.02, Ratio: &ratio, Status: results.StatusVerified}}}
	c := &SweepCell{Points: []SweepPoint{{AvgReductionPct: &reduction}}}
	c.conclude(s)
	const want = "it cannot be told whether the candidate wins at the largest ratio of these; with a fixed part of 0.02 s, there is no interval of how long requests take, which needs 6 rounds"
	if c.Reason != want || c.WinsFrom != nil {
		t.Errorf("%q, wins from %v, want %q", c.Reason, c.WinsFrom, want)
	}
}

func TestStepRatio(t *testing.T) {
	server := map[string]string{"sim_step_base": "0.005", "sim_step_per_token": "9e-06", "sim_step_per_context": "1e-06"}
	if got := stepRatio(server); got == nil || math.Abs(*got-500) > 1e-9 {
		t.Errorf("got %v, want 500", got)
	}
	other := maps.Clone(server)
	other["sim_step_per_token"] = "1e-06"
	f := &Folder{Result: Result{Arms: map[string]Arm{Reference: {Server: other}, Candidate: {Server: server}}}}
	if got := f.ratio(); got != nil {
		t.Errorf("got %v of arms with different tokens, want none", *got)
	}
	server["sim_step_per_token"], server["sim_step_per_context"] = "0", "0"
	for _, s := range []map[string]string{server, nil, {"sim_step_base": "x"}} {
		if got := stepRatio(s); got != nil {
			t.Errorf("%v: got %v, want none", s, *got)
		}
	}
}

// A point is of the cell that is asked for, and has no figures that are not there.
func TestPoint(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	between := &results.Interval{Low: 1, High: 9}
	f := &Folder{Result: Result{
		Summary: []SummaryRow{
			{Cell: 0, Metric: "avg_ms", ReferenceMS: number(9)},
			{Cell: 1, Metric: "avg_ms", ReferenceMS: number(4), CandidateMS: number(3), MedianPairedReductionPct: number(25), OrderCI: between},
		},
		Figures: []Figures{
			{Cell: 1, Arm: Reference, Batches: []Bin{{Value: 1, Count: 1}, {Value: 3, Count: 3}}},
			{Cell: 0, Arm: Reference, Batches: []Bin{{Value: 100, Count: 1}}},
		},
	}}
	p := f.Point(1)
	if *p.ReferenceAvgMS != 4 || *p.AvgMS != 3 || *p.AvgReductionPct != 25 || p.AvgInterval != between || *p.ReferenceBatches != 2.5 {
		t.Errorf("got %+v", p)
	}
	if p.LeadingMS != nil || p.Batches != nil {
		t.Errorf("got %+v, want null for what is not there", p)
	}
	if p := f.Point(0); *p.ReferenceAvgMS != 9 || p.AvgMS != nil || p.AvgInterval != nil || *p.ReferenceBatches != 100 {
		t.Errorf("got %+v", p)
	}
}

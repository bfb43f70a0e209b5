package batchrun

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
)

// A sweep is a folder of runs that differ in one flag of this module's server:
//
//	sweep.json     Sweep: its runs, the curve of each cell, and what follows
//	sweep.csv      a line for each cell and value
//	NAME-VALUE/    a run folder for each value

// Names of the files of a sweep's folder.
const (
	SweepFile  = "sweep.json"
	SweepTable = "sweep.csv"
)

// Limits of a sweep.
const (
	MaxSweep     = 64 << 20 // bytes of sweep.json
	MaxSweepRuns = 1000
)

// Sweep is sweep.json, a function of its runs.
type Sweep struct {
	Schema      int         `json:"schema"`
	ToolVersion string      `json:"tool_version"`
	Name        string      `json:"name"`       // of what is swept, as in the runs' folders: "max-tokens"
	Option      string      `json:"option"`     // the server's flag that has the values
	Arms        []string    `json:"arms"`       // that have it
	WithinPct   *float64    `json:"within_pct"` // that the leading item may wait longer than the reference's with a limit that is recommended; null: no limits are swept
	Runs        []SweepRun  `json:"runs"`
	Cells       []SweepCell `json:"cells"` // as in the runs' plans
}

// SweepRun is the run with one value.
type SweepRun struct {
	Value        float64  `json:"value"` // a limit, 0 is none; or the fixed part of a simulated step, seconds
	Ratio        *float64 `json:"ratio"` // of a simulated step's fixed part to what one more token takes that is not in the cache; null: not known, or not the same in both arms
	Folder       string   `json:"folder"`
	Status       string   `json:"status"` // verified or invalid
	PlanSHA256   string   `json:"plan_sha256"`
	RawSHA256    string   `json:"raw_sha256"`
	TrialsSHA256 string   `json:"trials_sha256"`
	ResultSHA256 string   `json:"result_sha256"`
}

// SweepCell is the curve of one cell.
type SweepCell struct {
	Cell        string       `json:"cell"`
	Points      []SweepPoint `json:"points"`      // by run
	Recommended *float64     `json:"recommended"` // limit; null: none of them, or no limits are swept
	WinsFrom    *float64     `json:"wins_from"`   // value of the smallest ratio from which on the candidate is faster on average, by the interval; null: not at the largest ratio, or limits are swept
	Reason      string       `json:"reason"`      // one sentence
}

// SweepPoint is one cell with one value. Times are medians over rounds of each round's
// mean; reductions are medians of the rounds' paired reductions. What is not known is
// null.
type SweepPoint struct {
	LeadingMS           *float64          `json:"leading_ms"` // of the candidate, from the sending until the first item was finished
	ReferenceLeadingMS  *float64          `json:"reference_leading_ms"`
	LeadingReductionPct *float64          `json:"leading_reduction_pct"` // below 0: the leading item waits longer than with the reference
	LeadingInterval     *results.Interval `json:"leading_interval"`      // of that, by order statistics
	AvgMS               *float64          `json:"avg_ms"`                // of the candidate's answered requests, from the intended time
	ReferenceAvgMS      *float64          `json:"reference_avg_ms"`
	AvgReductionPct     *float64          `json:"avg_reduction_pct"`
	AvgInterval         *results.Interval `json:"avg_interval"`
	Batches             *float64          `json:"batches"` // prefill batches that the items of a request of the candidate were in, mean
	ReferenceBatches    *float64          `json:"reference_batches"`
	Against             string            `json:"against,omitempty"` // why this limit is not one to recommend, or why the candidate does not win with this value
}

// sweepOf is what runs say, one for each value, in their order.
func sweepOf(w Swept, within *float64, values []float64, folders []*Folder, hashes []string) (*Sweep, error) {
	s := &Sweep{Schema: Schema, Name: w.Name, Option: w.Option, Arms: w.Arms, WithinPct: within}
	for i, f := range folders {
		folder := w.Folder(values[i])
		if err := f.fits(folders[0], w, values[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		s.ToolVersion = f.Plan.ToolVersion
		s.Runs = append(s.Runs, SweepRun{values[i], f.ratio(), folder, f.Result.Verdict.Status, f.PlanSHA256, f.RawSHA256, f.TrialsSHA256, hashes[i]})
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	for cell, c := range folders[0].Plan.Cells {
		curve := SweepCell{Cell: c.String()}
		for _, f := range folders {
			curve.Points = append(curve.Points, f.Point(cell))
		}
		curve.conclude(s)
		s.Cells = append(s.Cells, curve)
	}
	return s, nil
}

// conclude says of each value what is against it, and what follows.
func (c *SweepCell) conclude(s *Sweep) {
	w, within := s.Swept(), 0.0
	if w.Limits() {
		within = *s.WithinPct
	}
	for i := range c.Points {
		c.Points[i].Against = c.Points[i].against(w, s.Runs[i], within)
	}
	if w.Limits() {
		c.recommend(s, w)
	} else {
		c.threshold(s, w)
	}
}

// Swept is what the sweep is of; its name has been checked.
func (s *Sweep) Swept() Swept {
	w, err := FindSwept(s.Name)
	if err != nil {
		panic(err) // no Sweep is made without check
	}
	return w
}

// ratio is that of both arms, nil where they do not say it or not the same.
func (f *Folder) ratio() *float64 {
	a, b := stepRatio(f.Result.Arms[Reference].Server), stepRatio(f.Result.Arms[Candidate].Server)
	if a == nil || b == nil || *a != *b {
		return nil
	}
	return a
}

// fits wants a complete run that differs from the first in nothing but the value, and
// in the tolerance of scores, which may have been measured.
func (f *Folder) fits(first *Folder, w Swept, value float64) error {
	if err := f.CheckFigures(); err != nil {
		return err
	}
	if f.Result.Verdict.Failure != "" {
		return fmt.Errorf("the run is %s, want a complete one", f.Result.Verdict.Why())
	}
	for _, arm := range w.Arms {
		if got := f.Plan.arm(arm).Options[w.Option]; got != ValueText(value) {
			return form.Unwanted(arm+".options."+w.Option, got, "%s", ValueText(value))
		}
	}
	plain := func(p Plan) Plan {
		for name, arm := range map[string]*PlanArm{Reference: &p.Reference, Candidate: &p.Candidate} {
			if slices.Contains(w.Arms, name) {
				arm.Options = maps.Clone(arm.Options)
				delete(arm.Options, w.Option)
			}
		}
		p.ScoreTolerance = 0
		return p
	}
	if err := sameRecord(plain(f.Plan), plain(first.Plan)); err != nil {
		return fmt.Errorf("%s differs from that of the first run: %w", PlanFile, err)
	}
	return nil
}

// check holds a sweep's file against itself.
func (s *Sweep) check() error {
	w, err := FindSwept(s.Name)
	switch {
	case s.Schema != Schema:
		return form.Unwanted("schema", s.Schema, "%d", Schema)
	case err != nil:
		return err
	case s.Option != w.Option:
		return form.Unwanted("option", s.Option, "%s", w.Option)
	case !slices.Equal(s.Arms, w.Arms):
		return form.Unwanted("arms", fmt.Sprintf("%q", s.Arms), "%q", w.Arms)
	case (s.WithinPct != nil) != w.Limits():
		return form.Unwanted("within_pct", shortest(s.WithinPct), "a number for limits, and null for %s", stepBase)
	case s.WithinPct != nil && (!(*s.WithinPct >= 0) || math.IsInf(*s.WithinPct, 0)):
		return form.Unwanted("within_pct", *s.WithinPct, "a finite number, 0 or more")
	case len(s.Runs) < 1 || len(s.Runs) > MaxSweepRuns:
		return form.Unwanted("runs", fmt.Sprintf("%d of them", len(s.Runs)), "1 to %d", MaxSweepRuns)
	}
	seen := map[float64]bool{}
	for i, r := range s.Runs {
		name := fmt.Sprintf("runs[%d].", i)
		if !w.allows(r.Value) || seen[r.Value] {
			return form.Unwanted(name+"value", r.Value, "%s, each once", w.wanted())
		}
		seen[r.Value] = true
		if want := w.Folder(r.Value); r.Folder != want {
			return form.Unwanted(name+"folder", r.Folder, "%q", want)
		}
		for key, sum := range map[string]string{"plan_sha256": r.PlanSHA256, "raw_sha256": r.RawSHA256, "trials_sha256": r.TrialsSHA256, "result_sha256": r.ResultSHA256} {
			if err := form.CheckHash(name+key, sum); err != nil {
				return err
			}
		}
	}
	for i, c := range s.Cells {
		if len(c.Points) != len(s.Runs) {
			return form.Unwanted(fmt.Sprintf("cells[%d].points", i), fmt.Sprintf("%d of them", len(c.Points)), "%d, one for each run", len(s.Runs))
		}
	}
	return nil
}

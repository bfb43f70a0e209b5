package batchrun

import (
	"fmt"
	"maps"
	"math"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
)

// A sweep is a folder of runs that differ in one limit of the candidate's messages:
//
//	sweep.json     Sweep: its runs, the curve of each cell, and what is recommended
//	sweep.csv      a line for each cell and limit
//	NAME-LIMIT/    a run folder for each limit; 0 is none

// Names of the files of a sweep's folder.
const (
	SweepFile  = "sweep.json"
	SweepTable = "sweep.csv"
)

// Limits of a sweep.
const (
	MaxSweep      = 64 << 20 // bytes of sweep.json
	MaxSweepRuns  = 1000
	maxSweepLimit = 1 << 40
)

// Sweep is sweep.json, a function of its runs.
type Sweep struct {
	Schema      int         `json:"schema"`
	ToolVersion string      `json:"tool_version"`
	Name        string      `json:"name"`       // of the limit, as in the runs' folders: "max-tokens"
	Option      string      `json:"option"`     // of the candidate, that has the limit
	WithinPct   float64     `json:"within_pct"` // that the leading item may wait longer than the reference's with a limit that is recommended
	Runs        []SweepRun  `json:"runs"`
	Cells       []SweepCell `json:"cells"` // as in the runs' plans
}

// SweepRun is the run with one limit.
type SweepRun struct {
	Limit        int    `json:"limit"` // 0: none
	Folder       string `json:"folder"`
	Status       string `json:"status"` // verified or invalid
	PlanSHA256   string `json:"plan_sha256"`
	RawSHA256    string `json:"raw_sha256"`
	TrialsSHA256 string `json:"trials_sha256"`
	ResultSHA256 string `json:"result_sha256"`
}

// SweepCell is the curve of one cell.
type SweepCell struct {
	Cell        string       `json:"cell"`
	Points      []SweepPoint `json:"points"`      // by run
	Recommended *int         `json:"recommended"` // limit; null: none of them
	Reason      string       `json:"reason"`      // one sentence
}

// SweepPoint is one cell with one limit. Times are medians over rounds of each round's
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
	Batches             *float64          `json:"batches"`           // prefill batches that the items of a request were in, mean
	Against             string            `json:"against,omitempty"` // why this limit is not one to recommend
}

// sweepOf is what runs say, one for each limit, in their order.
func sweepOf(name, option string, within float64, limits []int, folders []*Folder, hashes []string) (*Sweep, error) {
	s := &Sweep{Schema: Schema, Name: name, Option: option, WithinPct: within}
	for i, f := range folders {
		folder := fmt.Sprintf("%s-%d", name, limits[i])
		if err := f.fits(folders[0], option, limits[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		s.ToolVersion = f.Plan.ToolVersion
		s.Runs = append(s.Runs, SweepRun{limits[i], folder, f.Result.Verdict.Status, f.PlanSHA256, f.RawSHA256, f.TrialsSHA256, hashes[i]})
	}
	for cell, c := range folders[0].Plan.Cells {
		curve := SweepCell{Cell: c.String()}
		for _, f := range folders {
			p := f.point(cell)
			p.Against = p.against(f.Result.Verdict.Status, within)
			curve.Points = append(curve.Points, p)
		}
		curve.recommend(s)
		s.Cells = append(s.Cells, curve)
	}
	return s, s.check()
}

// fits wants a complete run that differs from the first in nothing but the limit, and
// in the tolerance of scores, which may have been measured.
func (f *Folder) fits(first *Folder, option string, limit int) error {
	if err := f.CheckFigures(); err != nil {
		return err
	}
	if f.Result.Verdict.Failure != "" {
		return fmt.Errorf("the run is %s, want a complete one", f.Result.Verdict.Why())
	}
	if got := f.Plan.Candidate.Options[option]; got != fmt.Sprint(limit) {
		return form.Unwanted("candidate.options."+option, got, "%d", limit)
	}
	plain := func(p Plan) Plan {
		p.Candidate.Options = maps.Clone(p.Candidate.Options)
		delete(p.Candidate.Options, option)
		p.ScoreTolerance = 0
		return p
	}
	if err := sameRecord(plain(f.Plan), plain(first.Plan)); err != nil {
		return fmt.Errorf("%s differs from that of the first run: %w", PlanFile, err)
	}
	return nil
}

func (f *Folder) point(cell int) SweepPoint {
	p := SweepPoint{Batches: f.batches(cell)}
	for _, row := range f.Result.Summary {
		if row.Cell != cell {
			continue
		}
		switch row.Metric {
		case "avg_ms":
			p.AvgMS, p.ReferenceAvgMS, p.AvgReductionPct, p.AvgInterval = row.CandidateMS, row.ReferenceMS, row.MedianPairedReductionPct, row.OrderCI
		case "leading_ms":
			p.LeadingMS, p.ReferenceLeadingMS, p.LeadingReductionPct, p.LeadingInterval = row.CandidateMS, row.ReferenceMS, row.MedianPairedReductionPct, row.OrderCI
		}
	}
	return p
}

// batches is the mean number of prefill batches of the candidate's requests.
func (f *Folder) batches(cell int) *float64 {
	sum, n := 0, 0
	for _, g := range f.Result.Figures {
		if g.Cell == cell && g.Arm == Candidate {
			for _, b := range g.Batches {
				sum, n = sum+b.Value*b.Count, n+b.Count
			}
		}
	}
	if n == 0 {
		return nil
	}
	m := float64(sum) / float64(n)
	return &m
}

// against says why a limit is not one to recommend; nothing if it is.
func (p SweepPoint) against(status string, within float64) string {
	switch {
	case status != results.StatusVerified:
		return "the run is " + status
	case p.LeadingReductionPct == nil:
		return "how long the leading item waits is not known"
	case p.AvgReductionPct == nil:
		return "how long requests take is not known"
	case -*p.LeadingReductionPct > within:
		return fmt.Sprintf("the leading item waits %.4g %% longer than with the reference", -*p.LeadingReductionPct)
	case *p.AvgReductionPct < 0:
		return fmt.Sprintf("requests take %.4g %% longer than with the reference", -*p.AvgReductionPct)
	}
	return ""
}

// recommend takes the largest limit that nothing is against; 0, none, is the largest.
func (c *SweepCell) recommend(s *Sweep) {
	best, at := -1.0, -1
	for i, p := range c.Points {
		if size := sizeOf(s.Runs[i].Limit); p.Against == "" && size > best {
			best, at = size, i
		}
	}
	rule := fmt.Sprintf("the largest limit whose leading item waits at most %g %% longer than with the reference, and whose requests are not slower on average", s.WithinPct)
	if at < 0 {
		c.Reason = fmt.Sprintf("none of these limits: wanted is %s; with %s, %s", rule, LimitText(s.Runs[0].Limit), c.Points[0].Against)
		return
	}
	c.Recommended = &s.Runs[at].Limit
	c.Reason = fmt.Sprintf("%s is %s: the leading item waits %s and requests take %s", LimitText(*c.Recommended), rule, than(*c.Points[at].LeadingReductionPct), than(*c.Points[at].AvgReductionPct))
	if i := s.next(best); i >= 0 {
		c.Reason += fmt.Sprintf("; with %s, %s", LimitText(s.Runs[i].Limit), c.Points[i].Against)
	}
}

// than is a reduction in words.
func than(reduction float64) string {
	if reduction < 0 {
		return fmt.Sprintf("%.4g %% longer", -reduction)
	}
	return fmt.Sprintf("%.4g %% less", reduction)
}

// next is the run with the next larger limit, -1 without one.
func (s *Sweep) next(size float64) int {
	at := -1
	for i, r := range s.Runs {
		if n := sizeOf(r.Limit); n > size && (at < 0 || n < sizeOf(s.Runs[at].Limit)) {
			at = i
		}
	}
	return at
}

func sizeOf(limit int) float64 {
	if limit == 0 {
		return math.Inf(1)
	}
	return float64(limit)
}

// LimitText is a limit in words.
func LimitText(limit int) string {
	if limit == 0 {
		return "no limit"
	}
	return fmt.Sprint("a limit of ", limit)
}

// check holds a sweep's file against itself.
func (s *Sweep) check() error {
	switch {
	case s.Schema != Schema:
		return form.Unwanted("schema", s.Schema, "%d", Schema)
	case s.Name == "" || s.Option == "":
		return fmt.Errorf("name is %q and option is %q, want both", s.Name, s.Option)
	case !(s.WithinPct >= 0) || math.IsInf(s.WithinPct, 0):
		return form.Unwanted("within_pct", s.WithinPct, "a finite number, 0 or more")
	case len(s.Runs) < 1 || len(s.Runs) > MaxSweepRuns:
		return form.Unwanted("runs", fmt.Sprintf("%d of them", len(s.Runs)), "1 to %d", MaxSweepRuns)
	}
	seen := map[int]bool{}
	for i, r := range s.Runs {
		name := fmt.Sprintf("runs[%d].", i)
		if r.Limit < 0 || r.Limit > maxSweepLimit || seen[r.Limit] {
			return form.Unwanted(name+"limit", r.Limit, "0 to %d, each once", maxSweepLimit)
		}
		seen[r.Limit] = true
		if want := fmt.Sprintf("%s-%d", s.Name, r.Limit); r.Folder != want {
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

package batchrun

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
)

// SweepFolder is a sweep with its runs as read.
type SweepFolder struct {
	Dir   string
	Sweep *Sweep
	Runs  []*Folder
}

// FinishSweep reads the runs of a sweep, dir/NAME-VALUE for each value, and writes
// sweep.csv and then sweep.json. The runs must be complete and differ in nothing but
// the value. withinPct is Sweep's, and means nothing where no limits are swept.
func FinishSweep(dir string, w Swept, withinPct float64, values []float64) (*SweepFolder, error) {
	within := &withinPct
	if !w.Limits() {
		within = nil
	}
	s, runs, err := readSweep(dir, w, within, values)
	if err != nil {
		return nil, fmt.Errorf("batchrun: sweep in %s: %w", dir, err)
	}
	b, err := encodeFile(s)
	if err == nil {
		err = form.Replace(filepath.Join(dir, SweepTable), s.csv())
	}
	if err == nil {
		err = form.Replace(filepath.Join(dir, SweepFile), b)
	}
	if err != nil {
		return nil, fmt.Errorf("batchrun: sweep in %s: %w", dir, err)
	}
	return &SweepFolder{dir, s, runs}, nil
}

// readSweep makes a sweep of its runs.
func readSweep(dir string, w Swept, within *float64, values []float64) (*Sweep, []*Folder, error) {
	var runs []*Folder
	var hashes []string
	for _, v := range values {
		folder := filepath.Join(dir, w.Folder(v))
		f, err := Read(folder)
		if err != nil {
			return nil, nil, err
		}
		sum, err := results.HashFile(filepath.Join(folder, ResultFile))
		if err != nil {
			return nil, nil, err
		}
		runs, hashes = append(runs, f), append(hashes, sum)
	}
	s, err := sweepOf(w, within, values, runs, hashes)
	return s, runs, err
}

// IsSweep says whether the folder is one of a sweep.
func IsSweep(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, SweepFile))
	return err == nil
}

// noRun says of a folder without a plan that it is one of a sweep, whole or interrupted, and
// which runs it has; nil of others.
func noRun(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, PlanFile)); err == nil {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // whoever reads its files says so
	}
	var runs []string
	for _, e := range entries {
		ofSweep := slices.ContainsFunc(swept, func(w Swept) bool { return strings.HasPrefix(e.Name(), w.Name+"-") })
		if _, err := os.Lstat(filepath.Join(dir, e.Name(), PlanFile)); err == nil && ofSweep {
			runs = append(runs, e.Name())
		}
	}
	switch {
	case len(runs) == 0:
		return nil
	case IsSweep(dir):
		return fmt.Errorf("this is a sweep, want one of its runs: %s", strings.Join(runs, ", "))
	}
	return fmt.Errorf("this is a sweep that did not end, without %s; want one of its runs: %s", SweepFile, strings.Join(runs, ", "))
}

// ReadSweep reads a sweep with its runs and checks that its curves follow from them.
func ReadSweep(dir string) (*SweepFolder, error) {
	said, err := readSweepFile(dir)
	if err != nil {
		return nil, fmt.Errorf("batchrun: sweep in %s: %w", dir, err)
	}
	s, runs, err := readSweep(dir, said.Swept(), said.WithinPct, said.values())
	if err == nil {
		s.normal()
		err = sameRecord(*said, *s)
	}
	if err != nil {
		return nil, fmt.Errorf("batchrun: sweep in %s: %w", dir, err)
	}
	return &SweepFolder{dir, said, runs}, nil
}

func readSweepFile(dir string) (*Sweep, error) {
	b, err := form.ReadFile(dir, SweepFile, MaxSweep)
	if err != nil {
		return nil, err
	}
	s, err := parseSweep(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", SweepFile, err)
	}
	return s, nil
}

func parseSweep(b []byte) (*Sweep, error) {
	var s Sweep
	if err := decode(b, &s, encodeFile); err != nil {
		return nil, err
	}
	return &s, s.check()
}

func (s *Sweep) normal() {
	s.Arms, s.Runs, s.Cells = form.Listed(s.Arms), form.Listed(s.Runs), form.Listed(s.Cells)
	for i := range s.Cells {
		s.Cells[i].Points = form.Listed(s.Cells[i].Points)
	}
}

func (s *Sweep) values() (values []float64) {
	for _, r := range s.Runs {
		values = append(values, r.Value)
	}
	return values
}

// verifySweep verifies every run of a sweep, and computes its curves anew.
func verifySweep(dir string) []results.Check {
	v := &verifier{f: &Folder{Dir: dir}}
	s, err := readSweepFile(dir)
	v.check(SweepFile, err, "in form")
	if err != nil {
		return v.checks
	}
	for _, r := range s.Runs {
		v.check("run "+r.Folder, r.verify(filepath.Join(dir, r.Folder)), "verifies, and has the hashes named")
	}
	again, _, err := readSweep(dir, s.Swept(), s.WithinPct, s.values())
	if err == nil {
		again.normal()
		err = sameRecord(*s, *again)
	}
	v.check("curves", err, "%d cells with %d values recomputed", len(s.Cells), len(s.Runs))
	got, err := form.ReadFile(dir, SweepTable, MaxSweep)
	if err == nil && !bytes.Equal(got, s.csv()) {
		err = form.NotAsWritten(got, s.csv())
	}
	v.check(SweepTable, err, "recomputed, equal byte for byte")
	return v.checks
}

// verify wants every check of the run to hold, and its files to be those of the sweep.
func (r SweepRun) verify(dir string) error {
	checks, err := Verify(dir)
	if err != nil {
		return err
	}
	for _, c := range checks {
		if !c.OK {
			return fmt.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	return sameFiles(dir, [][2]string{{PlanFile, r.PlanSHA256}, {RawFile, r.RawSHA256}, {TrialsFile, r.TrialsSHA256}, {ResultFile, r.ResultSHA256}})
}

// sameFiles wants files of a folder, by name, to have hashes.
func sameFiles(dir string, want [][2]string) error {
	for _, f := range want {
		sum, err := results.HashFile(filepath.Join(dir, f[0]))
		if err != nil {
			return err
		}
		if sum != f[1] {
			return form.Unwanted("the sha256 of "+f[0], sum, "%s", f[1])
		}
	}
	return nil
}

var sweepColumns = []string{
	"cell", "value", "ratio", "status", "leading_ms", "reference_leading_ms", "leading_reduction_pct", "leading_low_pct", "leading_high_pct",
	"avg_ms", "reference_avg_ms", "avg_reduction_pct", "avg_low_pct", "avg_high_pct", "batches", "reference_batches", "verdict", "against",
}

// csv is sweep.csv.
func (s *Sweep) csv() []byte {
	lines := [][]string{sweepColumns}
	for _, c := range s.Cells {
		for i, p := range c.Points {
			r := s.Runs[i]
			line := []string{c.Cell, ValueText(r.Value), shortest(r.Ratio), r.Status, shortest(p.LeadingMS), shortest(p.ReferenceLeadingMS), shortest(p.LeadingReductionPct)}
			line = append(append(line, ends(p.LeadingInterval)...), shortest(p.AvgMS), shortest(p.ReferenceAvgMS), shortest(p.AvgReductionPct))
			line = append(append(line, ends(p.AvgInterval)...), shortest(p.Batches), shortest(p.ReferenceBatches), c.verdict(s, i), p.Against)
			lines = append(lines, line)
		}
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(lines); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

func ends(i *results.Interval) []string {
	if i == nil {
		return []string{"", ""}
	}
	return []string{shortest(&i.Low), shortest(&i.High)}
}

package batchrun

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
)

// Verify recomputes every figure of a run folder, or of a sweep and its runs, and
// checks every hash in it. A run holds when every check is OK; what cannot be read is a
// failed check, and so is a status other than verified. What could not be looked at because
// of that is no check of its own: the last failed one names it. The error is for a folder
// that is not there.
//
// A merged run has all that its figures need. With the folders of its shards it is put
// together from them again.
func Verify(dir string, shards ...string) ([]results.Check, error) {
	st, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("batchrun: run folder: %w", err)
	}
	if !st.IsDir() {
		return nil, fmt.Errorf("batchrun: %s is a %s file, want a run folder", dir, st.Mode().Type())
	}
	if IsSweep(dir) {
		if len(shards) > 0 {
			return nil, fmt.Errorf("batchrun: %s is a sweep, want no folders of shards", dir)
		}
		return verifySweep(dir), nil
	}
	if err := noRun(dir); err != nil {
		return nil, fmt.Errorf("batchrun: run folder %s: %w", dir, err)
	}
	if !Is(dir) {
		return nil, fmt.Errorf("batchrun: %s has no %s, want a run folder of a load test", dir, TrialsFile)
	}
	v := &verifier{f: &Folder{Dir: dir}}
	v.files()
	v.hashes()
	v.figures()
	err = needs(v.planErr, v.rawErr)
	if err == nil {
		err = v.f.checkHist()
	}
	v.check(HistFolder, err, "the histograms of %d cells and both arms are those of the requests", len(v.f.Plan.Cells))
	v.shards(shards)
	v.status()
	v.tellSkipped()
	return v.checks, nil
}

// Is says whether the folder is a run of this package, and not one of package
// results, by the file that only these have.
func Is(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, TrialsFile))
	return err == nil
}

// verifier holds what was read, and why what was not could not be.
type verifier struct {
	f                       *Folder
	checks                  []results.Check
	skipped                 []string // checks that a failed one stopped
	planErr, rawErr, resErr error
	derivedErr              error
	d                       derived
}

// notChecked is the error of a check that a failed one stopped.
type notChecked struct{ error }

func (e notChecked) Unwrap() error { return e.error }

func (v *verifier) check(name string, err error, detail string, args ...any) {
	var stopped notChecked
	if errors.As(err, &stopped) {
		v.skipped = append(v.skipped, name)
		return
	}
	c := results.Check{Name: name, OK: err == nil, Detail: fmt.Sprintf(detail, args...)}
	if err != nil {
		c.Detail = err.Error()
	}
	v.checks = append(v.checks, c)
}

// tellSkipped names what was not looked at in the last check that failed. Nothing is skipped but for one.
func (v *verifier) tellSkipped() {
	if len(v.skipped) == 0 {
		return
	}
	for i := range slices.Backward(v.checks) {
		if !v.checks[i].OK {
			v.checks[i].Detail += "; so not checked: " + strings.Join(v.skipped, ", ")
			return
		}
	}
	panic("batchrun: checks were skipped and none failed: " + strings.Join(v.skipped, ", ")) // each is skipped for a failed one
}

// needs is the error of a check that one of the files stops.
func needs(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return notChecked{err}
		}
	}
	return nil
}

func (v *verifier) files() {
	f := v.f
	f.Plan, f.PlanSHA256, v.planErr = readPlan(f.Dir)
	if v.planErr != nil {
		v.check(PlanFile, v.planErr, "")
		v.rawErr, v.resErr = needs(v.planErr), needs(v.planErr)
	} else {
		v.check(PlanFile, nil, "%d trials planned", f.Plan.Len())
		v.rawErr = f.readTrials()
		f.Result, v.resErr = readResult(f.Dir, f.Plan)
	}
	requests := 0
	for _, of := range f.Requests {
		requests += len(of)
	}
	v.check(RawFile, v.rawErr, "%d requests of %d trials in the plan's order", requests, len(f.Trials))
	v.check(ResultFile, v.resErr, "in form, and fits the plan")
	err := needs(v.planErr, v.rawErr)
	if err == nil {
		err = f.checkSchedules()
	}
	v.check(ScheduleFolder, err, "%d schedules, which the requests followed", len(f.Plan.Schedules))
}

func (v *verifier) hashes() {
	for _, h := range []struct{ name, got, said string }{
		{PlanFile, v.f.PlanSHA256, v.f.Result.PlanSHA256}, {RawFile, v.f.RawSHA256, v.f.Result.RawSHA256}, {TrialsFile, v.f.TrialsSHA256, v.f.Result.TrialsSHA256},
	} {
		err := needs(v.planErr, v.rawErr, v.resErr)
		if err == nil && h.got != h.said {
			err = form.Unwanted("sha256", h.got, "%s as in %s", h.said, ResultFile)
		}
		v.check("sha256 of "+h.name, err, "%s", h.got)
	}
}

// figures recomputes what follows from the trials and holds the result against it.
func (v *verifier) figures() {
	v.derivedErr = needs(v.planErr, v.rawErr, v.resErr)
	if v.derivedErr == nil {
		v.d, v.derivedErr = v.f.derived()
	}
	r := v.f.Result
	parts := []struct {
		name, detail string
		same         func() error
	}{
		{"figures", fmt.Sprintf("%d cells and arms, and %d of rounds, recomputed", len(r.Figures), len(r.RoundFigures)), func() error {
			if err := sameList("figures", r.Figures, v.d.figures, Figures.where); err != nil {
				return err
			}
			return sameList("figures of rounds", r.RoundFigures, v.d.rounds, Figures.where)
		}},
		{"summary", fmt.Sprintf("%d rows recomputed", len(r.Summary)), func() error {
			return sameList("summary rows", r.Summary, v.d.summary, func(s SummaryRow) string { return fmt.Sprintf("cell %d, %s", s.Cell, s.Metric) })
		}},
		{"agreement", fmt.Sprintf("%d answers compared", r.Agreement.Compared), func() error { return sameRecord(r.Agreement, v.d.agreement) }},
		{"validity", "the reasons follow from the trials", func() error { return sameText("verdict.invalid", r.Verdict.Invalid, v.d.invalid) }},
		{"decision", strings.TrimSuffix(r.Verdict.Decision+": "+r.Verdict.Reason, ": "), func() error { return sameText("analysis", r.Analysis, v.d.analysis) }},
		{"clocks", v.f.clocksText(), func() error { return sameText("clocks", r.Clocks, v.f.Plan.clocks(v.f.Trials, r.Shards)) }},
		{SummaryFile, "recomputed, equal byte for byte", func() error { return v.f.sameTable() }},
	}
	for _, p := range parts {
		err := v.derivedErr
		if err == nil {
			err = p.same()
		}
		v.check(p.name, err, "%s", p.detail)
		v.derivedErr = needs(v.derivedErr) // said once
	}
}

// derived are the figures of a run that has some.
func (f *Folder) derived() (derived, error) {
	if f.Result.Verdict.Failure != "" {
		return derived{}, form.Unwanted("verdict.status", f.Result.Verdict.Status, "%q: there are no figures otherwise", results.StatusVerified)
	}
	if len(f.Trials) != f.Plan.Len() {
		return derived{}, form.Unwanted("the number of trials", len(f.Trials), "%d as planned", f.Plan.Len())
	}
	return derive(f.Plan, f.Trials, f.Requests)
}

// CheckFigures recomputes what a report is about to show. An error names what does
// not follow from the trials.
func (f *Folder) CheckFigures() error {
	if f.Result.Verdict.Failure != "" {
		return nil
	}
	d, err := f.derived()
	if err != nil {
		return err
	}
	want := f.Result
	want.Figures, want.RoundFigures, want.Summary, want.Agreement, want.Analysis = d.figures, d.rounds, d.summary, d.agreement, d.analysis
	want.Verdict.Invalid = d.invalid
	want.Verdict = want.decided()
	want.Trials, want.Requests = f.counts()
	want.Clocks = f.Plan.clocks(f.Trials, f.Result.Shards)
	want.normal()
	return sameRecord(f.Result, want)
}

func (f *Folder) counts() (trials, requests int) {
	for _, of := range f.Requests {
		requests += len(of)
	}
	return len(f.Trials), requests
}

func (f *Folder) sameTable() error {
	got, err := form.ReadFile(f.Dir, SummaryFile, MaxSummary)
	if err != nil {
		return err
	}
	want, err := summaryCSV(f.Plan, f.Result)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return form.NotAsWritten(got, want)
	}
	return nil
}

// shards holds a merged run against the runs that it was put together from.
func (v *verifier) shards(dirs []string) {
	err := needs(v.planErr, v.rawErr, v.resErr)
	switch {
	case err == nil && !v.f.Plan.merged() && len(dirs) == 0:
	case err == nil && len(dirs) == 0:
		v.check("shards", nil, "%d runs named by their hashes; verify them too by giving their folders", len(v.f.Plan.Parts))
	case len(dirs) > 0:
		if err == nil {
			err = v.f.checkMerged(dirs)
		}
		v.check("shards", err, "put together again from %d folders, equal byte for byte", len(dirs))
		for _, dir := range dirs {
			v.check("shard "+dir, holds(dir), "its figures and hashes hold")
		}
	}
}

// holds wants every check of a run but its validity to hold.
func holds(dir string) error {
	checks, err := Verify(dir)
	if err != nil {
		return err
	}
	for _, c := range checks {
		if !c.OK && c.Name != statusCheck {
			return fmt.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	return nil
}

// statusCheck is the check that an invalid run fails.
const statusCheck = "status"

func (v *verifier) status() {
	r := v.f.Result
	trials, requests := v.f.counts()
	err := needs(v.rawErr, v.resErr)
	if err == nil && (r.Trials != trials || r.Requests != requests) {
		err = form.Unwanted("the number of trials and requests", fmt.Sprintf("%d and %d", r.Trials, r.Requests), "%d and %d as there are", trials, requests)
	}
	v.check("counts", err, "%d trials, %d requests", trials, requests)
	err = needs(v.resErr)
	if err == nil && r.Verdict.Status != results.StatusVerified {
		err = fmt.Errorf("the run is %s", r.Verdict.Why())
	}
	v.check(statusCheck, err, "%s, decision %s", r.Verdict.Status, r.Verdict.Decision)
}

// Why is the status with what made it so.
func (v Verdict) Why() string {
	if cause := v.cause(); cause != "" {
		return v.Status + ": " + cause
	}
	return v.Status
}

func (v Verdict) cause() string {
	switch {
	case v.Failure != "":
		return v.Failure
	case len(v.Invalid) > 1:
		return fmt.Sprintf("%s; and %d more", v.Invalid[0], len(v.Invalid)-1)
	case len(v.Invalid) == 1:
		return v.Invalid[0]
	}
	return ""
}

func (f Figures) where() string {
	s := fmt.Sprintf("cell %d, %s", f.Cell, f.Arm)
	if f.Round != nil {
		s += fmt.Sprintf(", round %d", *f.Round)
	}
	return s
}

package results

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/fanoutbench/fanoutbench/results/form"
)

// Check is one thing that Verify looked at.
type Check struct {
	Name   string
	OK     bool
	Detail string // what was found, or what is wrong
}

// VerifyOptions name what lies outside the run folder. What is not named is not
// looked at.
type VerifyOptions struct {
	Trees      map[string]string // by arm, reference or candidate: the folder its sources lie below; that of the reference is the control's too
	Executable string            // the running program, looked for among the arms' binaries
	Controller string            // sha256 of the running program's script for SGLang trees, compared with that of the arms that had one
	Original   string            // of a run that reproduces another: that one's folder
	Runs       string            // of a folder with merged.json: where its runs lie, if not in it or beside it
}

// Verify recomputes every figure of a run folder and checks every hash that it
// can reach. A run holds when every check is OK; what cannot be read, and what
// could not be looked at because of that, is a failed check. The error is for a
// folder that is not there.
func Verify(dir string, opt VerifyOptions) ([]Check, error) {
	st, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("results: run folder: %w", err)
	}
	if !st.IsDir() {
		return nil, fmt.Errorf("results: %s is a %s file, want a run folder", dir, st.Mode().Type())
	}
	for arm := range opt.Trees {
		if arm != Reference && arm != Candidate {
			return nil, fmt.Errorf("results: a tree is given for arm %q, want %q or %q", arm, Reference, Candidate)
		}
	}
	if hasAny(dir, MergedFile) {
		v := &verifier{dir: dir, opt: opt}
		v.verifyMerged()
		return v.checks, nil
	}
	if !hasAny(dir, PlanFile, RawFile, ResultFile) {
		return nil, fmt.Errorf("results: %s has neither %s nor %s nor %s, want a run folder", dir, PlanFile, RawFile, ResultFile)
	}
	v := &verifier{dir: dir, opt: opt}
	v.files()
	v.hashes()
	v.figures()
	v.counts()
	v.status()
	v.reproduction()
	v.outside()
	return v.checks, nil
}

func hasAny(dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	})
}

// verifier holds what was read, and why what was not could not be.
type verifier struct {
	dir    string
	opt    VerifyOptions
	checks []Check

	plan           Plan
	trials         []Trial
	result         Result
	planSum        string
	rawSum         string
	planErr        error
	rawErr, resErr error
}

// check records an outcome: detail where err is nil.
func (v *verifier) check(name string, err error, detail string, args ...any) {
	c := Check{Name: name, OK: err == nil, Detail: fmt.Sprintf(detail, args...)}
	if err != nil {
		c.Detail = err.Error()
	}
	v.checks = append(v.checks, c)
}

// needs is the error of a check that one of the files stops.
func needs(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("not checked: %w", err)
		}
	}
	return nil
}

func (v *verifier) files() {
	v.plan, v.planSum, v.planErr = readPlan(v.dir)
	v.check(PlanFile, v.planErr, "%d trials planned", v.plan.Len())
	if v.planErr != nil {
		v.rawErr, v.resErr = needs(v.planErr), needs(v.planErr)
	} else {
		v.trials, v.rawSum, v.rawErr = readRaw(v.dir, v.plan)
		v.result, v.resErr = readResult(v.dir, v.plan)
	}
	v.check(RawFile, v.rawErr, "%d trials in the plan's order", len(v.trials))
	v.check(ResultFile, v.resErr, "in form, and fits the plan")
}

func (v *verifier) hashes() {
	err := needs(v.planErr, v.resErr)
	if err == nil && v.planSum != v.result.PlanSHA256 {
		err = unwanted("the sha256 of "+PlanFile, v.planSum, "%s as in %s", v.result.PlanSHA256, ResultFile)
	}
	v.check("plan_sha256", err, "%s", v.planSum)
	err = needs(v.rawErr, v.resErr)
	if err == nil && v.rawSum != v.result.RawSHA256 {
		err = unwanted("the sha256 of "+RawFile, v.rawSum, "%s as in %s", v.result.RawSHA256, ResultFile)
	}
	v.check("raw_sha256", err, "%s", v.rawSum)
}

// figures recomputes the figures from the trials and holds what the files say
// against them.
func (v *verifier) figures() {
	f, err := v.recomputed()
	wrong := err
	if err == nil {
		wrong = sameRows(v.result.Summary, f.summary)
	}
	v.check("summary", wrong, "%d rows of %s recomputed", len(f.summary), ResultFile)
	v.check(SummaryFile, v.sameTable(f.summary, err), "recomputed, equal byte for byte")
	if len(v.plan.Primary) == 0 && v.plan.Control == nil {
		return
	}
	if err == nil {
		err = sameRows(v.result.Control, f.control)
	}
	if err == nil {
		err = sameAnalysis(v.result.Analysis, f.analysis)
	}
	if err == nil && v.result.decided().Decision != v.result.Verdict.Decision {
		err = unwanted("verdict.decision", v.result.Verdict.Decision, "%q, which follows from the trials and the arms", v.result.decided().Decision)
	}
	v.check("decision", err, "%s: %s", v.result.Verdict.Decision, v.result.Verdict.Reason)
}

func (v *verifier) recomputed() (figures, error) {
	if err := needs(v.planErr, v.rawErr, v.resErr); err != nil {
		return figures{}, err
	}
	if v.result.Verdict.Status != StatusVerified {
		// Its trials end anywhere and it has no figures; status says so.
		return figures{}, unwanted("verdict.status", v.result.Verdict.Status, "%q: there are no figures otherwise", StatusVerified)
	}
	return figuresOf(v.plan, v.trials)
}

func (v *verifier) sameTable(rows []SummaryRow, err error) error {
	if err != nil {
		return err
	}
	got, err := readFile(v.dir, SummaryFile, MaxSummary)
	if err != nil {
		return err
	}
	want, err := summaryCSV(rows)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s %w", SummaryFile, form.NotAsWritten(got, want))
	}
	return nil
}

// sameRows compares rows as they are written, so that every field counts.
func sameRows(got, want []SummaryRow) error {
	if len(got) != len(want) {
		return unwanted("the number of summary rows", len(got), "%d", len(want))
	}
	for i := range want {
		w := want[i]
		where := fmt.Sprintf("summary row %d (count %d, metadata %s, %s)", i+1, w.Count, w.Metadata, w.Metric)
		if err := sameFields(got[i], w); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	return nil
}

// counts holds the rows of the trials against the plan and the result.
func (v *verifier) counts() {
	rows, fence := 0, 0
	for _, t := range v.trials {
		rows += t.Rows
		fence += t.FenceRows
	}
	err := needs(v.planErr, v.rawErr, v.resErr)
	if err == nil && v.result.Verdict.Status != StatusVerified {
		return // the plan's numbers do not bind a run that ended early; status says so
	}
	plan := v.plan
	if err == nil && plan.Kind == KindAnytime {
		plan = plan.UpTo(v.result.Rounds)
	}
	v.count("trials", err, len(v.trials), plan.Len(), plan.Len())
	v.count("verified_rows", err, v.result.VerifiedRows, rows, plan.RowsPerRun)
	v.count("fence_rows", err, v.result.FenceRows, fence, plan.FencePerRun)
	warmup := 0
	if err == nil {
		warmup = plan.WarmupRows()
	}
	v.count("warmup_rows", err, v.result.WarmupRows, warmup, warmup)
	if v.plan.FullRows > 0 {
		v.count("full_rows", err, v.result.FullRows, v.plan.FullRows, v.plan.FullRows)
	}
}

func (v *verifier) count(name string, err error, result, found, planned int) {
	if err == nil && (result != found || found != planned) {
		err = fmt.Errorf("the result says %d, the trials make %d, the plan %d", result, found, planned)
	}
	v.check(name, err, "%d", result)
}

func (v *verifier) status() {
	err := needs(v.resErr)
	if err == nil && v.result.Verdict.Status != StatusVerified {
		err = fmt.Errorf("the run is %s: %s", v.result.Verdict.Status, v.result.Verdict.Failure.text())
	}
	v.check("status", err, "%s, decision %s", v.result.Verdict.Status, v.result.Verdict.Decision)
}

// outside checks what the options name beyond the folder.
func (v *verifier) outside() {
	for _, arm := range v.plan.Arms() {
		tree, ok := v.opt.Trees[arm]
		if arm == Control {
			tree, ok = v.opt.Trees[Reference] // which it is once more
		}
		if ok {
			err := needs(v.resErr)
			if err == nil {
				err = sameSources(tree, v.result.Arms[arm])
			}
			v.check(arm+" sources", err, "%d files below the tree", len(v.result.Arms[arm].Sources))
		}
	}
	if v.opt.Controller != "" {
		v.controllers()
	}
	if v.opt.Executable != "" {
		detail, err := v.executable()
		v.check("executable", err, "%s", detail)
	}
}

// sameSources compares a tree's files with those that the arm was built from.
func sameSources(tree string, arm Arm) error {
	err := sameFiles(tree, arm.Sources)
	if err == nil || arm.Revision == "" {
		return err
	}
	changes := ""
	if arm.Modified == "true" {
		changes = " with uncommitted changes"
	}
	return fmt.Errorf("%w; the arm was built from revision %s%s", err, arm.Revision, changes)
}

func sameFiles(tree string, sources []Source) error {
	if len(sources) == 0 {
		return fmt.Errorf("the result names no source of this arm, want at least one to compare")
	}
	for _, s := range sources {
		got, err := HashFile(filepath.Join(tree, filepath.FromSlash(s.Path)))
		if err != nil {
			return err
		}
		if got != s.SHA256 {
			return unwanted("the sha256 of "+s.Path, got, "%s as in %s", s.SHA256, ResultFile)
		}
	}
	return nil
}

// controllers says of each SGLang tree whether the script that ran it is this
// program's. Another one may verify the run just as well.
func (v *verifier) controllers() {
	if needs(v.resErr) != nil {
		return // which arms had one is not known; the result's own check has failed
	}
	for _, arm := range v.plan.Arms() {
		switch sum := v.result.Arms[arm].ControllerSHA256; sum {
		case "":
		case v.opt.Controller:
			v.check(arm+" controller", nil, "the script of this program")
		default:
			v.check(arm+" controller", nil, "for information: sha256 %s, another script than this program's", sum)
		}
	}
}

// executable says whether the running program is one that an arm was measured
// with. Another one may verify the run just as well.
func (v *verifier) executable() (string, error) {
	if err := needs(v.resErr); err != nil {
		return "", err
	}
	got, err := HashFile(v.opt.Executable)
	if err != nil {
		return "", err
	}
	for _, arm := range []string{Reference, Candidate} {
		if slices.Contains(v.result.Arms[arm].BinarySHA256, got) {
			return "this program is a binary of the " + arm, nil
		}
	}
	return "for information: this program is not one of the arms' binaries", nil
}

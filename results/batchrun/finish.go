package batchrun

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
)

// Outcome is what Finish cannot know from the trials.
type Outcome struct {
	Arms        map[string]Arm
	Environment results.Environment
	Repeat      []string // the command that makes the load again; nil: not known
	Clock       *Clock   // nil: not known
	Shards      []Shard  // of a merged run
	Warnings    []string
	Failure     string // what ended the run before its last trial; empty: nothing did
}

// Finish reads plan, trials and requests back, computes the figures, whether the
// run is valid, and the decision, and writes hist/, summary.csv and then result.json, each
// whole or not at all. Trials that are not all there without a failure are an error.
func (r *Run) Finish(out Outcome) (Result, error) {
	if r.closed {
		return Result{}, fmt.Errorf("batchrun: finish %s: the run is finished", r.dir)
	}
	if err := errors.Join(r.Close(), r.broken); err != nil && out.Failure == "" {
		return Result{}, fmt.Errorf("batchrun: finish %s: %w", r.dir, err)
	}
	result, err := r.finish(out)
	if err != nil {
		return Result{}, fmt.Errorf("batchrun: finish %s: %w", r.dir, err)
	}
	return result, nil
}

func (r *Run) finish(out Outcome) (Result, error) {
	f := &Folder{Dir: r.dir}
	var err error
	if f.Plan, f.PlanSHA256, err = readPlan(r.dir); err != nil {
		return Result{}, err
	}
	if f.PlanSHA256 != r.planSum {
		return Result{}, form.Unwanted("the sha256 of "+PlanFile, f.PlanSHA256, "%s as it was written", r.planSum)
	}
	if err := f.readTrials(); err != nil {
		return Result{}, err
	}
	result, err := f.result(out)
	if err != nil {
		return Result{}, err
	}
	result, b, err := settle[Result](result, encodeFile)
	if err != nil {
		return Result{}, err
	}
	if err := result.check(f.Plan); err != nil {
		return Result{}, fmt.Errorf("result: %w", err)
	}
	if len(b) > MaxResult {
		return Result{}, fmt.Errorf("%s would have %d bytes, want at most %d", ResultFile, len(b), MaxResult)
	}
	table, err := summaryCSV(f.Plan, result)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", SummaryFile, err)
	}
	if err := f.writeHist(); err != nil {
		return Result{}, err
	}
	if err := form.Replace(filepath.Join(r.dir, SummaryFile), table); err != nil {
		return Result{}, err
	}
	return result, form.Replace(filepath.Join(r.dir, ResultFile), b)
}

// result is what the files and the outcome make.
func (f *Folder) result(out Outcome) (Result, error) {
	r := Result{
		Schema: Schema, ToolVersion: f.Plan.ToolVersion, PlanSHA256: f.PlanSHA256, RawSHA256: f.RawSHA256, TrialsSHA256: f.TrialsSHA256,
		Arms: portableArms(out.Arms), Trials: len(f.Trials), Environment: out.Environment, Repeat: portableAll(out.Repeat),
		Clock: out.Clock, Shards: out.Shards,
		Verdict: Verdict{Warnings: portableAll(out.Warnings), Failure: results.Portable(out.Failure)},
	}
	for _, of := range f.Requests {
		r.Requests += len(of)
	}
	if out.Failure == "" {
		if len(f.Trials) < f.Plan.Len() {
			return r, fmt.Errorf("%d of %d trials are there, the next one would be %s, and no failure says why", len(f.Trials), f.Plan.Len(), f.Plan.slot(len(f.Trials)))
		}
		if err := f.checkSchedules(); err != nil {
			return r, err
		}
		d, err := derive(f.Plan, f.Trials, f.Requests)
		if err != nil {
			return r, err
		}
		r.Clocks = f.Plan.clocks(f.Trials, out.Shards)
		r.Figures, r.RoundFigures, r.Summary, r.Agreement, r.Analysis, r.Verdict.Invalid = d.figures, d.rounds, d.summary, d.agreement, d.analysis, d.invalid
	}
	r.Verdict = r.decided()
	return r, nil
}

// decided is the verdict with status and decision, which follow from the rest of
// the result.
func (r Result) decided() Verdict {
	v := r.Verdict
	v.Status, v.Decision, v.Reason = results.StatusVerified, results.DecisionNone, ""
	descriptive := r.descriptive()
	switch {
	case v.Failure != "":
		v.Status = results.StatusIncomplete
	case len(v.Invalid) > 0:
		v.Status = results.StatusInvalid
	case r.Analysis == nil:
	case descriptive != "":
		v.Reason = descriptive + "; by its trials the run would be " + r.Analysis.Decision
	case r.Arms[Reference].SameAs(r.Arms[Candidate]):
		v.Decision = results.DecisionIdentical
		v.Reason = "both arms executed the same files with the same options; by its trials the run would be " + r.Analysis.Decision
	default:
		v.Decision, v.Reason = r.Analysis.Decision, r.Analysis.Reason
	}
	return v
}

// descriptive says which arm's figures decide nothing, and why.
func (r Result) descriptive() string {
	for _, name := range []string{Reference, Candidate} {
		if why := r.Arms[name].Descriptive; why != "" {
			return fmt.Sprintf("the figures of the %s are descriptive: %s", name, why)
		}
	}
	return ""
}

// SameAs says whether two arms executed the same files in the same way: by the
// hashes of executables and sources, of which there must be some.
func (a Arm) SameAs(b Arm) bool {
	return len(a.BinarySHA256)+len(a.Sources) > 0 &&
		slices.Equal(slices.Sorted(slices.Values(a.BinarySHA256)), slices.Sorted(slices.Values(b.BinarySHA256))) &&
		slices.Equal(a.Sources, b.Sources) && maps.Equal(a.Options, b.Options)
}

func portableArms(arms map[string]Arm) map[string]Arm {
	out := map[string]Arm{}
	for name, a := range arms {
		a.Spec, a.Descriptive = results.Portable(a.Spec), results.Portable(a.Descriptive)
		a.Command, a.Options, a.Server = portableAll(a.Command), portable(a.Options), portable(a.Server)
		out[name] = a
	}
	return out
}

func portableAll(values []string) []string {
	var out []string
	for _, v := range values {
		out = append(out, results.Portable(v))
	}
	return out
}

// check holds a result against what can be true of any, and what must follow from
// its other fields.
func (r Result) check(p Plan) error {
	switch {
	case r.Schema != Schema:
		return form.Unwanted("schema", r.Schema, "%d", Schema)
	case r.ToolVersion != p.ToolVersion:
		return form.Unwanted("tool_version", r.ToolVersion, "%q as in the plan", p.ToolVersion)
	}
	for name, value := range map[string]string{"plan_sha256": r.PlanSHA256, "raw_sha256": r.RawSHA256, "trials_sha256": r.TrialsSHA256} {
		if err := form.CheckHash(name, value); err != nil {
			return err
		}
	}
	for name, a := range r.Arms {
		if name != Reference && name != Candidate {
			return form.Unwanted("arms", name, "%q and %q", Reference, Candidate)
		}
		if !slices.Contains(armKinds, a.Kind) || !slices.Contains([]string{RestartRound, RestartRun, RestartNever}, a.Restart) {
			return form.Unwanted("arms."+name, a.Kind+", restarted "+a.Restart, "one of %q, restarted round, run or never", armKinds)
		}
		if (a.Kind == armURL) != (len(a.Command) == 0) {
			return form.Unwanted("arms."+name+".command", a.Command, "what started the server, and none of a url arm")
		}
		if asked := p.arm(name); a.Spec != asked.Spec || !maps.Equal(a.Options, asked.Options) {
			return form.Unwanted("arms."+name, fmt.Sprintf("%s with %v", a.Spec, a.Options), "%s with %v as in the plan", asked.Spec, asked.Options)
		}
		for i, s := range a.Sources {
			if err := form.CheckHash(fmt.Sprintf("arms.%s.sources[%d].sha256", name, i), s.SHA256); err != nil {
				return err
			}
		}
	}
	if err := r.checkShards(p); err != nil {
		return err
	}
	if r.Verdict.Failure == "" && len(r.Arms) != 2 {
		return form.Unwanted("arms", fmt.Sprintf("%d of them", len(r.Arms)), "both in a complete run")
	}
	return sameRecord(r.Verdict, r.decided())
}

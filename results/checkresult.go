package results

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
)

// check holds what stands in a result against the plan and against itself. It
// does not recompute figures: that takes the trials, see Verify.
func (r Result) check(p Plan) error {
	if p.Kind == KindAnytime && r.Verdict.Status == StatusVerified {
		if r.Rounds < 1 || r.Rounds > p.Rounds {
			return unwanted("rounds", r.Rounds, "1 to %d, which the plan allows", p.Rounds)
		}
		p = p.UpTo(r.Rounds)
	}
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"schema", r.Schema, p.Schema},
		{"tool_version", r.ToolVersion, p.ToolVersion},
		{"transport", r.Transport, p.Transport},
		{"rounds", r.Rounds, p.Rounds},
		{"repetitions", r.Repetitions, p.Repetitions},
	} {
		if f.got != f.want {
			return unwanted(f.name, f.got, "%v as in the plan", f.want)
		}
	}
	if err := checkHash("plan_sha256", r.PlanSHA256); err != nil {
		return err
	}
	if err := checkHash("raw_sha256", r.RawSHA256); err != nil {
		return err
	}
	if err := r.Verdict.check(); err != nil {
		return err
	}
	if err := r.checkDecision(p); err != nil {
		return err
	}
	if err := r.checkArms(p); err != nil {
		return err
	}
	if r.Environment.StartedAt.IsZero() || r.Environment.EndedAt.IsZero() {
		return fmt.Errorf("environment.started_at is %v and ended_at %v, want two times", r.Environment.StartedAt, r.Environment.EndedAt)
	}
	return r.checkRows(p)
}

// checkRows: a verified run has the rows of its plan and a summary; no other
// run has a summary.
func (r Result) checkRows(p Plan) error {
	if r.Verdict.Status != StatusVerified {
		if n := len(r.Summary) + len(r.Control); n != 0 {
			return unwanted("summary and control", fmt.Sprintf("%d rows", n), "none in a run with status %s", r.Verdict.Status)
		}
		return nil
	}
	rows := len(p.Counts) * len(p.Metadata) * len(Metrics)
	control := 0
	if p.Control != nil {
		control = rows
	}
	for _, f := range []struct {
		name      string
		got, want int
	}{
		{"verified_rows", r.VerifiedRows, p.RowsPerRun},
		{"fence_rows", r.FenceRows, p.FencePerRun},
		{"warmup_rows", r.WarmupRows, p.WarmupRows()},
		{"full_rows", r.FullRows, p.FullRows},
		{"the number of summary rows", len(r.Summary), rows},
		{"the number of control rows", len(r.Control), control},
	} {
		if f.got != f.want {
			return unwanted(f.name, f.got, "%d by the plan", f.want)
		}
	}
	return nil
}

func (v Verdict) check() error {
	switch v.Status {
	case StatusVerified:
		if v.Failure != nil {
			return unwanted("verdict.failure", v.Failure.Message, "none in a verified run")
		}
	case StatusInvalid, StatusIncomplete:
		if v.Failure == nil || v.Failure.Message == "" {
			return fmt.Errorf("verdict.failure has no message, want what made the run %s", v.Status)
		}
	default:
		return unwanted("verdict.status", v.Status, "%q, %q or %q", StatusVerified, StatusIncomplete, StatusInvalid)
	}
	if !slices.Contains(Decisions, v.Decision) {
		return unwanted("verdict.decision", v.Decision, "one of %q", Decisions)
	}
	return nil
}

// checkArms: a verified run has every arm; another one has those that had said
// who they are before it ended.
func (r Result) checkArms(p Plan) error {
	for name := range r.Arms {
		if !slices.Contains(p.Arms(), name) {
			return unwanted("arms", name, "those of the plan, %q", p.Arms())
		}
	}
	for _, name := range p.Arms() {
		a, ok := r.Arms[name]
		if !ok && r.Verdict.Status != StatusVerified {
			continue
		}
		if !ok {
			return fmt.Errorf("arms has no %s", name)
		}
		plan := p.Of(name)
		if err := errors.Join(a.check(plan.Spec), a.checkTree(), a.checkLayouts(plan)); err != nil {
			return fmt.Errorf("arms.%s: %w", name, err)
		}
	}
	if p.Control != nil && r.Verdict.Status == StatusVerified && !reflect.DeepEqual(r.Arms[Control], r.Arms[Reference]) {
		return errors.New("arms.control differs from arms.reference, want the same program under the same options")
	}
	return nil
}

func (a Arm) check(spec string) error {
	if a.Spec != spec {
		return unwanted("spec", a.Spec, "%q as in the plan", spec)
	}
	seen := map[string]bool{}
	for _, s := range a.Sources {
		if !portablePath(s.Path) || seen[s.Path] {
			return unwanted("the path of a source", s.Path, "a path relative to the tree, once, with slashes")
		}
		seen[s.Path] = true
		if err := checkHash("the sha256 of "+s.Path, s.SHA256); err != nil {
			return err
		}
	}
	for i, h := range a.BinarySHA256 {
		if err := checkHash(fmt.Sprintf("binary_sha256[%d]", i), h); err != nil {
			return err
		}
	}
	if a.ControllerSHA256 != "" {
		return checkHash("controller_sha256", a.ControllerSHA256)
	}
	return nil
}

// portablePath reports whether s stays below the folder it is relative to.
func portablePath(s string) bool {
	return s != "" && s == path.Clean(s) && s != "." && s != ".." &&
		!strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "../") && !strings.ContainsAny(s, "\\\x00")
}

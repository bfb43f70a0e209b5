package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// decided is the verdict with the decision that follows from the analysis and from
// what the arms are. A run of a plan without a family decides nothing, nor does one
// with an arm whose figures are descriptive.
func (r Result) decided() Verdict {
	v := r.Verdict
	v.Decision, v.Reason = DecisionNone, ""
	descriptive := r.descriptive()
	switch {
	case r.Analysis == nil:
	case descriptive != "":
		v.Reason = descriptive + "; by its trials the run would be " + r.Analysis.Decision
	case r.Arms[Reference].SameAs(r.Arms[Candidate]):
		v.Decision = DecisionIdentical
		v.Reason = "both arms executed the same files with the same options and dependencies"
		if revision := r.Arms[Reference].Revision; revision != "" && revision == r.Arms[Candidate].Revision {
			v.Reason += " (revision " + revision + ")"
		}
		v.Reason += "; by its trials the run would be " + r.Analysis.Decision
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
// hashes of executables and sources, of which there must be some. What an arm with
// a controller of its own says is all that it wants to say, so that its command
// must be the same too.
func (a Arm) SameAs(b Arm) bool {
	if len(a.BinarySHA256)+len(a.Sources) == 0 || a.OwnClock && a.Spec != b.Spec {
		return false
	}
	return slices.Equal(slices.Sorted(slices.Values(a.BinarySHA256)), slices.Sorted(slices.Values(b.BinarySHA256))) &&
		slices.Equal(a.Sources, b.Sources) && slices.Equal(a.Layouts, b.Layouts) && len(a.Layouts) == 0 &&
		a.Runtime == b.Runtime && a.Strategy == b.Strategy && a.ZMQ == b.ZMQ && a.OwnClock == b.OwnClock &&
		maps.Equal(a.Options, b.Options) && maps.Equal(a.Packages, b.Packages)
}

// checkDecision: a run has an analysis exactly when it is verified and its plan has
// a family, and its decision is the one that follows.
func (r Result) checkDecision(p Plan) error {
	wanted := len(p.Primary) > 0 && r.Verdict.Status == StatusVerified
	switch {
	case wanted && r.Analysis == nil:
		return errors.New("analysis is absent, want one of the plan's family")
	case !wanted && r.Analysis != nil:
		return unwanted("analysis.decision", r.Analysis.Decision, "no analysis without a family, or in a run that is %s", r.Verdict.Status)
	}
	if want := r.decided(); r.Verdict.Decision != want.Decision || r.Verdict.Reason != want.Reason {
		return unwanted("verdict.decision", r.Verdict.Decision+": "+r.Verdict.Reason, "%q", want.Decision+": "+want.Reason)
	}
	return nil
}

// sameAnalysis compares an analysis with the one that was recomputed, by what is
// written of each, and names the first field that differs.
func sameAnalysis(got, want *Analysis) error {
	if (got == nil) != (want == nil) {
		return fmt.Errorf("analysis is there: %v, recomputed: %v", got != nil, want != nil)
	}
	if want == nil {
		return nil
	}
	for i, g := range got.Primary {
		if i < len(want.Primary) {
			if err := sameField("analysis.primary "+want.Primary[i].member().String(), g, want.Primary[i]); err != nil {
				return err
			}
		}
	}
	g, w := reflect.ValueOf(*got), reflect.ValueOf(*want)
	for i := range w.NumField() {
		if err := sameField("analysis."+w.Type().Field(i).Tag.Get("json"), g.Field(i).Interface(), w.Field(i).Interface()); err != nil {
			return err
		}
	}
	return nil
}

func sameField(name string, got, want any) error {
	a, err := json.Marshal(got)
	if err != nil {
		return err
	}
	b, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if string(a) != string(b) {
		return fmt.Errorf("%s is %s, recomputed %s", name, shortened(string(a)), shortened(string(b)))
	}
	return nil
}

func (a PrimaryAnalysis) member() Primary { return Primary{a.Count, a.Metadata, a.Metric, a.Role} }

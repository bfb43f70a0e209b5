package driver

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/sglang"
	"github.com/fanoutbench/fanoutbench/results"
)

// compare holds what the arms say of themselves against each other, once, before
// the first trial.
func (d *driver) compare() error {
	reference, candidate := d.about[results.Reference], d.about[results.Candidate]
	if control, ok := d.about[results.Control]; ok {
		if err := same(control, reference, "in the reference"); err != nil {
			err = fmt.Errorf("the control is another program than the reference: %w", err)
			return &located{err: err, arm: results.Control, slot: results.Slot{Round: -1}}
		}
	}
	for _, name := range []string{results.Reference, results.Candidate} {
		if why := d.about[name].Descriptive; why != "" {
			d.warnings = append(d.warnings, fmt.Sprintf("figures of the %s are descriptive and decide nothing: %s", name, why))
		}
	}
	if w := d.sameWarning(reference, candidate); w != "" {
		d.warnings = append(d.warnings, w)
	}
	if !isSGLang(reference) || !isSGLang(candidate) {
		return nil
	}
	differ := packagesThatDiffer(reference.Packages, candidate.Packages)
	switch {
	case len(differ) == 0:
		return nil
	case d.conf.AnyPackages:
		d.warnings = append(d.warnings, "the arms ran with different packages: "+strings.Join(differ, "; "))
		return nil
	}
	return fmt.Errorf("the arms would run with different packages, so that their difference would be that of the packages too: %s; give both the same interpreter (--python), or allow it with --allow-different-packages", strings.Join(differ, "; "))
}

func isSGLang(a results.Arm) bool {
	name, _, _ := strings.Cut(a.Runtime, " ")
	return name == sglang.Runtime
}

// packagesThatDiffer names each package that both have, with its two versions: the
// worker of a cross arm has some that the tree lacks. That of the tree itself is
// what is compared, should an arm count it among its packages.
func packagesThatDiffer(reference, candidate map[string]string) (differ []string) {
	for _, name := range slices.Sorted(maps.Keys(reference)) {
		r := reference[name]
		if c, ok := candidate[name]; ok && r != c && name != sglang.Runtime {
			differ = append(differ, fmt.Sprintf("%s is %s in the reference and %s in the candidate", name, r, c))
		}
	}
	return differ
}

// sameWarning says, where the decision will not, that the arms are the same. A
// decision is identical where both execute the same files in the same way; without
// a family there is none, and one revision can be linked in several layouts, or run
// with other packages.
func (d *driver) sameWarning(reference, candidate results.Arm) string {
	commit := sameTree(reference, candidate)
	switch same := reference.SameAs(candidate); {
	case same && len(d.plan.Primary) > 0:
		return ""
	case same:
		return "both arms are the same: files, options and dependencies" + revisionOf(reference)
	case commit != "":
		return "both arms are the same revision, " + commit + ", with the same options"
	}
	return ""
}

func revisionOf(a results.Arm) string {
	if a.Revision == "" {
		return ""
	}
	return " (revision " + a.Revision + ")"
}

// sameTree is the commit that both arms are, "" if they differ in anything that was
// asked for.
func sameTree(a, b results.Arm) string {
	if a.Revision == "" || a.Revision != b.Revision || a.Modified != "false" || b.Modified != "false" ||
		a.Strategy != b.Strategy || !maps.Equal(a.Options, b.Options) {
		return ""
	}
	return a.Revision
}

// asTree adds to the record of an SGLang tree where it comes from, and the script
// that runs it.
func asTree(a arm.Arm, about *results.Arm) error {
	if a.SGLang == nil {
		return nil
	}
	if !isSGLang(*about) {
		return fmt.Errorf("receipt: runtime %q, want %s", about.Runtime, sglang.Runtime)
	}
	about.ControllerSHA256 = sglang.ScriptSHA256()
	about.Revision, about.Modified, about.Patch = a.SGLang.Revision, a.SGLang.Modified, a.SGLang.Patch
	if a.WorkerSHA256 != "" && !slices.Contains(about.BinarySHA256, a.WorkerSHA256) {
		about.BinarySHA256 = append(about.BinarySHA256, a.WorkerSHA256)
	}
	return nil
}

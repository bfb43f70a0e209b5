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

// compare holds what both arms say of themselves against each other, once, before
// the first trial.
func (d *driver) compare() error {
	reference, candidate := d.about[results.Reference], d.about[results.Candidate]
	for _, name := range slices.Sorted(maps.Keys(d.about)) {
		if why := d.about[name].Descriptive; why != "" {
			d.warnings = append(d.warnings, fmt.Sprintf("figures of the %s are descriptive and decide nothing: %s", name, why))
		}
	}
	if commit := sameTree(reference, candidate); commit != "" {
		d.warnings = append(d.warnings, "both arms are the same revision, "+commit+", with the same options")
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

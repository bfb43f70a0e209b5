package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Merge reads the run folders and says what they mean together. Their names in
// the outcome are relative to the folder that all of them share.
func Merge(dirs []string) (*Merged, error) {
	_, names, err := below(dirs)
	if err != nil {
		return nil, fmt.Errorf("results: merge: %w", err)
	}
	m, err := mergeFolders(dirs, names)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	return m, nil
}

func mergeFolders(dirs, names []string) (*Merged, error) {
	runs := make([]member, len(dirs))
	for i, dir := range dirs {
		f, err := read(dir)
		if err != nil {
			return nil, fmt.Errorf("merge: run folder %s: %w", names[i], err)
		}
		runs[i] = member{folder: f, name: names[i]}
		if runs[i].result, err = HashFile(filepath.Join(dir, ResultFile)); err != nil {
			return nil, err
		}
	}
	return merge(runs)
}

// below is the folder that all folders share, and where each lies below it.
func below(dirs []string) (base string, names []string, err error) {
	var all []string
	for _, dir := range dirs {
		whole, err := filepath.Abs(dir)
		if err != nil {
			return "", nil, err
		}
		if slices.Contains(all, whole) {
			return "", nil, fmt.Errorf("run folder %s is given twice, want each run once", dir)
		}
		all = append(all, whole)
	}
	for i, whole := range all {
		if up := filepath.Dir(whole); i == 0 {
			base = up
		}
		for !strings.HasPrefix(whole, strings.TrimSuffix(base, "/")+"/") {
			base = filepath.Dir(base)
		}
	}
	for _, whole := range all {
		name, err := filepath.Rel(base, whole)
		if err != nil {
			return "", nil, err
		}
		names = append(names, filepath.ToSlash(name))
	}
	return base, names, nil
}

// WriteMerged makes the folder dir with merged.json in it.
func WriteMerged(dir string, m *Merged) error {
	b, err := encodeFile(m)
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return fmt.Errorf("results: %s: %w", MergedFile, err)
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o755); err != nil {
		return fmt.Errorf("results: the folder above %s: %w", dir, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("results: folder for %s: %w", MergedFile, err)
	}
	if err := replace(filepath.Join(dir, MergedFile), b); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// ReadMerged reads merged.json of a folder.
func ReadMerged(dir string) (*Merged, error) {
	b, err := readFile(dir, MergedFile, MaxMerged)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	m, err := parseMerged(b)
	if err != nil {
		return nil, fmt.Errorf("results: %s: %w", filepath.Join(dir, MergedFile), err)
	}
	return m, nil
}

func parseMerged(b []byte) (*Merged, error) {
	var m Merged
	if err := decode(b, &m, encodeFile); err != nil {
		return nil, err
	}
	return &m, m.check()
}

// verifyMerged checks a merged file against the runs that it names: each must be
// there, verify, and have the hashes named, and all must come to the same again.
// They are looked for below runs; without it beside the file, and beside its folder.
func (v *verifier) verifyMerged() {
	m, err := ReadMerged(v.dir)
	v.check(MergedFile, err, "in form")
	if err != nil {
		return
	}
	base := m.base(v.dir, v.opt.Runs)
	var dirs, names []string
	for _, r := range m.Runs {
		dir := filepath.Join(base, filepath.FromSlash(r.Name))
		dirs, names = append(dirs, dir), append(names, r.Name)
		err := r.verify(dir)
		v.check("run "+r.Name, err, "verifies, and has the hashes named")
	}
	again, err := mergeFolders(dirs, names)
	if err == nil {
		err = errors.Join(asErrors(differing(*m, *again))...)
	}
	v.check("merged figures", err, "recomputed from %d runs: %s", len(m.Runs), m.Decision)
}

func asErrors(found []string) (errs []error) {
	for _, f := range found {
		errs = append(errs, fmt.Errorf("in the file and recomputed %s", f))
	}
	return errs
}

// base is the folder that the runs' names are relative to.
func (m *Merged) base(dir, given string) string {
	if given != "" {
		return given
	}
	if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(m.Runs[0].Name))); err == nil {
		return dir
	}
	return filepath.Join(dir, "..")
}

func (r MergedRun) verify(dir string) error {
	checks, err := Verify(dir, VerifyOptions{})
	if err != nil {
		return err
	}
	for _, c := range checks {
		if !c.OK {
			return fmt.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
	for _, f := range []struct{ name, want string }{{PlanFile, r.PlanSHA256}, {RawFile, r.RawSHA256}, {ResultFile, r.ResultSHA256}} {
		got, err := HashFile(filepath.Join(dir, f.name))
		if err != nil {
			return err
		}
		if got != f.want {
			return unwanted("the sha256 of "+f.name, got, "%s as in %s", f.want, MergedFile)
		}
	}
	return nil
}

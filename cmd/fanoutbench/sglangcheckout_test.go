package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
)

// makeRepo makes a repository with one empty commit, on main.
func makeRepo(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "init", "-q", "-b", "main")
	gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "zero")
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// sglangCheckout is a checkout with a tree in python/, on a branch one commit ahead
// of main.
func sglangCheckout(t *testing.T) (dir, main, topic string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "ein Baum für alle")
	makeRepo(t, dir)
	commit := func(version string) string {
		writeTree(t, filepath.Join(dir, "python"), version)
		gitIn(t, dir, "add", "--all")
		gitIn(t, dir, "commit", "-q", "-m", version)
		return gitIn(t, dir, "rev-parse", "HEAD")
	}
	main = commit("1")
	gitIn(t, dir, "checkout", "-q", "-b", "topic")
	return dir, main, commit("2")
}

// in is measure with no arms, below a checkout.
func (p *program) in(dir string) *program {
	p.cmd.Dir = dir
	p.cmd.Env = append(p.cmd.Env, "XDG_CACHE_HOME="+filepath.Join(p.dir, "cache"))
	return p
}

// Inside an SGLang checkout the program alone compares the merge base with the
// working tree, uncommitted changes and all, and touches nothing there.
func TestSGLangAlone(t *testing.T) {
	t.Parallel()
	dir, main, topic := sglangCheckout(t)
	python := interpreter(t, "")
	writeTree(t, filepath.Join(dir, "python"), "3")
	// A file that was touched and not changed: git would write that down.
	touched := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "python", "sglang", "__init__.py"), touched, touched); err != nil {
		t.Fatal(err)
	}
	before, err := stateOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"--candidate", "."}, {"--reference", "main"}} {
		at := filepath.Join(dir, "python", "sglang")
		if len(args) > 0 && args[0] == "--candidate" {
			at = dir
		}
		p := measure(t, []string{"VIRTUAL_ENV=" + venvOf(t, python)}, args...).in(at)
		p.run(exitOK)
		reference, candidate := p.folder().Result.Arms[results.Reference], p.folder().Result.Arms[results.Candidate]
		if reference.Revision != main || reference.Modified != "false" || reference.Runtime != "sglang 1" {
			t.Errorf("%q: reference %+v", args, reference)
		}
		if candidate.Revision != topic || candidate.Modified != "true" || candidate.Runtime != "sglang 3" || !strings.Contains(candidate.Patch, `+version = "3"`) {
			t.Errorf("%q: candidate %+v", args, candidate)
		}
		if want := map[bool]string{true: "git:main", false: "git:" + main}[slices.Contains(args, "--reference")]; reference.Spec != want {
			t.Errorf("%q: reference %q, want %q", args, reference.Spec, want)
		}
		trees := filepath.Join(p.dir, "cache", "fanoutbench", "trees", main, "python")
		newProgram(t, nil, "verify", p.output, "--reference-tree", trees).run(exitOK)
	}
	if after, err := stateOf(dir); err != nil || !slices.Equal(after, before) {
		t.Errorf("%v; the checkout was touched:\nbefore %q\nafter  %q", err, before, after)
	}
}

// A clean checkout whose merge base is where it stands is compared with itself: that
// is said, before and after.
func TestSameRevision(t *testing.T) {
	t.Parallel()
	dir, main, _ := sglangCheckout(t)
	gitIn(t, dir, "checkout", "-q", "main")
	p := measure(t, nil, "--python", interpreter(t, "")).in(dir)
	p.run(exitOK)
	p.has("stderr", p.stderr.String(), "note: both arms are the same revision, "+main)
	v := p.folder().Result.Verdict
	if v.Decision != results.DecisionIdentical || !strings.Contains(v.Reason, "(revision "+main+")") || len(v.Warnings) > 0 {
		t.Errorf("verdict %+v, want identical, named with its revision and not once more in a warning", v)
	}
	p = measure(t, nil, "--python", interpreter(t, ""), "--primary", "none").in(dir)
	p.run(exitOK)
	p.has("stdout", p.stdout.String(), "decision none", "warning", "both arms are the same: files, options and dependencies (revision "+main+")")
	p = measure(t, nil, "--python", interpreter(t, ""), "--candidate-set", "env.A=1").in(dir)
	p.run(exitOK)
	if strings.Contains(p.stderr.String()+p.stdout.String(), "same revision") {
		t.Errorf("it says so of arms with other options: %s%s", &p.stderr, &p.stdout)
	}
}

// A dry run says what would run, and makes nothing.
func TestDryRunOfSGLang(t *testing.T) {
	t.Parallel()
	dir, main, topic := sglangCheckout(t)
	python := interpreter(t, "")
	p := measure(t, nil, "--dry-run", "--python", python).in(dir)
	p.run(exitOK)
	p.has("stdout", p.stdout.String(), "reference: git:"+main, "tree: commit "+main, "folder python", "candidate: dir:.", filepath.Join(dir, "python")+", revision "+topic,
		"interpreter: "+python+", Python 3.12.3", `"start_timeout_ms": 180000`)
	if fileExists(filepath.Join(p.dir, "cache")) {
		t.Error("a dry run made a cache")
	}
}

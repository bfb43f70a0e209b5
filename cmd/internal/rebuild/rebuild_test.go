package rebuild

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/tree"
	"github.com/fanoutbench/fanoutbench/results"
)

// repository is one of this module whose program does nothing.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                  "module " + results.Module + "\n\ngo 1.26\n",
		"cmd/fanoutbench/main.go": "package main\n\nfunc main() {}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "--all"}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	return dir
}

// Executables come out the same, or are refused; with another toolchain they are
// not compared.
func TestExecutables(t *testing.T) {
	repo := repository(t)
	ownCache(t)
	cache, err := tree.Cache()
	if err != nil {
		t.Fatal(err)
	}
	at, err := tree.AtRevision(t.Context(), repo, "main")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := at.Build(t.Context(), cache, []int64{5, 6})
	if err != nil {
		t.Fatal(err)
	}
	b, err := build(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	toolchain := map[string]string{"go": goVersion(t)}
	other := strings.Repeat("0", 64)
	var layouts, wrong []results.Layout
	for _, w := range pool.Workers {
		layouts = append(layouts, results.Layout{Seed: w.Seed, SHA256: w.SHA256})
		wrong = append(wrong, results.Layout{Seed: w.Seed, SHA256: other})
	}
	for _, c := range []struct {
		name  string
		about results.Arm
		want  string
	}{
		{"the same", results.Arm{Packages: toolchain, BinarySHA256: []string{other, b.Workers[0].SHA256}}, "the executable is the same"},
		{"another", results.Arm{Packages: toolchain, BinarySHA256: []string{other}}, "comes out with sha256 " + b.Workers[0].SHA256},
		{"another toolchain", results.Arm{Packages: map[string]string{"go": "go1.2"}, BinarySHA256: []string{other}}, "executables not compared: go1.2 built the run's"},
		{"layouts", results.Arm{Packages: toolchain, Layouts: layouts}, "all 2 layouts are the same"},
		{"other layouts", results.Arm{Packages: toolchain, Layouts: wrong}, "layout 1 (seed 6) comes out with sha256 " + pool.Workers[1].SHA256},
	} {
		r := &Rebuilder{Repo: repo}
		one, err := r.executable(c.about, b)
		two, more := r.layouts(t.Context(), at, c.about, b)
		got := one + two
		for _, e := range []error{err, more} {
			if e != nil {
				got = e.Error()
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %q", c.name, got, c.want)
		}
	}
}

// ownCache keeps trees out of the user's cache. The go command's own stays where it
// is: it would be below, and empty.
func ownCache(t *testing.T) {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(out)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

func goVersion(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOVERSION").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func folder(spec string, about results.Arm, e results.Environment) *results.Folder {
	return &results.Folder{
		Plan:   results.Plan{Reference: results.ArmPlan{Spec: spec}},
		Result: results.Result{Arms: map[string]results.Arm{results.Reference: about}, Environment: e},
	}
}

// What the record lacks is named before anything is built.
func TestRecordLacks(t *testing.T) {
	repo := repository(t)
	ownCache(t)
	const gone = "0123456789012345678901234567890123456789"
	for _, c := range []struct {
		name  string
		spec  string
		about results.Arm
		env   results.Environment
		given string
		want  string
	}{
		{"no git", "dir:.", results.Arm{Runtime: "fanoutbench (devel)"}, results.Environment{}, "", "the record names no revision"},
		{"no environment", "builtin:splice", results.Arm{}, results.Environment{}, "", "names no revision of the program"},
		{"gone", "git:main", results.Arm{Revision: gone}, results.Environment{}, "", `no revision "` + gone + `"`},
		{"program gone", "builtin:splice", results.Arm{}, results.Environment{Revision: gone}, "", `the program: no revision "` + gone + `"`},
		{"long patch", "dir:.", results.Arm{Revision: gone, Modified: "true", Patch: results.PatchNotKept + " the patch has 9 bytes"}, results.Environment{}, "", "an uncommitted patch that the record does not have"},
		{"no patch", "dir:.", results.Arm{Revision: gone, Modified: "true"}, results.Environment{}, "", "uncommitted changes, and the record has no patch"},
		{"patch of the program", "builtin:splice", results.Arm{}, results.Environment{Revision: gone, Modified: "true"}, "", "the program"},
		{"place", "exec:python3 $TREE/arm.py", results.Arm{}, results.Environment{}, "", "does not say which folder $TREE was"},
		{"other command", "git:main", results.Arm{}, results.Environment{}, "exec:true", "only the command of an exec arm can be another"},
		{"no SGLang", "git:main", results.Arm{Runtime: "sglang 0.5", Modified: "true"}, results.Environment{}, "", "the record names no revision"},
		{"other files", "git:main", results.Arm{Revision: "main", Sources: []results.Source{{Path: "go.mod", SHA256: gone}}}, results.Environment{}, "", "does not have the files that the run had: "},
	} {
		r := Rebuilder{Run: folder(c.spec, c.about, c.env), Repo: repo, Specs: map[string]string{}}
		if c.given != "" {
			r.Specs[results.Reference] = c.given
		}
		_, err := r.Arm(t.Context(), results.Reference)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

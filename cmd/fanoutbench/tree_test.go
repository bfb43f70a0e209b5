package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// history is a repository made of this tree's own files, shared by the tests
// below, which only read it, and removed when all have run. Each revision's worker names itself among its
// packages: "one" on main, "two" on topic, and "three" in the working tree, which
// stands at topic with that change uncommitted. The branch foreign has a worker of
// another wire version, the branch broken does not compile.
type history struct {
	repo        string
	cache       string   // XDG_CACHE_HOME of all programs
	env         []string // of the programs, offline
	main, topic string   // commits
	state       []string
}

const stampKey = "stamp"

var theHistory = sync.OnceValues(makeHistory)

// scratch is where it lies.
var scratch struct {
	sync.Mutex
	dir string
}

func removeScratch() error {
	scratch.Lock()
	defer scratch.Unlock()
	if scratch.dir == "" {
		return nil
	}
	return os.RemoveAll(scratch.dir)
}

// newHistory is the repository, not yet touched by any test.
func newHistory(t *testing.T) *history {
	t.Helper()
	h, err := theHistory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if after, err := stateOf(h.repo); err != nil || !slices.Equal(after, h.state) {
			t.Errorf("%v; the tree or its repository was touched:\nbefore %q\nafter  %q", err, h.state, after)
		}
	})
	return h
}

func makeHistory() (*history, error) {
	dir, err := os.MkdirTemp("", "fbh")
	if err != nil {
		return nil, err
	}
	scratch.Lock()
	scratch.dir = dir
	scratch.Unlock()
	h := &history{repo: filepath.Join(dir, "ein Baum für alle"), cache: filepath.Join(dir, "cache")}
	out, err := exec.Command("go", "env", "GOCACHE").Output() // it would be below XDG_CACHE_HOME
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	h.env = []string{"XDG_CACHE_HOME=" + h.cache, "GOCACHE=" + strings.TrimSpace(string(out)), "GOPROXY=off", "GOFLAGS=-mod=mod"}
	err = errors.Join(h.copyTree(), h.commits())
	if err == nil {
		h.state, err = stateOf(h.repo)
	}
	return h, err
}

// copyTree copies what the programs of this tree are made from.
func (h *history) copyTree() error {
	root := results.ModuleRoot(".")
	sources, err := results.TreeSources(root)
	if err != nil || len(sources) == 0 {
		return fmt.Errorf("%d sources, %w", len(sources), err)
	}
	for _, s := range sources {
		b, err := os.ReadFile(filepath.Join(root, s.Path))
		to := filepath.Join(h.repo, s.Path)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, b, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

func (h *history) commits() (err error) {
	const wire, describe = "protocol/worker.go", "cmd/internal/worker/describe.go"
	stamp := func(word string) error {
		return h.replace(describe, `map\[string\]string\{("stamp": "\w+", )?"go"`, fmt.Sprintf(`map[string]string{%q: %q, "go"`, stampKey, word))
	}
	step := func(f func() error) {
		if err == nil {
			err = f()
		}
	}
	git := func(args ...string) { step(func() error { _, err := h.git(args...); return err }) }
	git("init", "-q", "-b", "main")
	step(func() error { return stamp("one") })
	git("add", "--all")
	git("commit", "-q", "-m", "one")
	for branch, version := range map[string]string{"broken": "no + such", "foreign": "99"} {
		git("checkout", "-q", "-b", branch, "main")
		step(func() error { return h.replace(wire, `const WireVersion = \d+`, "const WireVersion = "+version) })
		git("commit", "-q", "-a", "-m", branch)
	}
	git("checkout", "-q", "-b", "topic", "main")
	step(func() error { return stamp("two") })
	git("commit", "-q", "-a", "-m", "two")
	step(func() error { h.main, err = h.git("rev-parse", "main"); return err })
	step(func() error { h.topic, err = h.git("rev-parse", "topic"); return err })
	step(func() error { return stamp("three") })
	return err
}

// replace changes the one place of a file that matches.
func (h *history) replace(name, pattern, by string) error {
	path := filepath.Join(h.repo, name)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	places := regexp.MustCompile(pattern)
	if n := len(places.FindAll(b, -1)); n != 1 {
		return fmt.Errorf("%s has %d places that match %s, want 1", name, n, pattern)
	}
	return os.WriteFile(path, places.ReplaceAllLiteral(b, []byte(by)), 0o644)
}

func (h *history) git(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Dir = h.repo
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %q: %w: %s", args, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// stateOf is every file of the tree and its repository with mode, size and time
// of change.
func stateOf(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil {
			files = append(files, fmt.Sprintf("%s %v %d %v", path, st.Mode(), st.Size(), st.ModTime()))
		}
		return err
	})
	return files, err
}

// compare is measure with the history's environment, in its working tree.
func (h *history) compare(t *testing.T, args ...string) *program {
	t.Helper()
	p := measure(t, h.env, append(args, "--counts", "1")...)
	p.cmd.Dir = h.repo
	return p
}

// ran holds what is recorded of an arm against what it must have been built from.
func (p *program) ran(name string, want results.Arm, stamp string) results.Arm {
	p.t.Helper()
	got := p.folder().Result.Arms[name]
	if got.Spec != want.Spec || got.Strategy != want.Strategy || got.Revision != want.Revision || got.Modified != want.Modified || got.Packages[stampKey] != stamp {
		p.t.Errorf("%s: spec %q, strategy %q, revision %q, modified %q, stamp %q; want %+v with stamp %q", name, got.Spec, got.Strategy, got.Revision, got.Modified, got.Packages[stampKey], want, stamp)
	}
	if got.OwnClock || len(got.BinarySHA256) < 2 || (got.Patch != "") != (got.Modified == "true") {
		p.t.Errorf("%s: own clock %v, binaries %q, patch %q", name, got.OwnClock, got.BinarySHA256, got.Patch)
	}
	return got
}

// Two revisions of this repository, compared from outside it.
func TestTwoRevisions(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := h.compare(t, "--repo", h.repo, "--reference", "git:main", "--candidate", "git:topic", "--set", "strategy=grouped", "--set", "zmq=zmtp")
	p.cmd.Dir = p.dir
	p.run(exitOK)
	reference := p.ran(results.Reference, results.Arm{Spec: "git:main", Strategy: "grouped", Revision: h.main, Modified: "false"}, "one")
	candidate := p.ran(results.Candidate, results.Arm{Spec: "git:topic", Strategy: "grouped", Revision: h.topic, Modified: "false"}, "two")
	if a, b := reference.BinarySHA256, candidate.BinarySHA256; a[0] != b[0] || a[1] == b[1] {
		t.Errorf("binaries %q and %q, want one controller and two workers", a, b)
	}
	var differ []string
	for i, s := range reference.Sources {
		if s != candidate.Sources[i] {
			differ = append(differ, s.Path)
		}
	}
	if len(differ) != 1 || differ[0] != "cmd/internal/worker/describe.go" {
		t.Errorf("sources that differ: %q", differ)
	}
	if asked := p.folder().Plan.Candidate.Options; asked["strategy"] != "grouped" || asked["zmq"] != "zmtp" {
		t.Errorf("the plan's options %v", asked)
	}
	newProgram(t, nil, "verify", p.output).run(exitOK)
	trees := filepath.Join(h.cache, "fanoutbench", "trees")
	one, two := filepath.Join(trees, h.main), filepath.Join(trees, h.topic)
	newProgram(t, nil, "verify", p.output, "--reference-tree", one, "--candidate-tree", two).run(exitOK)
	newProgram(t, nil, "verify", p.output, "--reference-tree", two, "--candidate-tree", one).run(exitInvalid)
	if list, err := h.git("worktree", "list"); err != nil || strings.Contains(list, "\n") {
		t.Errorf("worktrees: %s, %v", list, err)
	}
}

// A folder given alone is compared with where its branch left main, uncommitted
// changes and all.
func TestFolderAlone(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := h.compare(t, "--candidate", ".")
	p.run(exitOK)
	p.ran(results.Reference, results.Arm{Spec: "git:" + h.main, Strategy: "splice", Revision: h.main, Modified: "false"}, "one")
	candidate := p.ran(results.Candidate, results.Arm{Spec: "dir:.", Strategy: "splice", Revision: h.topic, Modified: "true"}, "three")
	p.has("patch", candidate.Patch, `-	p := map[string]string{"stamp": "two"`, `+	p := map[string]string{"stamp": "three"`)
	p.has("stderr", p.stderr.String(), "building reference: git:"+h.main+", the merge base with refs/heads/main", "building candidate: dir:.")
	p.has("stdout", p.stdout.String(), "revision "+h.topic+" with uncommitted changes")
}

// In each round a layout that the plan has drawn runs, also of the built-in
// worker, and only those of the pool.
func TestLayouts(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := h.compare(t, "--reference", "builtin:splice", "--candidate", "git:topic", "--layouts", "2", "--process", "round", "--rounds", "4", "--control")
	p.run(exitOK)
	f := p.folder()
	pools := map[string][]results.Layout{
		results.Reference: p.ran(results.Reference, results.Arm{Spec: "builtin:splice", Strategy: "splice", Revision: h.topic, Modified: "true"}, "three").Layouts,
		results.Candidate: p.ran(results.Candidate, results.Arm{Spec: "git:topic", Strategy: "splice", Revision: h.topic, Modified: "false"}, "two").Layouts,
	}
	pools[results.Control] = pools[results.Reference]
	for name, pool := range pools {
		if len(pool) != 2 || pool[0].SHA256 == pool[1].SHA256 || pool[0].Seed == pool[1].Seed {
			t.Fatalf("%s: pool %+v", name, pool)
		}
		if drawn := f.Plan.Of(name).Layout; !slices.Contains(drawn, 0) || !slices.Contains(drawn, 1) {
			t.Errorf("seed %d draws only %v for the %s: choose another", f.Plan.Seed, drawn, name)
		}
	}
	for _, trial := range f.Trials {
		if want := f.Plan.LayoutIn(trial.Arm, trial.Round); trial.Layout == nil || *trial.Layout != *want {
			t.Errorf("%s: layout %v, want %d", trial.Slot(), trial.Layout, *want)
		}
	}
}

// What cannot be built or run ends with status 2 before anything is made.
func TestTreesThatCannotRun(t *testing.T) {
	h := newHistory(t)
	for args, want := range map[string][]string{
		"--candidate git:foreign":                          {`candidate: arm "git:foreign": its worker speaks wire version 99, want ` + fmt.Sprint(protocol.WireVersion)},
		"--candidate git:broken":                           {`candidate: arm "git:broken": does not build (exit status 1):`, "protocol/worker.go", "undefined: no", "undefined: such"},
		"--candidate topic --candidate-set strategy=quick": {`arm "git:topic": its worker has no strategy "quick", want one of per-row`},
		"--candidate git:topic --set burst=4":              {`no option "burst", a git arm has strategy, zmq`},
		"--candidate git:topic --transport pickle":         {`transport "pickle", a git arm has "msgpack" and "native"`},
		"--candidate cmd":                                  {"folder cmd has no go.mod, want the root of a checkout", "the root above it is "},
		"--reference splice --candidate git:nosuch":        {`no revision "nosuch"`},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			p := h.compare(t, strings.Fields(args)...)
			p.run(exitUsage)
			p.has("stderr", p.stderr.String(), want...)
			if fileExists(p.output) || p.stdout.Len() > 0 {
				t.Errorf("a run folder was made, or stdout written: %s", &p.stdout)
			}
		})
	}
}

// A dry run says what would be built, and builds nothing.
func TestDryRunOfTrees(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := h.compare(t, "--candidate", h.repo, "--dry-run")
	p.cmd.Env = append(p.cmd.Env, "XDG_CACHE_HOME="+filepath.Join(p.dir, "cache"))
	p.cmd.Dir = p.dir
	p.run(exitOK)
	p.has("stdout", p.stdout.String(), "reference: git:"+h.main+", options map[strategy:splice]", "worker: to be built from commit "+h.main, "worker: to be built from "+h.repo)
	if fileExists(filepath.Join(p.dir, "cache")) {
		t.Error("a dry run made a cache")
	}
}

// The protocol is played with the worker of a tree as well.
func TestCheckArmOfTree(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := newProgram(t, h.env, "check-arm", "git:topic", "--repo", h.repo, "--set", arm.OptionStrategy+"=reuse")
	p.run(exitOK)
	if text := p.stdout.String(); strings.Contains(text, "FAIL") || !strings.Contains(text, "ok    stop") {
		t.Errorf("check-arm: %s", text)
	}
}

// A cache that cannot be made is no mistake of the command line.
func TestCacheCannotBeMade(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := h.compare(t, "--candidate", "git:topic")
	file := filepath.Join(p.dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p.cmd.Env = append(p.cmd.Env, "XDG_CACHE_HOME="+file)
	p.run(exitInvalid)
	p.has("stderr", p.stderr.String(), "cache", file)
}

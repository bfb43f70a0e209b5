package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
)

// A folder is built as it lies there, with its patch, and so is a revision.
func TestBuild(t *testing.T) {
	c := newCheckout(t)
	one := c.git("rev-parse", "HEAD")
	cache := filepath.Join(t.TempDir(), "ein Lager für alle")
	clean := c.build(c.folder(), cache)
	if clean.Revision != one || clean.Modified != "false" || clean.Patch != "" {
		t.Errorf("a clean folder: %+v", clean)
	}
	c.write("cmd/fanoutbench/main.go", mainOf("two"))
	c.write("cmd/fanoutbench/new.go", "package main\n\nfunc init() { println(\"zero\") }\n")
	dirty := c.build(c.folder(), cache)
	if dirty.Revision != one || dirty.Modified != "true" || !strings.Contains(dirty.Patch, `println("two")`) || !strings.Contains(dirty.Patch, "new.go") {
		t.Errorf("a dirty folder: %+v", dirty)
	}
	old := c.build(c.revision("main"), cache)
	if old.Revision != one || old.Modified != "false" || old.Patch != "" {
		t.Errorf("a revision: %+v", old)
	}
	for name, k := range map[string]struct {
		build Build
		want  string
		files int
	}{"clean": {clean, "one", 2}, "dirty": {dirty, "zero\ntwo", 3}, "revision": {old, "one", 2}} {
		if len(k.build.Workers) != 1 || len(k.build.Sources) != k.files {
			t.Fatalf("%s: %+v", name, k.build)
		}
		w := k.build.Workers[0]
		if sum, err := results.HashFile(w.Path); sum != w.SHA256 || err != nil || w.Seed != 0 {
			t.Errorf("%s: %+v has hash %s, %v", name, w, sum, err)
		}
		if got := says(t, w); got != k.want {
			t.Errorf("%s says %q, want %q", name, got, k.want)
		}
	}
	// Another program of the same trees.
	for _, tree := range []Tree{c.folder(), c.revision("main")} {
		if _, err := tree.Of(t.Context(), Serve); err == nil || !strings.Contains(err.Error(), "has no cmd/fanoutserve, want the program that is built") {
			t.Errorf("a program that is not there: %v", err)
		}
	}
	c.write("cmd/fanoutserve/main.go", mainOf("serve"))
	c.commit("serve")
	for _, tree := range []Tree{c.folder(), c.revision("main")} {
		tree, err := tree.Of(t.Context(), Serve)
		if err != nil {
			t.Fatal(err)
		}
		w := c.build(tree, cache).Workers[0]
		if got := says(t, w); got != "serve" || filepath.Base(w.Path) != "fanoutserve-"+w.SHA256 {
			t.Errorf("%s says %q", w.Path, got)
		}
	}
	// The path of the tree is in no executable, so equal trees give equal ones.
	if clean.Workers[0] != old.Workers[0] || !slices.Equal(clean.Sources, old.Sources) {
		t.Errorf("one tree, built twice: %+v and %+v", clean, old)
	}
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left in the cache: %q", left)
	}
}

// A folder outside git is built, and its revision is not known.
func TestBuildOutsideGit(t *testing.T) {
	c := checkout{t, t.TempDir()}
	c.write("go.mod", goMod)
	c.write("cmd/fanoutbench/main.go", mainOf("one"))
	b, err := c.folder().Build(t.Context(), t.TempDir(), nil)
	if err != nil || b.Revision+b.Modified+b.Patch != "" || says(t, b.Workers[0]) != "one" {
		t.Errorf("%+v, %v", b, err)
	}
}

// Every seed gives an executable of its own, the same one each time.
func TestLayouts(t *testing.T) {
	c := newCheckout(t)
	cache := t.TempDir()
	first := c.build(c.folder(), cache, 5, 6)
	again := c.build(c.revision("main"), cache, 6, 5)
	if len(first.Workers) != 2 || first.Workers[0].SHA256 == first.Workers[1].SHA256 {
		t.Fatalf("workers %+v", first.Workers)
	}
	if first.Workers[0] != again.Workers[1] || first.Workers[1] != again.Workers[0] {
		t.Errorf("%+v, again %+v", first.Workers, again.Workers)
	}
	for i, seed := range []int64{5, 6} {
		if w := first.Workers[i]; w.Seed != seed || says(t, w) != "one" {
			t.Errorf("worker %d: %+v", i, w)
		}
	}
}

// A cached tree is used again; what is not the commit's any more is refused and
// left alone.
func TestCachedTree(t *testing.T) {
	c := newCheckout(t)
	tree, cache := c.revision("main"), t.TempDir()
	c.build(tree, cache)
	place := filepath.Join(cache, "trees", tree.Commit)
	before := state(t, place)
	c.build(tree, cache)
	if after := state(t, place); !slices.Equal(before, after) {
		t.Errorf("the cached tree was made anew:\n%q\n%q", before, after)
	}
	main := filepath.Join(place, "cmd/fanoutbench/main.go")
	for name, change := range map[string]func() error{
		"cmd/fanoutbench/main.go":  func() error { return os.WriteFile(main, []byte(mainOf("eno")), 0o644) },
		"cmd/fanoutbench/added.go": func() error { return os.WriteFile(filepath.Join(place, "cmd/fanoutbench/added.go"), nil, 0o644) },
		"go.mod":                   func() error { return os.Remove(filepath.Join(place, "go.mod")) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		before := state(t, place)
		_, err := tree.Build(t.Context(), cache, nil)
		mistake(t, err, "the cached tree "+place+" is not what its commit holds: "+name+" differs; remove that folder")
		if after := state(t, place); !slices.Equal(before, after) {
			t.Errorf("a changed tree was touched:\n%q\n%q", before, after)
		}
		if err := os.RemoveAll(place); err != nil {
			t.Fatal(err)
		}
		c.build(tree, cache)
	}
}

// Two programs that want one commit at the same time both get it.
func TestTwoAtOnce(t *testing.T) {
	c := newCheckout(t)
	tree, cache := c.revision("main"), t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := tree.checkout(t.Context(), cache); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left in the cache: %q", left)
	}
}

// What attributes do to an archive, and settings to a checkout, is not done to a
// tree; no hook runs.
func TestAttributesAndSettings(t *testing.T) {
	c := newCheckout(t)
	c.write(".gitattributes", "cmd/fanoutbench/new.go export-ignore\n*.txt export-subst\n")
	c.write("cmd/fanoutbench/new.go", "package main\n\nfunc init() { println(\"zero\") }\n")
	c.write("note.txt", "$Format:%H$\n")
	c.commit("two")
	for _, s := range []string{"core.autocrlf", "core.splitIndex", "core.sparseCheckout"} {
		c.git("config", s, "true")
	}
	c.write(".git/info/sparse-checkout", "/go.mod\n")
	c.write(".git/hooks/post-index-change", "#!/bin/sh\ntouch \"$GIT_DIR/hooked\"\n")
	if err := os.Chmod(filepath.Join(c.dir, ".git/hooks/post-index-change"), 0o755); err != nil {
		t.Fatal(err)
	}
	tree, cache := c.revision("main"), t.TempDir()
	b := c.build(tree, cache)
	if got := says(t, b.Workers[0]); got != "zero\none" {
		t.Errorf("it says %q", got)
	}
	if note, err := os.ReadFile(filepath.Join(cache, "trees", tree.Commit, "note.txt")); string(note) != "$Format:%H$\n" {
		t.Errorf("note.txt is %q, %v", note, err)
	}
}

// The go command's settings in the environment do not change how a tree is built.
func TestForeignGoSettings(t *testing.T) {
	c := newCheckout(t)
	want := c.build(c.folder(), t.TempDir())
	c.write("go.work", "go 1.26\n\nuse ./nosuch\n")
	t.Setenv("GOFLAGS", "-mod=mod -tags=nosuch -ldflags=-s")
	t.Setenv("GOOS", "plan9")
	got := c.build(c.folder(), t.TempDir())
	if got.Workers[0].SHA256 != want.Workers[0].SHA256 {
		t.Errorf("%+v, want %+v", got.Workers, want.Workers)
	}
}

func TestDoesNotBuild(t *testing.T) {
	c := newCheckout(t)
	var lines strings.Builder
	for _, name := range []string{"a", "b", "c"} {
		lines.WriteString("func " + name + "() { return " + name + "1 }\n")
	}
	c.write("cmd/fanoutbench/wrong.go", "package main\n\n"+lines.String())
	c.commit("wrong")
	cache := t.TempDir()
	for _, tree := range []Tree{c.folder(), c.revision("main")} {
		_, err := tree.Build(t.Context(), cache, nil)
		mistake(t, err, "does not build (exit status 1):", "wrong.go:3", "wrong.go:4", "wrong.go:5", "undefined: c1")
		if strings.Contains(err.Error(), "submodule") {
			t.Errorf("%v: there is no submodule", err)
		}
	}
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left in the cache: %q", left)
	}
}

// Submodules that a build does not need are left out; of one that it needs the
// name is said.
func TestSubmodules(t *testing.T) {
	c := newCheckout(t)
	c.git("update-index", "--add", "--cacheinfo", "160000,"+c.git("rev-parse", "HEAD")+",third party/ähnlich")
	c.git("commit", "-q", "-m", "with a submodule")
	if got := says(t, c.build(c.revision("main"), t.TempDir()).Workers[0]); got != "one" {
		t.Errorf("it says %q", got)
	}
	c.write("cmd/fanoutbench/main.go", "package main\n\nimport _ \"github.com/fanoutbench/fanoutbench/third\"\n\nfunc main() {}\n")
	c.git("add", "cmd")
	c.git("commit", "-q", "-m", "that is needed")
	_, err := c.revision("main").Build(t.Context(), t.TempDir(), nil)
	mistake(t, err, "does not build", "submodules that are not there: third party/ähnlich (a revision is checked out without its submodules")
	_, err = c.folder().Build(t.Context(), t.TempDir(), nil)
	mistake(t, err, "submodules that are not there: third party/ähnlich (git submodule update --init")
	c.write("third party/ähnlich/there", "")
	if _, err = c.folder().Build(t.Context(), t.TempDir(), nil); strings.Contains(err.Error(), "submodules") {
		t.Errorf("%v: the submodule is there", err)
	}
}

func TestUnchanged(t *testing.T) {
	a, b := results.Source{Path: "a", SHA256: "1"}, results.Source{Path: "b", SHA256: "2"}
	if err := unchanged([]results.Source{a, b}, []results.Source{a, b}); err != nil {
		t.Error(err)
	}
	for name, k := range map[string][2][]results.Source{
		"b": {{a, b}, {a, {Path: "b", SHA256: "3"}}}, "a": {{b}, {a, b}}, "c": {{a, {Path: "c", SHA256: "4"}}, {a}},
	} {
		mistake(t, unchanged(k[0], k[1]), "the tree changed while it was built: "+name)
	}
}

// A build that is interrupted while its compilers run ends them, and leaves
// nothing half made.
func TestInterruptedInBuild(t *testing.T) {
	c := newCheckout(t)
	bin, cache := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\nsleep 1000 &\necho $! >\"$GOTMPDIR/half\"\nmv \"$GOTMPDIR/half\" \"$GOTMPDIR/pid\"\nwait\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	enough := errors.New("enough")
	ended := make(chan error, 1)
	go func() {
		_, err := c.folder().Build(ctx, cache, nil)
		ended <- err
	}()
	var pid int
	for tick := time.NewTicker(time.Millisecond); pid == 0; <-tick.C {
		select {
		case err := <-ended:
			t.Fatalf("the build ended by itself: %v", err)
		default:
		}
		found, err := filepath.Glob(filepath.Join(cache, "workers", "*", "pid"))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 1 {
			b, err := os.ReadFile(found[0])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscan(string(b), &pid); err != nil {
				t.Fatal(err)
			}
		}
	}
	cancel(enough)
	if err := <-ended; !errors.Is(err, enough) {
		t.Errorf("%v, want the reason of the interruption", err)
	}
	if err := syscall.Kill(pid, 0); err == nil && !zombie(pid) {
		t.Errorf("the compiler %d lives on", pid)
	}
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left in the cache: %q", left)
	}
}

// zombie says whether a process has ended, and only its parent has not asked how.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(b), ") ")
	return err == nil && strings.HasPrefix(state, "Z")
}

// An interrupted build says so, and leaves nothing half made.
func TestInterrupted(t *testing.T) {
	c := newCheckout(t)
	tree, cache := c.revision("main"), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tree.Build(ctx, cache, nil)
	var input *InputError
	if !errors.Is(err, context.Canceled) || errors.As(err, &input) {
		t.Errorf("%v, want that it was cancelled", err)
	}
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left in the cache: %q", left)
	}
}

// A commit with a patch is the tree that the patch was made from, and the
// repository is as it was.
func TestPatchedTree(t *testing.T) {
	c := newCheckout(t)
	c.write("cmd/fanoutbench/main.go", mainOf("two"))
	c.write("cmd/fanoutbench/new.go", "package main\n\nfunc init() { println(\"zero\") }\n")
	cache := t.TempDir()
	dirty := c.build(c.folder(), cache)
	c.git("checkout", "-q", "--", ".")
	if err := os.Remove(filepath.Join(c.dir, "cmd/fanoutbench/new.go")); err != nil {
		t.Fatal(err)
	}
	tree := c.revision("main")
	before := state(t, c.dir)
	tree.Patch = dirty.Patch
	for range 2 { // made, and found in the cache
		again := c.build(tree, cache)
		if !slices.Equal(again.Sources, dirty.Sources) || again.Workers[0] != dirty.Workers[0] || again.Modified != "true" || again.Patch != dirty.Patch || again.Revision != tree.Commit {
			t.Errorf("%+v\nwant %+v", again, dirty)
		}
	}
	if after := state(t, c.dir); !slices.Equal(before, after) {
		t.Errorf("the repository was changed:\n%q\n%q", before, after)
	}
	if plain := c.build(c.revision("main"), cache); says(t, plain.Workers[0]) != "one" {
		t.Errorf("the commit's own tree is patched: %+v", plain)
	}
	tree.Patch = strings.Replace(dirty.Patch, `println("one")`, `println("eins")`, 1)
	_, err := tree.Build(t.Context(), cache, nil)
	mistake(t, err, "the patch does not apply to commit "+tree.Commit, "main.go")
	if left := leftovers(t, cache); len(left) > 0 {
		t.Errorf("left in the cache: %q", left)
	}
}

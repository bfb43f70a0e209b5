package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
)

// Worker is an executable that was built.
type Worker struct {
	Path   string
	SHA256 string
	Seed   int64 // of its layout; 0: as the linker lays it out by itself
}

// Build is what a tree was when it was built, and what came of it.
type Build struct {
	Sources  []results.Source
	Revision string // commit of the tree, "" where git does not hold it
	Modified string // whether its files differ from the commit: "true", "false", or "" when not known
	Patch    string // what makes the difference
	Workers  []Worker
}

// Build builds the tree's program; with seeds, once for each.
func (t Tree) Build(ctx context.Context, cache string, seeds []int64) (Build, error) {
	if len(seeds) == 0 {
		seeds = []int64{0}
	}
	folder := t.Folder
	if folder == "" {
		var err error
		if folder, err = t.checkout(ctx, cache); err != nil {
			return Build{}, err
		}
	}
	b := Build{Revision: t.Commit, Modified: "false", Patch: t.Patch}
	if t.Patch != "" {
		b.Modified = "true"
	}
	var err error
	if b.Sources, err = results.TreeSources(folder); err != nil {
		return b, err
	}
	if t.Folder != "" {
		b.Revision, b.Modified, b.Patch = results.Checkout(folder)
	}
	for _, seed := range seeds {
		w, err := t.link(ctx, folder, cache, seed)
		if err != nil {
			return b, err
		}
		b.Workers = append(b.Workers, w)
	}
	after, err := results.TreeSources(folder)
	if err != nil {
		return b, err
	}
	return b, unchanged(b.Sources, after)
}

// unchanged wants the same files before and after.
func unchanged(before, after []results.Source) error {
	if slices.Equal(before, after) {
		return nil
	}
	for _, s := range slices.Concat(before, after) {
		if !slices.Contains(before, s) || !slices.Contains(after, s) {
			return wrong("the tree changed while it was built: %s is another file now", s.Path)
		}
	}
	return wrong("the tree changed while it was built")
}

// link builds one executable and puts it where its hash says.
func (t Tree) link(ctx context.Context, folder, cache string, seed int64) (w Worker, err error) {
	workers := filepath.Join(cache, "workers")
	if err := os.MkdirAll(workers, 0o755); err != nil {
		return w, fmt.Errorf("tree: cache: %w", err)
	}
	making, err := os.MkdirTemp(workers, "making-")
	if err != nil {
		return w, fmt.Errorf("tree: cache: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(making)) }()
	made := filepath.Join(making, path.Base(t.program()))
	if err := t.compile(ctx, folder, made, seed); err != nil {
		return w, err
	}
	w.Seed = seed
	if w.SHA256, err = results.HashFile(made); err != nil {
		return w, err
	}
	w.Path = filepath.Join(workers, path.Base(t.program())+"-"+w.SHA256)
	if err := os.Rename(made, w.Path); err != nil { // over itself, if it was there
		return w, fmt.Errorf("tree: cache: %w", err)
	}
	return w, nil
}

// stopGrace is how long the compilers of a build that was interrupted have to be
// gone.
const stopGrace = 2 * time.Second

func (t Tree) compile(ctx context.Context, folder, out string, seed int64) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-mod=" + modMode(folder), "-o", out}
	if seed != 0 {
		args = append(args, "-ldflags=-randlayout="+strconv.FormatInt(seed, 10))
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+t.program())...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	// An interrupted go command leaves its files, and its compilers running. So it
	// has a folder and a process group of its own.
	cmd.Env = append(cmd.Env, "GOTMPDIR="+filepath.Dir(out))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = stopGrace
	said, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		groupEnds(cmd)
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return wrong("go is not in PATH, want Go 1.26 or later to build a source tree with")
	}
	return wrong("does not build (%w):\n%s%s", err, bytes.TrimSpace(said), t.missing(ctx, folder))
}

// groupEnds waits until no process of a group that was killed can write any more.
func groupEnds(cmd *exec.Cmd) {
	if cmd.Process == nil {
		return
	}
	for end := time.Now().Add(stopGrace); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err := syscall.Kill(-cmd.Process.Pid, 0); errors.Is(err, syscall.ESRCH) {
			return
		}
	}
}

// modMode is how the go command finds modules without changing go.mod.
func modMode(folder string) string {
	if _, err := os.Stat(filepath.Join(folder, "vendor", "modules.txt")); err == nil {
		return "vendor"
	}
	return "readonly"
}

// missing names the submodules that are not there, which a build that failed may
// have needed.
func (t Tree) missing(ctx context.Context, folder string) string {
	g, commit := git{dir: t.Repo}, t.Commit
	advice := "a revision is checked out without its submodules; check them out and name the folder with dir:"
	if t.Folder != "" {
		g, commit = git{dir: t.Folder}, "HEAD"
		advice = "git submodule update --init checks them out"
	}
	paths, err := g.submodules(ctx, commit)
	if err != nil {
		return "" // no repository, and so no submodules
	}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		inside, err := os.ReadDir(filepath.Join(folder, path))
		return err == nil && len(inside) > 0
	})
	if len(paths) == 0 {
		return ""
	}
	return fmt.Sprintf("\nsubmodules that are not there: %s (%s)", strings.Join(paths, ", "), advice)
}

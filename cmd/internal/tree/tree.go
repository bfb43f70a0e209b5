package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fanoutbench/fanoutbench/results"
)

// InputError is a tree that cannot be used, and why: what the user can mend.
type InputError struct{ err error }

func (e *InputError) Error() string { return e.err.Error() }
func (e *InputError) Unwrap() error { return e.err }

func wrong(format string, args ...any) error { return &InputError{fmt.Errorf(format, args...)} }

// Programs of a tree that can be built.
const (
	Bench = "cmd/fanoutbench"
	Serve = "cmd/fanoutserve"
)

// Tree is a checkout of this module: a folder, or a commit of a repository.
type Tree struct {
	Folder string // absolute; "" for a commit
	Repo   string // a folder in the repository of the commit
	Commit string // in full; "" for a folder
	Patch  string // of a commit: what was not committed on top of it, as results.Checkout gives it

	Program string // that is built; "" is Bench
}

// Of is the tree with another program of it to be built.
func (t Tree) Of(ctx context.Context, program string) (Tree, error) {
	t.Program = program
	if t.Folder != "" {
		if st, err := os.Stat(filepath.Join(t.Folder, program)); err != nil || !st.IsDir() {
			return Tree{}, wrong("folder %s has no %s, want the program that is built", t.Folder, program)
		}
		return t, nil
	}
	if kind, _ := (git{dir: t.Repo}).line(ctx, "cat-file", "-t", t.Commit+":"+program); kind != "tree" { // no commit has such a folder where git fails
		return Tree{}, errors.Join(ctx.Err(), wrong("commit %s has no %s, want the program that is built", t.Commit, program))
	}
	return t, nil
}

func (t Tree) program() string { return cmp.Or(t.Program, Bench) }

// Folder finds the checkout whose root the folder is.
func Folder(path string) (Tree, error) {
	folder, err := filepath.Abs(path)
	if err != nil {
		return Tree{}, fmt.Errorf("tree: %w", err)
	}
	if st, err := os.Stat(folder); err != nil || !st.IsDir() {
		return Tree{}, wrong("%s is no folder, want a checkout of %s", path, results.Module)
	}
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return Tree{}, wrong("folder %s has no go.mod, want the root of a checkout of %s%s", path, results.Module, below(folder))
	}
	if name := results.ModuleName(string(mod)); name != results.Module {
		return Tree{}, wrong("folder %s is of module %q, want %s%s", path, name, results.Module, below(folder))
	}
	if st, err := os.Stat(filepath.Join(folder, Bench)); err != nil || !st.IsDir() {
		return Tree{}, wrong("folder %s has no %s, want the program that is built", path, Bench)
	}
	return Tree{Folder: folder}, nil
}

// below helps someone who named a folder inside a checkout.
func below(folder string) string {
	if root := results.ModuleRoot(folder); root != "" {
		return "; the root above it is " + root
	}
	return ""
}

// AtRevision finds the commit of this module that a revision names in the
// repository around a folder.
func AtRevision(ctx context.Context, repo, revision string) (Tree, error) {
	t, err := Commit(ctx, repo, revision)
	if err != nil {
		return Tree{}, err
	}
	g := git{dir: repo}
	mod, err := g.run(ctx, "cat-file", "blob", t.Commit+":go.mod")
	if err := ctx.Err(); err != nil {
		return Tree{}, err
	}
	if name := results.ModuleName(mod); err != nil || name != results.Module {
		return Tree{}, wrong("the go.mod of revision %q in the repository of %s names module %q, want %s", revision, repo, name, results.Module)
	}
	if kind, _ := g.line(ctx, "cat-file", "-t", t.Commit+":"+Bench); kind != "tree" {
		return Tree{}, wrong("revision %q has no %s, want the program that is built", revision, Bench)
	}
	return t, nil
}

// Commit finds the commit that a revision names in the repository around a folder,
// of whatever project it is.
func Commit(ctx context.Context, repo, revision string) (Tree, error) {
	g := git{dir: repo}
	if err := g.isRepository(ctx); err != nil {
		return Tree{}, err
	}
	commit, err := g.commit(ctx, revision)
	if err != nil {
		return Tree{}, err
	}
	if commit == "" {
		return Tree{}, wrong("no revision %q in the repository of %s, want a commit, a tag or a branch", revision, repo)
	}
	folder, err := filepath.Abs(repo)
	return Tree{Repo: folder, Commit: commit}, err
}

// Holds says whether a commit has a file of that path.
func (t Tree) Holds(ctx context.Context, path string) bool {
	kind, err := git{dir: t.Repo}.line(ctx, "cat-file", "-t", t.Commit+":"+path)
	return err == nil && kind == "blob"
}

// Prefix is where a folder lies in its repository: "" at its root, else with a
// slash at its end.
func Prefix(ctx context.Context, folder string) (string, error) {
	return git{dir: folder}.line(ctx, "rev-parse", "--show-prefix")
}

func (g git) isRepository(ctx context.Context) error {
	if st, err := os.Stat(g.dir); err != nil || !st.IsDir() {
		return wrong("repository %q is no folder", g.dir)
	}
	_, err := g.run(ctx, "rev-parse", "--git-dir")
	var input *InputError
	if err != nil && ctx.Err() == nil && !errors.As(err, &input) {
		return wrong("folder %s is in no git repository: %w", g.dir, err)
	}
	return err
}

// HasRevision says whether a word names a commit in the repository around a
// folder; it does not where there is none.
func HasRevision(ctx context.Context, repo, word string) bool {
	commit, err := git{dir: repo}.commit(ctx, word)
	return err == nil && commit != ""
}

// Base is what a tree of this module is compared with when nothing else is named:
// the commit where its history leaves the default branch. branch is the branch's
// name.
func (t Tree) Base(ctx context.Context) (base Tree, branch string, err error) {
	base, branch, err = t.MergeBase(ctx)
	if err != nil {
		return Tree{}, "", err
	}
	base, err = AtRevision(ctx, base.Repo, base.Commit)
	return base, branch, err
}

// MergeBase is the commit where a tree's history leaves the default branch, of
// whatever project it is.
func (t Tree) MergeBase(ctx context.Context) (base Tree, branch string, err error) {
	repo, commit := t.Repo, t.Commit
	if t.Folder != "" {
		repo = t.Folder
		g := git{dir: repo}
		if err := g.isRepository(ctx); err != nil {
			return Tree{}, "", err
		}
		if commit, err = g.commit(ctx, "HEAD"); err != nil {
			return Tree{}, "", err
		}
		if commit == "" {
			return Tree{}, "", wrong("the repository of %s has no commit", repo)
		}
	}
	hash, branch, err := git{dir: repo}.mergeBase(ctx, commit)
	if err != nil {
		return Tree{}, "", err
	}
	base, err = Commit(ctx, repo, hash)
	return base, branch, err
}

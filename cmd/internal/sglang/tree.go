package sglang

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/fanoutbench/fanoutbench/cmd/internal/tree"
	"github.com/fanoutbench/fanoutbench/results"
)

// Runtime is what a controller calls itself in its receipt.
const Runtime = "sglang"

// mark is the file by which a tree is known.
const mark = "sglang/__init__.py"

// Wanted says what a tree is, for messages.
const Wanted = "a folder with " + mark + " or python/" + mark

// InputError is a tree, a release or an interpreter that cannot be used, and why:
// what the user can mend.
type InputError struct{ err error }

func (e *InputError) Error() string { return e.err.Error() }
func (e *InputError) Unwrap() error { return e.err }

func wrong(format string, args ...any) error { return &InputError{fmt.Errorf(format, args...)} }

// Tree is one of SGLang's source trees.
type Tree struct {
	Folder  string     // absolute, holds sglang/; "" of a commit or a release until Prepare
	Commit  *tree.Tree // the commit it is taken from
	Below   string     // where sglang/ lies in the commit: "" or "python", or deeper
	Release string     // the version to fetch

	// What Prepare finds out of a checkout, as results.Arm has them.
	Revision, Modified, Patch string
}

// InFolder finds the tree that a folder is, or holds in python/.
func InFolder(folder string) (t Tree, ok bool, err error) {
	folder, err = filepath.Abs(folder)
	if err != nil {
		return Tree{}, false, fmt.Errorf("sglang: %w", err)
	}
	var found []string
	for _, at := range []string{folder, filepath.Join(folder, "python")} {
		if st, err := os.Stat(filepath.Join(at, mark)); err == nil && st.Mode().IsRegular() {
			found = append(found, at)
		}
	}
	switch len(found) {
	case 0:
		return Tree{}, false, nil
	case 1:
		return Tree{Folder: found[0]}, true, nil
	}
	return Tree{}, false, wrong("folder %s has both %s and python/%s, name the one that is meant", folder, mark, mark)
}

// Around finds the checkout that a folder lies in: the nearest folder at or above
// it that InFolder takes.
func Around(folder string) (root string, ok bool) {
	folder, err := filepath.Abs(folder)
	for err == nil {
		if _, ok, err := InFolder(folder); ok || err != nil {
			return folder, ok
		}
		up := filepath.Dir(folder)
		if up == folder {
			break
		}
		folder = up
	}
	return "", false
}

// InCommit finds the tree in a commit of the repository around a folder: where the
// folder lies in it, or at its root.
func InCommit(ctx context.Context, repo string, commit tree.Tree) (Tree, bool, error) {
	prefix, err := tree.Prefix(ctx, repo)
	if err != nil {
		return Tree{}, false, fmt.Errorf("sglang: %w", err)
	}
	var places []string
	for _, root := range []string{prefix, ""} {
		for _, below := range []string{path.Clean(root), path.Join(root, "python")} {
			if !slices.Contains(places, below) {
				places = append(places, below)
			}
		}
	}
	for _, below := range places {
		if commit.Holds(ctx, path.Join(below, mark)) {
			return Tree{Commit: &commit, Below: below, Revision: commit.Commit, Modified: "false"}, true, nil
		}
	}
	return Tree{}, false, ctx.Err()
}

// Base is what a tree is compared with when nothing else is named: the commit where
// its history leaves the default branch, whose name is branch.
func (t Tree) Base(ctx context.Context) (base Tree, branch string, err error) {
	repo, of := t.Folder, tree.Tree{Folder: t.Folder}
	switch {
	case t.Release != "":
		return Tree{}, "", wrong("a release has no history, give --reference sglang:VERSION")
	case t.Commit != nil:
		repo, of = t.Commit.Repo, *t.Commit
	}
	commit, branch, err := of.MergeBase(ctx)
	if err != nil {
		return Tree{}, "", err
	}
	base, ok, err := InCommit(ctx, repo, commit)
	if err == nil && !ok {
		err = wrong("commit %s, the merge base with %s, has no SGLang tree, want %s", commit.Commit, branch, Wanted)
	}
	return base, branch, err
}

// Prepare makes the tree a folder of this machine: a release is fetched by the
// interpreter, a commit written into the cache.
func (t Tree) Prepare(ctx context.Context, python, cache string) (Tree, error) {
	var err error
	switch {
	case t.Release != "":
		t.Folder, err = fetch(ctx, python, cache, t.Release)
	case t.Commit != nil:
		t.Folder, err = t.Commit.Checkout(ctx, cache)
		t.Folder = filepath.Join(t.Folder, filepath.FromSlash(t.Below))
	default:
		t.Revision, t.Modified, t.Patch = results.CheckoutOf(t.Folder, mark)
	}
	return t, err
}

// String says what the tree is and where it comes from.
func (t Tree) String() string {
	switch {
	case t.Release != "":
		return "release " + t.Release + ", to be fetched or taken from the cache"
	case t.Commit != nil:
		return fmt.Sprintf("commit %s of %s, folder %s", t.Commit.Commit, t.Commit.Repo, t.Below)
	}
	revision, modified, _ := results.CheckoutOf(t.Folder, mark)
	switch {
	case revision == "":
		return t.Folder + ", no revision: git does not hold it"
	case modified == "true":
		return t.Folder + ", revision " + revision + " with uncommitted changes"
	}
	return t.Folder + ", revision " + revision
}

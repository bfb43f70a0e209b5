package tree

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Cache is the folder where trees and executables are kept.
func Cache() (string, error) {
	base := os.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) { // by its specification, a relative one counts for nothing
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("tree: no place for a cache: XDG_CACHE_HOME is no absolute path, and %w", err)
		}
		base = filepath.Join(home, ".cache")
	}
	return filepath.Join(base, "fanoutbench"), nil
}

// Checkout gives the folder of the cache that holds the commit's files; see the
// package documentation.
func (t Tree) Checkout(ctx context.Context, cache string) (folder string, err error) {
	return t.checkout(ctx, cache)
}

// checkout gives the folder of the cache that holds the commit's files.
func (t Tree) checkout(ctx context.Context, cache string) (place string, err error) {
	trees := filepath.Join(cache, "trees")
	if err := os.MkdirAll(trees, 0o755); err != nil {
		return "", fmt.Errorf("tree: cache: %w", err)
	}
	making, err := os.MkdirTemp(trees, "making-")
	if err != nil {
		return "", fmt.Errorf("tree: cache: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(making)) }()
	place = filepath.Join(trees, t.Commit+t.patched())
	if _, err := os.Lstat(place); err == nil {
		return place, t.compare(ctx, place, making)
	}
	whole := filepath.Join(making, "tree")
	if err := os.Mkdir(whole, 0o755); err != nil {
		return "", fmt.Errorf("tree: cache: %w", err)
	}
	g, err := t.indexed(ctx, whole, making)
	if err != nil {
		return "", err
	}
	if _, err := g.run(ctx, "checkout-index", "--all", "--quiet"); err != nil {
		return "", fmt.Errorf("tree: write the files of %s: %w", t.Commit, err)
	}
	if err := os.Rename(whole, place); err != nil {
		if _, there := os.Lstat(place); there != nil {
			return "", fmt.Errorf("tree: cache: %w", err)
		}
		return place, t.compare(ctx, place, making) // another program was faster
	}
	return place, nil
}

// indexed is git with the commit in an index of its own, over a folder.
func (t Tree) indexed(ctx context.Context, folder, making string) (git, error) {
	dir, err := git{dir: t.Repo}.line(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return git{}, fmt.Errorf("tree: %w", err)
	}
	g := git{dir: folder, env: []string{"GIT_DIR=" + dir, "GIT_WORK_TREE=" + folder, "GIT_INDEX_FILE=" + filepath.Join(making, "index")}}
	if _, err := g.run(ctx, "read-tree", t.Commit); err != nil {
		return git{}, fmt.Errorf("tree: %w", err)
	}
	if t.Patch == "" {
		return g, nil
	}
	return t.patch(ctx, g, making)
}

// patched tells the tree of a patched commit from the commit's own.
func (t Tree) patched() string {
	if t.Patch == "" {
		return ""
	}
	return fmt.Sprintf("-%x", sha256.Sum256([]byte(t.Patch)))
}

// patch applies the patch to the index. The objects that this makes go to a
// folder of their own, so that nothing is written into the repository.
func (t Tree) patch(ctx context.Context, g git, making string) (git, error) {
	objects, err := git{dir: t.Repo}.line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return git{}, fmt.Errorf("tree: %w", err)
	}
	aside := filepath.Join(making, "objects")
	if err := os.MkdirAll(aside, 0o755); err != nil {
		return git{}, fmt.Errorf("tree: cache: %w", err)
	}
	// A list, whose elements git reads as quoted if they begin with a quote.
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(objects) + `"`
	g.env = append(slices.Clip(g.env), "GIT_OBJECT_DIRECTORY="+aside, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+quoted)
	applying := g
	applying.stdin = t.Patch
	if _, err := applying.run(ctx, "apply", "--cached", "--binary", "--whitespace=nowarn", "-"); err != nil && ctx.Err() == nil {
		return git{}, wrong("the patch does not apply to commit %s: %w", t.Commit, err)
	} else if err != nil {
		return git{}, err
	}
	return g, nil
}

// compare wants the folder to hold what the commit does, byte for byte, and
// nothing else. A folder that does not is left alone: somebody may have worked in it.
func (t Tree) compare(ctx context.Context, folder, making string) error {
	g, err := t.indexed(ctx, folder, making)
	if err != nil {
		return err
	}
	changed, err := g.run(ctx, "diff", "--name-only", "-z", "--no-ext-diff", "--ignore-submodules=all")
	if err != nil {
		return fmt.Errorf("tree: compare %s with its commit: %w", folder, err)
	}
	added, err := g.run(ctx, "ls-files", "--others", "-z")
	if err != nil {
		return fmt.Errorf("tree: compare %s with its commit: %w", folder, err)
	}
	if name, _, _ := strings.Cut(changed+added, "\x00"); name != "" {
		return wrong("the cached tree %s is not what its commit holds: %s differs; remove that folder", folder, name)
	}
	return nil
}

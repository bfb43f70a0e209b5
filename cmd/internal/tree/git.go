package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// git runs git on a repository. It writes nothing there and runs no hook.
type git struct {
	dir   string   // where it is run
	env   []string // on top of the environment
	stdin string
}

// unset are settings by which git would write beside the files it is told to, or
// write other bytes than a revision's.
var unset = []string{"core.fsmonitor=false", "core.autocrlf=false", "core.hooksPath=" + os.DevNull}

// run gives what git prints. Its error says what git said.
func (g git) run(ctx context.Context, args ...string) (string, error) {
	var all []string
	for _, s := range unset {
		all = append(all, "-c", s)
	}
	cmd := exec.CommandContext(ctx, "git", append(all, args...)...)
	cmd.Dir = g.dir
	cmd.Stdin = strings.NewReader(g.stdin)
	// A hook or an alias that this program runs in names its own repository.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "GIT_") })
	cmd.Env = append(append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"), g.env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return string(out), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", wrong("git is not in PATH, want it to find revisions")
	case errors.As(err, &exit) && len(exit.Stderr) > 0:
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return "", fmt.Errorf("git %s: %w", args[0], err)
}

// line is run for one line of output.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// commit is the commit that a revision names, "" if it names none.
func (g git) commit(ctx context.Context, revision string) (string, error) {
	if strings.HasPrefix(revision, "-") || strings.ContainsRune(revision, 0) {
		return "", nil // an option to git, and the name of no revision
	}
	hash, err := g.line(ctx, "rev-parse", "--quiet", "--verify", revision+"^{commit}")
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", nil
	}
	return hash, err
}

// defaults are where the default branch of a repository may stand: in a fork the
// project's own comes first, since the fork's may lag behind.
var defaults = []string{"refs/remotes/upstream/HEAD", "refs/remotes/upstream/main", "refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/heads/main", "refs/heads/master"}

// mergeBase is the merge base of a commit with the default branch, and the
// branch's name.
func (g git) mergeBase(ctx context.Context, commit string) (base, branch string, err error) {
	for _, name := range defaults {
		tip, err := g.commit(ctx, name)
		if err != nil {
			return "", "", err
		}
		if tip == "" {
			continue
		}
		if base, err = g.line(ctx, "merge-base", tip, commit); err != nil {
			return "", name, wrong("no merge base of %s with %s (a shallow clone lacks it): %w", commit, name, err)
		}
		return base, name, nil
	}
	return "", "", wrong("no default branch, want one of %s", strings.Join(defaults, ", "))
}

// submodules are the paths of a commit that are repositories of their own.
func (g git) submodules(ctx context.Context, commit string) ([]string, error) {
	out, err := g.run(ctx, "ls-tree", "-r", "-z", commit)
	if err != nil {
		return nil, err
	}
	var paths []string
	for entry := range strings.SplitSeq(out, "\x00") {
		if what, path, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(what, "160000 ") {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

package results

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// revision is the commit of the checkout at root, whether its files differ from
// it ("true" or "false"), and the patch that makes the difference: all tracked
// files, and new files of the kinds that programs are made from. All three are
// empty where git is missing or does not hold that file of the checkout.
func revision(root, file string) (commit, modified, patch string) {
	g := git{root: root}
	if _, err := g.run("", "ls-files", "--error-unmatch", "--", file); err != nil {
		return "", "", ""
	}
	head, err := g.run("", "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return "", "", ""
	}
	diff, err := g.patch()
	if err != nil {
		return strings.TrimSpace(string(head)), "", ""
	}
	if len(diff) == 0 {
		return strings.TrimSpace(string(head)), "false", ""
	}
	return strings.TrimSpace(string(head)), "true", keepable(diff)
}

// git runs git in a checkout. It changes nothing there: where an index is
// written, it is a copy, and an object goes to a folder of its own.
type git struct {
	root string
	env  []string
}

func (g git) run(input string, args ...string) ([]byte, error) {
	// A diff would write into the index that a file was touched and not changed.
	cmd := exec.Command("git", append([]string{"-C", g.root, "-c", "core.fsmonitor=false", "-c", "diff.autoRefreshIndex=false", "--literal-pathspecs"}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	// A git hook or an alias names its own repository in the environment.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "GIT_") })
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	cmd.Env = append(cmd.Env, g.env...)
	return cmd.Output()
}

// patch is one diff of tracked files and new source files.
func (g git) patch() ([]byte, error) {
	untracked, err := g.run("", "ls-files", "--others", "--exclude-standard", "-z")
	if err != nil {
		return nil, err
	}
	var added strings.Builder
	for name := range strings.SplitSeq(string(untracked), "\x00") {
		if isSource(path.Base(name)) || path.Ext(name) == ".py" {
			added.WriteString(name + "\x00")
		}
	}
	if added.Len() == 0 {
		return g.diff()
	}
	return g.diffWith(added.String())
}

// diffWith announces new files in a copy of the index, so that the diff shows
// them too.
func (g git) diffWith(added string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "fanoutbench-index-")
	if err != nil {
		return nil, err
	}
	var diff []byte
	if g.env, err = g.aside(folder); err == nil {
		_, err = g.run(added, "add", "--intent-to-add", "--pathspec-from-file=-", "--pathspec-file-nul")
	}
	if err == nil {
		diff, err = g.diff()
	}
	return diff, errors.Join(err, os.RemoveAll(folder))
}

func (g git) diff() ([]byte, error) {
	return g.run("", "diff", "--binary", "--no-color", "--no-ext-diff", "--no-textconv",
		"--src-prefix=a/", "--dst-prefix=b/", "--relative", "HEAD", "--", ".")
}

// aside is the environment in which git writes its index and objects below a
// folder. Announcing a file makes an object, the empty one.
func (g git) aside(folder string) ([]string, error) {
	index, err := g.copyIndex(folder)
	if err != nil {
		return nil, err
	}
	objects, err := g.gitPath("objects")
	if err != nil {
		return nil, err
	}
	// A list, whose elements git reads as quoted if they begin with a quote.
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(objects) + `"`
	return []string{"GIT_INDEX_FILE=" + index, "GIT_OBJECT_DIRECTORY=" + folder, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted}, nil
}

// gitPath is where git keeps one of its own files.
func (g git) gitPath(name string) (string, error) {
	out, err := g.run("", "rev-parse", "--git-path", name)
	path := strings.TrimSuffix(string(out), "\n")
	if !filepath.IsAbs(path) {
		path = filepath.Join(g.root, path)
	}
	return path, err
}

func (g git) copyIndex(folder string) (string, error) {
	from, err := g.gitPath("index")
	if err != nil {
		return "", err
	}
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	to := filepath.Join(folder, "index")
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", errors.Join(err, in.Close())
	}
	_, err = io.Copy(out, in)
	return to, errors.Join(err, out.Close(), in.Close())
}

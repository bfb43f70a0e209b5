package tree

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFolderMistakes(t *testing.T) {
	c := newCheckout(t)
	c.write("cmd/fanoutbench/inside", "")
	c.write("runs/go.mod", "module example.org/other\n")
	other := checkout{t, t.TempDir()}
	other.write("go.mod", "module \"github.com/fanoutbench/fanoutbench\" // its name\n")
	for path, want := range map[string][]string{
		filepath.Join(c.dir, "nosuch"): {"is no folder, want a checkout of github.com/fanoutbench/fanoutbench"},
		filepath.Join(c.dir, "go.mod"): {"is no folder"},
		filepath.Join(c.dir, "cmd"):    {"has no go.mod, want the root of a checkout of github.com/fanoutbench/fanoutbench", "the root above it is " + c.dir},
		filepath.Join(c.dir, "runs"):   {`is of module "example.org/other", want github.com/fanoutbench/fanoutbench`, c.dir},
		other.dir:                      {"has no cmd/fanoutbench, want the program that is built"},
		t.TempDir():                    {"has no go.mod"},
	} {
		_, err := Folder(path)
		mistake(t, err, want...)
	}
}

func TestRevisionMistakes(t *testing.T) {
	c := newCheckout(t)
	c.git("rm", "-q", "-r", "cmd")
	c.commit("without a program")
	c.git("tag", "bare")
	c.write("go.mod", "module example.org/other\n")
	c.commit("of another module")
	c.git("tag", "other")
	c.git("rm", "-q", "go.mod")
	c.commit("of no module")
	for revision, want := range map[string]string{
		"nosuch":      `no revision "nosuch" in the repository of ` + c.dir + ", want a commit, a tag or a branch",
		"--help":      `no revision "--help"`,
		"main:go.mod": "no revision",
		"a\x00b":      "no revision",
		"bare":        `revision "bare" has no cmd/fanoutbench`,
		"other":       `names module "example.org/other", want github.com/fanoutbench/fanoutbench`,
		"main":        `names module "", want github.com/fanoutbench/fanoutbench`,
	} {
		_, err := AtRevision(t.Context(), c.dir, revision)
		mistake(t, err, want)
	}
	for repo, want := range map[string]string{
		t.TempDir():                    "is in no git repository",
		filepath.Join(c.dir, "nosuch"): "is no folder",
	} {
		_, err := AtRevision(t.Context(), repo, "main")
		mistake(t, err, want)
		if HasRevision(t.Context(), repo, "main") {
			t.Errorf("%s has a revision", repo)
		}
	}
	if !HasRevision(t.Context(), c.dir, "bare") || HasRevision(t.Context(), c.dir, "nosuch") {
		t.Error("revisions of the repository are not told")
	}
}

// The repository of a hook or an alias that this program runs in is not the one
// that is meant.
func TestForeignGitVariables(t *testing.T) {
	c, other := newCheckout(t), newCheckout(t)
	other.write("new", "")
	want := c.git("rev-parse", "HEAD")
	other.commit("two")
	t.Setenv("GIT_DIR", filepath.Join(other.dir, ".git"))
	if got := c.revision("HEAD").Commit; got != want {
		t.Errorf("HEAD is %s, want %s", got, want)
	}
}

// The reference of a tree that is given alone: where it left the default branch.
func TestBase(t *testing.T) {
	c := newCheckout(t)
	root := c.git("rev-parse", "HEAD")
	c.git("checkout", "-q", "-b", "topic")
	topic := c.commit("of the topic")
	c.git("checkout", "-q", "main")
	c.commit("of main")
	c.git("checkout", "-q", "topic")
	base := func(tree Tree, wantBranch, want string) {
		t.Helper()
		got, branch, err := tree.Base(t.Context())
		if err != nil || got.Commit != want || branch != wantBranch {
			t.Errorf("base %+v by %s, %v; want %s by %s", got, branch, err, want, wantBranch)
		}
	}
	c.untouched(func() {
		base(c.folder(), "refs/heads/main", root)
		base(c.revision("topic"), "refs/heads/main", root)
	})
	// A better candidate for the default branch is preferred, one at a time.
	c.git("branch", "master", topic)
	base(c.folder(), "refs/heads/main", root)
	c.git("update-ref", "refs/remotes/origin/main", topic)
	base(c.folder(), "refs/remotes/origin/main", topic)
	c.git("update-ref", "refs/remotes/origin/trunk", root)
	c.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
	base(c.folder(), "refs/remotes/origin/HEAD", root)
	c.git("update-ref", "refs/remotes/upstream/main", topic)
	base(c.folder(), "refs/remotes/upstream/main", topic)
	c.git("update-ref", "-d", "refs/remotes/upstream/main")
	c.git("symbolic-ref", "-d", "refs/remotes/origin/HEAD")
	c.git("update-ref", "-d", "refs/remotes/origin/main")
	c.git("branch", "-q", "-D", "main")
	base(c.folder(), "refs/heads/master", topic)
	c.git("branch", "-q", "-D", "master")
	_, _, err := c.folder().Base(t.Context())
	mistake(t, err, "no default branch, want one of refs/remotes/upstream/HEAD, refs/remotes/upstream/main, refs/remotes/origin/HEAD, refs/remotes/origin/main, refs/heads/main, refs/heads/master")
	c.git("checkout", "-q", "--orphan", "main")
	c.commit("of another history")
	_, _, err = c.revision("topic").Base(t.Context())
	mistake(t, err, "no merge base of "+topic+" with refs/heads/main")
}

func TestBaseOutsideGit(t *testing.T) {
	c := checkout{t, t.TempDir()}
	c.write("go.mod", goMod)
	c.write("cmd/fanoutbench/main.go", mainOf("one"))
	_, _, err := c.folder().Base(t.Context())
	mistake(t, err, "is in no git repository")
	c.git("init", "-q")
	_, _, err = c.folder().Base(t.Context())
	mistake(t, err, "has no commit")
}

func TestCacheFolder(t *testing.T) {
	for _, k := range []struct{ xdg, home, want string }{
		{"/a b/cache", "/h", "/a b/cache/fanoutbench"}, {"", "/h", "/h/.cache/fanoutbench"}, {"relative", "/h", "/h/.cache/fanoutbench"}, {"", "", ""},
	} {
		t.Setenv("XDG_CACHE_HOME", k.xdg)
		t.Setenv("HOME", k.home)
		got, err := Cache()
		if got != k.want || (err == nil) != (k.want != "") {
			t.Errorf("XDG_CACHE_HOME %q, HOME %q: %q, %v; want %q", k.xdg, k.home, got, err, k.want)
		}
	}
}

// Without git there is no revision, without go no build, and both are said.
func TestWithoutTools(t *testing.T) {
	c := newCheckout(t)
	tree := c.revision("main")
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	_, err = AtRevision(t.Context(), c.dir, "main")
	mistake(t, err, "git is not in PATH")
	if err := os.Symlink(git, filepath.Join(bin, "git")); err != nil {
		t.Fatal(err)
	}
	_, err = tree.Build(t.Context(), t.TempDir(), nil)
	mistake(t, err, "go is not in PATH, want Go")
	if strings.Contains(err.Error(), "does not build") {
		t.Errorf("%v blames the tree", err)
	}
}

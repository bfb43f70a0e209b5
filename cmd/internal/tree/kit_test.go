package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A checkout as small as one can be: its program prints a word.
const goMod = "module github.com/fanoutbench/fanoutbench\n\ngo 1.26\n"

func mainOf(word string) string {
	return fmt.Sprintf("package main\n\nfunc main() { println(%q) }\n", word)
}

// checkout is a repository of such a module, in a folder whose name is no plain
// word, with one commit on branch main.
type checkout struct {
	t   *testing.T
	dir string
}

func newCheckout(t *testing.T) checkout {
	t.Helper()
	c := checkout{t, filepath.Join(t.TempDir(), "ein Baum für, alle")}
	c.write("go.mod", goMod)
	c.write("cmd/fanoutbench/main.go", mainOf("one"))
	c.git("init", "-q", "-b", "main")
	c.commit("one")
	return c
}

func (c checkout) write(name, content string) {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		c.t.Fatal(err)
	}
}

func (c checkout) git(args ...string) string {
	c.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits everything and gives the commit.
func (c checkout) commit(message string) string {
	c.t.Helper()
	c.git("add", "--all")
	c.git("commit", "-q", "--allow-empty", "-m", message)
	return c.git("rev-parse", "HEAD")
}

// revision is AtRevision of the checkout, which must succeed.
func (c checkout) revision(name string) Tree {
	c.t.Helper()
	tree, err := AtRevision(c.t.Context(), c.dir, name)
	if err != nil {
		c.t.Fatal(err)
	}
	return tree
}

func (c checkout) folder() Tree {
	c.t.Helper()
	tree, err := Folder(c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	return tree
}

// state is every file below a folder, its repository included, with mode, size
// and time of change.
func state(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err == nil {
			files = append(files, fmt.Sprintf("%s %v %d %v", path, st.Mode(), st.Size(), st.ModTime()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// untouched runs f and wants the checkout as it was.
func (c checkout) untouched(f func()) {
	c.t.Helper()
	status, before := c.git("status", "--porcelain", "--ignored"), state(c.t, c.dir)
	f()
	if after := state(c.t, c.dir); !slices.Equal(before, after) {
		c.t.Errorf("the tree was touched\nbefore %s\nafter  %s", strings.Join(before, "\n       "), strings.Join(after, "\n       "))
	}
	if after := c.git("status", "--porcelain", "--ignored"); after != status {
		c.t.Errorf("git status %q, before %q", after, status)
	}
}

// build builds, and wants the checkout as it was.
func (c checkout) build(tree Tree, cache string, seeds ...int64) (b Build) {
	c.t.Helper()
	c.untouched(func() {
		var err error
		if b, err = tree.Build(c.t.Context(), cache, seeds); err != nil {
			c.t.Fatal(err)
		}
	})
	return b
}

// says is what an executable prints.
func says(t *testing.T, w Worker) string {
	t.Helper()
	out, err := exec.Command(w.Path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// mistake wants an *InputError with each of the parts.
func mistake(t *testing.T, err error, parts ...string) {
	t.Helper()
	var input *InputError
	if !errors.As(err, &input) {
		t.Fatalf("%v, want an *InputError", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

// leftovers are what a cache holds beside whole trees and executables.
func leftovers(t *testing.T, cache string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(cache, "*", "making-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

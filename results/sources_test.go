package results

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checkout makes a tree of files with this module's go.mod.
func checkout(t *testing.T, files map[string]string) string {
	t.Helper()
	all := map[string]string{"go.mod": "// a comment\nmodule " + Module + "\n\ngo 1.26.0\n"}
	for name, content := range files {
		all[name] = content
	}
	return faked(t, all).root
}

func TestTreeSources(t *testing.T) {
	root := checkout(t, map[string]string{
		"go.sum": "sum", "a/a.go": "package a\n\n//go:embed data/*.bin \"with blank.txt\" all:everything\nvar x embed.FS\n",
		"a/a_test.go": "package a", "a/data/1.bin": "1", "a/data/2.txt": "2", "a/with blank.txt": "3", "a/everything/.hidden": "4",
		"a/everything/below/_x": "5", "b/b.go": "package b\n//go:embed folder\nvar y embed.FS\n", "b/folder/f": "6", "b/folder/.no": "7",
		"b/folder/_no/f": "8", "b/k.cu": "kernel", "b/README.md": "no", "c/testdata/x.go": "no", ".git/x.go": "no", "_d/x.go": "no",
		"inner/go.mod": "module " + Module + "/inner\n", "inner/x.go": "no",
	})
	want := []string{
		"a/a.go", "a/data/1.bin", "a/everything/.hidden", "a/everything/below/_x", "a/with blank.txt", "b/b.go", "b/folder/f", "b/k.cu", "go.mod", "go.sum",
	}
	for _, dir := range []string{".", "a", "inner"} {
		sources, err := TreeSources(filepath.Join(root, dir))
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, s := range sources {
			paths = append(paths, s.Path)
			if want := sum([]byte(content(t, root, s.Path))); s.SHA256 != want {
				t.Errorf("%s has %s, want %s", s.Path, s.SHA256, want)
			}
		}
		if !slices.Equal(paths, want) {
			t.Errorf("from %s: %q\nwant %q", dir, paths, want)
		}
	}
}

func TestTreeSourcesElsewhere(t *testing.T) {
	root := faked(t, map[string]string{"go.mod": "module example.org/other\n", "a.go": "package a"}).root
	for _, dir := range []string{root, t.TempDir()} {
		if sources, err := TreeSources(dir); err != nil || sources != nil {
			t.Errorf("%v, %v", sources, err)
		}
	}
}

func TestTreeSourcesRefuses(t *testing.T) {
	root := checkout(t, map[string]string{"a.go": "package a\n//go:embed \"open\nvar x string\n"})
	_, err := TreeSources(root)
	wantError(t, err, "a.go", "go:embed")
	root = checkout(t, nil)
	if err := os.Symlink("nowhere", filepath.Join(root, "a.go")); err != nil {
		t.Fatal(err)
	}
	_, err = TreeSources(root)
	wantError(t, err, "a.go")
}

// The sources of this very checkout hold this package and no test of it.
func TestTreeSourcesOfThisModule(t *testing.T) {
	sources, err := TreeSources(".")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, s := range sources {
		paths = append(paths, s.Path)
	}
	if !slices.Contains(paths, "results/sources.go") || !slices.Contains(paths, "go.mod") || slices.Contains(paths, "results/sources_test.go") {
		t.Errorf("sources %q", paths)
	}
}

func TestHashFile(t *testing.T) {
	dir := t.TempDir()
	overwrite(t, dir, "f", "abc")
	got, err := HashFile(filepath.Join(dir, "f"))
	if err != nil || got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("%s, %v", got, err)
	}
	_, err = HashFile(dir)
	wantError(t, err, dir, "regular file")
	_, err = HashFile(filepath.Join(dir, "g"))
	wantError(t, err, "g")
}

// With git, revision and patch are those of the checkout, and its index stays
// as it was; without, all three are empty.
func TestRevision(t *testing.T) {
	root := checkout(t, map[string]string{"a.go": "package a\n", "notes.txt": "old\n", ".gitignore": "ignored.go\n"})
	if _, err := exec.LookPath("git"); err != nil {
		if a, b, c := Checkout(root); a+b+c != "" {
			t.Errorf("without git: %q %q %q", a, b, c)
		}
		return
	}
	in := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=n", "-c", "user.email=e@example.org"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	in("init", "--quiet")
	if a, b, c := Checkout(root); a+b+c != "" {
		t.Errorf("before go.mod is tracked: %q %q %q", a, b, c)
	}
	in("add", ".")
	if a, b, c := Checkout(root); a+b+c != "" {
		t.Errorf("before the first commit: %q %q %q", a, b, c)
	}
	in("commit", "--quiet", "-m", "first")
	head := in("rev-parse", "HEAD")
	if a, b, c := Checkout(root); a != head || b != "false" || c != "" {
		t.Errorf("clean: %q %q %q", a, b, c)
	}
	overwrite(t, root, "new.txt", "no source\n")
	overwrite(t, root, "ignored.go", "package a\n")
	if a, b, c := Checkout(root); a != head || b != "false" || c != "" {
		t.Errorf("with new files that no program is made from: %q %q %q", a, b, c)
	}
	overwrite(t, root, "notes.txt", "changed\n")
	overwrite(t, root, "new file.go", "package a // new\n")
	status := in("status", "--porcelain")
	a, b, patch := Checkout(root)
	if a != head || b != "true" || in("status", "--porcelain") != status {
		t.Errorf("changed: %q %q; status %s", a, b, in("status", "--porcelain"))
	}
	other := t.TempDir()
	in("worktree", "add", "--quiet", other, "HEAD")
	overwrite(t, other, "p", patch)
	root = other
	in("apply", "p")
	if content(t, other, "notes.txt") != "changed\n" || content(t, other, "new file.go") != "package a // new\n" {
		t.Errorf("the patch does not make the files:\n%s", patch)
	}
}

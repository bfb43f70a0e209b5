package fanoutbench_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSGLangPageCommands plays what docs/sglang.md says, up to the first import:
// with --dry-run, on trees that are nothing but a name, in a checkout of such a
// tree, under a program that says what a Python says.
func TestSGLangPageCommands(t *testing.T) {
	tool, checkout := buildTool(t), madeUpCheckout(t)
	played := 0
	for _, line := range strings.Split(strings.Join(blocks(t, sglangPage, "sh"), ""), "\n") {
		if line == "" {
			continue
		}
		args := strings.Fields(line)
		if args[0] != "fanoutbench" {
			t.Fatalf("%q is no command of fanoutbench", line)
		}
		played++
		cmd := exec.Command(tool, append(args[1:], "--dry-run")...)
		cmd.Dir = checkout
		cmd.Env = append(os.Environ(), "VIRTUAL_ENV="+checkout, "XDG_CACHE_HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		if !strings.Contains(string(out), "Python 3.11.7") {
			t.Errorf("%s: no interpreter in\n%s", line, out)
		}
	}
	if played < 5 {
		t.Errorf("%d commands played, want those of the page", played)
	}
}

// madeUpCheckout is a repository of a tree like SGLang's with two commits and a
// change, beside two trees and an interpreter.
func madeUpCheckout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	const tree = "python/sglang/__init__.py"
	git("init", "--quiet", "--initial-branch=main")
	for _, text := range []string{"first = 1\n", "second = 2\n"} {
		write(tree, text, 0o600)
		git("add", "python")
		git("commit", "--quiet", "--message", text)
	}
	write(tree, "third = 3\n", 0o600)
	for _, other := range []string{"one", "two", "sglang-0.5.21", "sglang-0.5.21-reuse"} {
		write(other+"/sglang/__init__.py", "", 0o600)
	}
	write("bin/python", "#!/bin/sh\necho 3.11.7\n", 0o700)
	return dir
}

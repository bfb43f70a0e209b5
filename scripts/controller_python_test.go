//go:build python

package scripts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestControllerValues: what sglang_controller.py does without a tree.
func TestControllerValues(t *testing.T) {
	if out, errs, err := python(t, plainPython, "testdata/sglang_values.py", "sglang_controller.py"); err != nil {
		t.Errorf("%v\n%s%s", err, out, errs)
	}
}

// TestRefusedTrees: a tree that cannot be run is refused in words that name it and
// what is wrong, and nothing else is said.
func TestRefusedTrees(t *testing.T) {
	elsewhere := t.TempDir()
	write(t, elsewhere, "srt/managers/io_struct.py", "")
	const io = "sglang/srt/managers/io_struct.py"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
		log   string
	}{
		{"no sglang", nil, []string{"has no sglang/__init__.py"}, ""},
		{"missing package", map[string]string{"sglang/__init__.py": "import no_such_package.deep\n"},
			[]string{"does not import", "'no_such_package' is missing in", "name an interpreter that has it (--python)"}, ""},
		{"broken", map[string]string{"sglang/__init__.py": "x = (\n"}, []string{"does not import", "SyntaxError"}, "Traceback"},
		{"no module", map[string]string{"sglang/__init__.py": ""}, []string{"has no module sglang.srt", "too old or too new"}, ""},
		{"no symbol", map[string]string{"sglang/__init__.py": "", io: "class BatchStrOutput: pass\n"},
			[]string{"has no sglang.srt.managers.io_struct.BatchTokenIDOutput", "too old or too new"}, ""},
		{"elsewhere", map[string]string{"sglang/__init__.py": fmt.Sprintf("__path__.insert(0, %q)\n", elsewhere)},
			[]string{"sglang.srt.managers.io_struct was loaded from " + elsewhere, "outside the tree"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := t.TempDir()
			for name, text := range c.files {
				write(t, tree, name, text)
			}
			said, log := refused(t, hello, "--tree", tree)
			for _, want := range append(c.want, filepath.Base(tree)) {
				if !strings.Contains(said, want) {
					t.Errorf("it said %s, want %q in it", said, want)
				}
			}
			if !strings.Contains(log, c.log) || c.log == "" && log != "" {
				t.Errorf("its log is %s, want %q in it", log, c.log)
			}
		})
	}
}

// TestRefusedHellos: they are refused before anything is imported.
func TestRefusedHellos(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{`"version":1`, `"version":2`, "protocol version 2"},
		{`"msgpack"`, `"native"`, "transport 'native'"},
		{`"options":{}`, `"options":{"x":"1"}`, "option x"},
		{`"options":{}`, `"options":{"detokenizers":"2"}`, "option detokenizers"},
		{`"arrived"`, `"rate:-1"`, "pace 'rate:-1'"},
		{`"http_workers":2`, `"http_workers":0`, "http_workers is 0"},
		{`"hello"`, `"trial"`, "a line of type 'trial', want hello"},
		{`{"type"`, `"type"`, "no JSON"},
	} {
		if said, _ := refused(t, strings.Replace(hello, c.old, c.with, 1), "--tree", t.TempDir()); !strings.Contains(said, c.want) {
			t.Errorf("%s for %s: it said %s, want %q in it", c.with, c.old, said, c.want)
		}
	}
}

// refused runs the script with one line, and returns its answer, an error, and log.
func refused(t *testing.T, line string, args ...string) (said, log string) {
	t.Helper()
	cmd := exec.Command(setting(t, plainPython), append([]string{"-B", "sglang_controller.py"}, args...)...)
	var stdout, stderr strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(line+"\n"), &stdout, &stderr
	if err := cmd.Run(); err == nil {
		t.Errorf("%v: exit status 0, want another", args)
	}
	if said = stdout.String(); !strings.HasPrefix(said, `{"type": "error"`) || strings.Count(said, "\n") != 1 {
		t.Errorf("%v: it said %q, want one error line; its log: %s", args, said, &stderr)
	}
	return said, stderr.String()
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

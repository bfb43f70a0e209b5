//go:build cuda

package drivertest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
)

// Orders are the values of FAKECUDA_ORDER under which every kernel must give the same.
var Orders = []string{"forward", "reverse", "random:1", "random:2"}

// Fake has this process use the fake driver, and is its path.
func Fake(t testing.TB) string {
	t.Helper()
	fake := os.Getenv("FANOUTBENCH_FAKECUDA")
	if fake == "" {
		t.Fatal(`FANOUTBENCH_FAKECUDA is not set; want the environment of: eval "$(scripts/cuda_env.sh)"`)
	}
	if os.Getenv("FANOUTBENCH_LIBCUDA") == "" {
		t.Setenv("FANOUTBENCH_LIBCUDA", fake)
	}
	return fake
}

// Open opens the fake driver's device. It is closed at the end of the test, which fails if anything is still
// allocated then.
func Open(t testing.TB) *driver.Device {
	t.Helper()
	Fake(t)
	d, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

// Log has the fake driver write what it says into a file as well; the function reads it.
func Log(t testing.TB) func() string {
	t.Helper()
	return file(t, "FAKECUDA_LOG")
}

// Report has the fake driver write a line of JSON for each context that is destroyed (../../fakecuda/README.md); the
// function reads them.
func Report(t testing.TB) func() string {
	t.Helper()
	return file(t, "FAKECUDA_REPORT")
}

func file(t testing.TB, variable string) func() string {
	t.Helper()
	path := filepath.Join(t.TempDir(), strings.ToLower(variable))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(variable, path)
	return func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// Changed builds a fake driver from a folder of kernels in which old, which stands in the source at least once, is with where
// it stands first. Its path is for FANOUTBENCH_LIBCUDA of a [Process]: whatever the change breaks must show there. In that
// process it is what the process was given.
func Changed(t testing.TB, folder, source, old, with string) string {
	t.Helper()
	if os.Getenv(childOf) != "" {
		return os.Getenv("FANOUTBENCH_LIBCUDA")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, source)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), old, with, 1)
	if changed == string(text) {
		t.Fatalf("%s has no %q to change, or it would stay as it is", source, old)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	_, here, _, _ := runtime.Caller(0)
	build, fake := filepath.Join(filepath.Dir(here), "..", "..", "fakecuda", "build.py"), filepath.Join(dir, "libcuda.so.1")
	out, err := exec.Command(cmp.Or(os.Getenv("PYTHON"), "python3"), build, "--include", os.Getenv("FANOUTBENCH_CUDA_INCLUDE"),
		"--objects", os.Getenv("FANOUTBENCH_CUDA_OBJECTS"), "--hashes-of", folder, "--out", fake, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return fake
}

// childOf names the test that a process was started for.
const childOf = "FANOUTBENCH_CUDA_CHILD"

// Process runs f in a process of its own, with the variables added to the environment ("NAME=value"): for errors after
// which a process has no device any more, and for another libcuda, of which a process loads one. The test must be the
// one that called it, not have been started in parallel with others that Process would start again.
func Process(t *testing.T, f func(t *testing.T), variables ...string) {
	t.Helper()
	if os.Getenv(childOf) == t.Name() {
		f(t)
		return
	}
	var pattern []string
	for _, part := range strings.Split(t.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	cmd := exec.Command(os.Args[0], "-test.run", strings.Join(pattern, "/"), "-test.count=1", "-test.v")
	cmd.Env = append(append(os.Environ(), variables...), fmt.Sprintf("%s=%s", childOf, t.Name()))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("in a process of its own: %v\n%s", err, out)
	}
}

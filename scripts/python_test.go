//go:build python || sglang

// Tests of the Python programs here that have no test of their own elsewhere.
package scripts_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Which variable names the interpreter: any Python, or one that has what SGLang needs.
const (
	plainPython  = "FANOUTBENCH_PYTHON"
	sglangPython = "FANOUTBENCH_SGLANG_PYTHON"
)

func setting(t *testing.T, variable string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		t.Fatalf("%s is not set; scripts/test sets it", variable)
	}
	return value
}

// python runs a program without leaving bytecode in the tree.
func python(t *testing.T, interpreter string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.Command(setting(t, interpreter), append([]string{"-B"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func hash(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

package sglang

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pythonTimeout is how long an interpreter may take to say its version.
const pythonTimeout = 30 * time.Second

// Python is an interpreter that runs.
type Python struct{ Path, Version string }

// FindPython finds the interpreter: the one that is named, else that of the active
// virtual environment, else python3 in PATH. It must run.
func FindPython(ctx context.Context, name string) (Python, error) {
	why := ""
	if name == "" {
		name = "python3"
		why = ", which is taken since no --python is given and no virtual environment is active"
		if env := os.Getenv("VIRTUAL_ENV"); env != "" {
			name = filepath.Join(env, "bin", "python")
			why = ", which is that of the active virtual environment"
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return Python{}, wrong("python: interpreter %s%s: %w", name, why, err)
	}
	if path, err = filepath.Abs(path); err != nil { // not its link's end: that is another environment
		return Python{}, fmt.Errorf("sglang: %w", err)
	}
	out, err := runPython(ctx, path, pythonTimeout, "-I", "-B", "-c", "import platform; print(platform.python_version())")
	if err != nil {
		return Python{}, fmt.Errorf("interpreter %s%s does not run: %w", path, why, err)
	}
	version := strings.TrimSpace(out)
	if version == "" || strings.ContainsAny(version, " \n") {
		return Python{}, wrong("interpreter %s%s says %q where it should print its version: is it a Python?", path, why, version)
	}
	return Python{Path: path, Version: version}, nil
}

// runPython gives what the interpreter prints; its error says what it said.
func runPython(ctx context.Context, path string, timeout time.Duration, args ...string) (string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %v", timeout))
	defer cancel()
	cmd := exec.CommandContext(limited, path, args...)
	cmd.WaitDelay = time.Second // what it has started may hold its output open
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return string(out), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case limited.Err() != nil:
		return "", wrong("%w", context.Cause(limited))
	case errors.As(err, &exit) && len(exit.Stderr) > 0:
		return "", wrong("%w: %s", err, lastOf(string(exit.Stderr)))
	}
	return "", wrong("%w", err)
}

// lastOf is the end of what a program said, where it says what went wrong.
func lastOf(said string) string {
	said = strings.TrimSpace(said)
	if cut := len(said) - 2000; cut > 0 {
		said = "..." + strings.ToValidUTF8(said[cut:], "")
	}
	return said
}

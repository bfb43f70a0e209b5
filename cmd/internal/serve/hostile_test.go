package serve

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// refusedStart is what the program says when it must not start.
func refusedStart(t *testing.T, env []string, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"--port", "0"}, argv...)...)
	dir := t.TempDir()
	cmd.Env = append(append(os.Environ(), programVar+"=1", "TMPDIR="+dir), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("it ended without an error; the log:\n%s", out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return string(out)
}

// Too little memory for the cache asked for is said first and alone, with the sizes.
func TestTooLittleMemory(t *testing.T) {
	got := refusedStart(t, nil, "--max-total-tokens", "2000000000")
	if want := "fanoutserve: too little memory for the cache asked for: max_total_tokens 2000000000 need "; !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 {
		t.Errorf("got %s, want one line %q", got, want)
	}
}

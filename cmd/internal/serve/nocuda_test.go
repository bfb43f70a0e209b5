//go:build !cuda

package serve

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The default build has no GPU: it says how to build one that has, and auto goes on with the CPU.
func TestCUDANotBuilt(t *testing.T) {
	const want = "device cuda is not built: build with -tags cuda"
	cmd := exec.Command(os.Args[0], "--device", "cuda", "--port", "0")
	cmd.Env = append(os.Environ(), programVar+"=1")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitFail || !strings.HasPrefix(string(out), "fanoutserve: "+want) {
		t.Errorf("%v, %s, want status %d and %q", err, out, exitFail, want)
	}
	s := launch(t, "--device", "auto")
	if !strings.Contains(s.log.String(), "fanoutserve: device auto is cpu: "+want) {
		t.Errorf("the log of --device auto:\n%s", s.log)
	}
	s.term()
}

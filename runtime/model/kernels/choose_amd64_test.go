package kernels

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The processor's features are read once, so a process of its own says what is chosen
// without one of them.
func TestGODEBUGChoosesThePlainLoops(t *testing.T) {
	if os.Getenv("FANOUTBENCH_KERNELS_SAY") != "" {
		os.Stdout.WriteString("implementation " + Implementation() + "\n")
		return
	}
	with := plain.name
	if hasAVX2() {
		with = avx2.name
	}
	for debug, want := range map[string]string{"": with, "cpu.avx2=off": plain.name, "cpu.fma=off": plain.name} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestGODEBUGChoosesThePlainLoops$")
		cmd.Env = append(os.Environ(), "FANOUTBENCH_KERNELS_SAY=1", "GODEBUG="+debug)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "implementation "+want+"\n") {
			t.Errorf("GODEBUG=%s: %v, %q; want %s", debug, err, out, want)
		}
	}
}

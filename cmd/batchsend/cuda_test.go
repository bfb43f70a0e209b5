//go:build cuda

package main

import (
	"os"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

// A run on the GPU's model is as any other, here on the fake driver: every answer is checked, and batch sends are not
// split.
func TestRunOnCUDA(t *testing.T) {
	fake := os.Getenv("FANOUTBENCH_FAKECUDA")
	if fake == "" {
		t.Fatal(`FANOUTBENCH_FAKECUDA is not set; want the environment of: eval "$(scripts/cuda_env.sh)"`)
	}
	t.Setenv("FANOUTBENCH_LIBCUDA", fake)
	p := measure(t, "--set", "device=cuda").run(exitOK)
	f := p.folder()
	if v := f.Result.Verdict; v.Status != results.StatusVerified {
		t.Errorf("verdict %+v", v)
	}
	// Scores differ in their last bits: on this device few tokens are multiplied in another order than many.
	if f.Result.Agreement.Compared != f.Result.Requests || f.Result.Agreement.Intolerant != 0 {
		t.Errorf("%d requests, agreement %+v, want answers to all that are equal but for the tolerance", f.Result.Requests, f.Result.Agreement)
	}
	for i := range f.Trials {
		for _, r := range f.Requests[i] {
			checkItems(t, r)
		}
	}
	command(t, "verify", p.output).run(exitOK)
}

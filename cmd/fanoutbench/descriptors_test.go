package main

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

// Where descriptors run out the run ends, says so, and leaves nothing: in the
// driver before or within the run, in the controller as it binds its consumers, in
// the worker as it connects to them.
func TestDescriptorsRunOut(t *testing.T) {
	const refused = "too many open files"
	for _, limit := range []string{"driver=8", "driver=12", "driver=16", "driver=20", "__controller=8", "__controller=20", "__worker=8", "__worker=14"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			p := measure(t, []string{envFiles + "=" + limit}, "--http-workers", "16", "--counts", "32", "--timeout", "3s")
			p.run(exitInvalid)
			p.has("stderr and stdout", p.stderr.String()+p.stdout.String(), refused)
		})
	}
	for _, enough := range []string{"driver=80", "__controller=80", "__worker=80"} {
		t.Run(enough, func(t *testing.T) {
			t.Parallel()
			p := measure(t, []string{envFiles + "=" + enough}, "--http-workers", "16", "--counts", "32")
			p.run(exitOK)
			if v := p.folder().Result.Verdict; v.Status != results.StatusVerified {
				t.Errorf("verdict %+v", v)
			}
		})
	}
}

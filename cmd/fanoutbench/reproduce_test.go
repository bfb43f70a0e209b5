package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

// again reproduces the run of p, from its folder and the history.
func (h *history) again(t *testing.T, p *program, code int, args ...string) *program {
	t.Helper()
	r := newProgram(t, h.env)
	r.cmd.Args = append(r.cmd.Args, append([]string{"reproduce", p.output, "--output", r.output, "--repo", h.repo}, args...)...)
	r.run(code)
	return r
}

// Built-in arms are the program at the revision of the run, with what was not
// committed, and it runs the workers of trees too.
func TestReproduceBuiltin(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := h.compare(t, "--reference", "builtin:per-row", "--candidate", "git:topic", "--layouts", "1", "--process", "round", "--rounds", "6")
	p.run(exitOK)
	r := h.again(t, p, exitOK)
	old, f := p.folder(), r.folder()
	if f.Plan.Seed == old.Plan.Seed || f.Plan.Candidate.Spec != "git:"+h.topic || len(f.Plan.Primary) != 3 {
		t.Errorf("plan %+v; want a new seed, a commit, and a family", f.Plan)
	}
	for name, stamp := range map[string]string{results.Reference: "three", results.Candidate: "two"} {
		a, b := old.Result.Arms[name], f.Result.Arms[name]
		if b.Packages[stampKey] != stamp || b.Patch != f.Result.Arms[name].Patch || results.SourcesDiffer(a.Sources, b.Sources) != "" {
			t.Errorf("%s: %+v\nwant %+v", name, b, a)
		}
	}
	r.has("stdout", r.stdout.String(), "reproduces the run in", "program of commit "+h.topic+" with a patch of", "all 1 layouts are the same", "under the controller of that run's program", "of 3 primary cells")
	v := newProgram(t, nil, "verify", r.output, "--original", p.output)
	v.run(exitOK)
	v.has("stdout", v.stdout.String(), "ok    reproduces.json")
}

// A folder's worker is rebuilt from its commit and patch into the same executable.
func TestReproduceTrees(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := h.compare(t, "--reference", "git:main", "--candidate", ".", "--rounds", "6")
	p.run(exitOK)
	r := h.again(t, p, exitOK)
	a, b := p.folder().Result.Arms[results.Candidate], r.folder().Result.Arms[results.Candidate]
	if b.Packages[stampKey] != "three" || a.BinarySHA256[len(a.BinarySHA256)-1] != b.BinarySHA256[len(b.BinarySHA256)-1] {
		t.Errorf("%+v\nwant the worker of %+v", b, a)
	}
	r.has("stdout", r.stdout.String(), "worker of commit "+h.topic+" with a patch of", "the executable is the same")

	// The same run, of which something is not there any more or was changed.
	empty, bare := t.TempDir(), t.TempDir()
	if out, err := exec.Command("git", "init", "-q", bare).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	coins := h.again(t, p, exitUsage, "--seed", "7")
	coins.has("stderr", coins.stderr.String(), "seed is 7", "want fresh coins")
	gone := h.again(t, p, exitInvalid, "--repo", bare)
	gone.has("stderr", gone.stderr.String(), "the reference cannot be rebuilt", `no revision "`+h.main+`"`)
	none := h.again(t, p, exitInvalid, "--repo", empty)
	none.has("stderr", none.stderr.String(), "in no git repository")
	exists := newProgram(t, h.env, "reproduce", p.output, "--output", p.output)
	exists.run(exitUsage)
	exists.has("stderr", exists.stderr.String(), "exists")
	other := h.again(t, p, exitInvalid, "--candidate", "exec:true")
	other.has("stderr", other.stderr.String(), "only the command of an exec arm can be another")
}

// An exec arm is run as it is; where its folder is not known it is to be given. A
// run that decided nothing is compared in the default family, and that is said.
func TestReproduceExec(t *testing.T) {
	t.Parallel()
	spec := fakeArm(t, "honest")
	p := measure(t, nil, "--reference", spec, "--candidate", spec, "--rounds", "6", "--primary", "none")
	p.run(exitOK)
	lost := newProgram(t, nil, "reproduce", p.output)
	lost.run(exitInvalid)
	if text := lost.stderr.String(); !strings.Contains(text, "the record does not say which folder") {
		t.Errorf("stderr %s", text)
	}
	r := newProgram(t, nil)
	r.cmd.Args = append(r.cmd.Args, "reproduce", p.output, "--output", r.output, "--reference", spec, "--candidate", spec)
	r.run(exitOK)
	r.has("stdout", r.stdout.String(), "the command is run as it is, and nothing of it was rebuilt", "OWN CLOCK", "that run had none and decided nothing; both are compared in the default one, with a margin of 5 %")
	v := newProgram(t, nil, "verify", r.output, "--original", p.output)
	v.run(exitOK)
	v.has("stdout", v.stdout.String(), "ok    reproduces.json: 3 primary cells", "both runs compared anew, that in "+p.output+" and this one: every outcome agrees")
	v = newProgram(t, nil, "verify", p.output, "--original", r.output)
	v.run(exitInvalid)
	v.has("stdout", v.stdout.String(), "FAIL  reproduces.json: the run has none, so there is nothing to compare with "+r.output)
}

// A run that did not verify is not reproduced, nor one without a revision.
func TestReproduceRefuses(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--counts", "1")
	p.run(exitOK)
	r := newProgram(t, nil, "reproduce", p.output)
	r.run(exitInvalid)
	r.has("stderr", r.stderr.String(), "the run's environment names no revision of the program", "run it from a checkout, or compare dir: or git: arms")
	bad := measure(t, nil, "--counts", "1", "--candidate", fakeArm(t, "silent"), "--start-timeout", "400ms")
	bad.run(exitInvalid)
	r = newProgram(t, nil, "reproduce", bad.output)
	r.run(exitInvalid)
	r.has("stderr", r.stderr.String(), "is invalid, want a verified one")
}

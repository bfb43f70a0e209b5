package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A real run can be explained; on Linux every trial knows what went on beside it.
// What the run does not have is a mistake in the command line.
func TestExplain(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--counts", "1,5")
	p.run(exitOK)
	_, err := os.Stat("/proc/self/task")
	for _, trial := range p.folder().Trials {
		d := trial.Disturbance
		if told := d != nil && d.Involuntary != nil && d.Voluntary != nil; told != (err == nil) {
			t.Errorf("%s: disturbance %+v, and /proc/self/task: %v", trial.Slot(), d, err)
		}
		if d != nil && d.Voluntary != nil && *d.Voluntary == 0 {
			t.Errorf("%s: no thread of the arm ever waited", trial.Slot())
		}
	}
	e := newProgram(t, nil, "explain", p.output, "--count", "5", "--metric", "first_ms")
	e.run(exitOK)
	e.has("explain", e.stdout.String(), "count 5, metadata rich, first_ms", "involuntary ref", "all 1 rounds: reference ")
	for want, args := range map[string][]string{
		"count is 7, want one of [1 5]": {"--count", "7"},
		`metadata is "plain"`:           {"--metadata", "plain"},
		`metric is "speed"`:             {"--metric", "speed"},
	} {
		e := newProgram(t, nil, append([]string{"explain", p.output}, args...)...)
		e.run(exitUsage)
		e.has("stderr", e.stderr.String(), want)
	}
	e = newProgram(t, nil, "explain", filepath.Join(p.dir, "nosuch"))
	e.run(exitInvalid)
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/worker/faulty"
	"github.com/fanoutbench/fanoutbench/results"
)

// One recorded trial of five rows: place 3 of the run (two warm-ups of a cell,
// round -1, and this), so that what is found is found in the trial struck.
const (
	struckRow   = "rid-00000003-00001"
	struckFence = "end-00000003-00003"
)

// A worker that is wrong at one row is found out under the unmodified
// controller, and the failure says where and what.
func TestFaultyWorkers(t *testing.T) {
	for name, k := range map[string]struct {
		fault faulty.Fault
		args  []string
		want  results.Failure
	}{
		"drops a row": {
			fault: faulty.Fault{Kind: faulty.Drop, RID: struckRow, Step: 1}, args: []string{"--timeout", "1500ms"},
			want: results.Failure{Consumer: new(1), RID: struckRow, Field: "rows", Wanted: new("3"), Got: new("1")},
		},
		"drops a row, sent without waiting": {
			fault: faulty.Fault{Kind: faulty.Drop, RID: struckRow, Step: 1}, args: []string{"--timeout", "1500ms", "--pace", "none"},
			want: results.Failure{Consumer: new(1), RID: struckRow, Field: "rows", Wanted: new("3"), Got: new("2")},
		},
		"doubles a row": {
			fault: faulty.Fault{Kind: faulty.Double, RID: struckRow, Step: 1},
			want:  results.Failure{Consumer: new(1), RID: struckRow, Field: "rows", Wanted: new("3"), Got: new("4")},
		},
		"swaps two rows between consumers": {
			fault: faulty.Fault{Kind: faulty.Misroute, RID: struckRow, Step: 1},
			want:  results.Failure{Consumer: new(1), RID: "rid-00000003-00002", Field: "consumer", Wanted: new("2"), Got: new("1")},
		},
		"swaps two rows of a consumer": {
			fault: faulty.Fault{Kind: faulty.Reorder, RID: "rid-00000003-00000", Step: 1},
			want:  results.Failure{Consumer: new(0), RID: "rid-00000003-00004", Field: "order", Wanted: new(`"rid-00000003-00000" at position 2`), Got: new(`"rid-00000003-00004"`)},
		},
		"changes a field": {
			fault: faulty.Fault{Kind: faulty.Field, RID: struckRow, Step: 1},
			want:  results.Failure{Consumer: new(1), RID: struckRow, Field: "completion_tokens", Wanted: new("2"), Got: new("3")},
		},
		"changes a field, raw": {
			fault: faulty.Fault{Kind: faulty.Field, RID: struckRow, Step: 1}, args: []string{"--consumer", "raw"},
			want: results.Failure{Consumer: new(1), RID: struckRow, Field: "completion_tokens", Wanted: new("2"), Got: new("3")},
		},
		"cuts the text": {
			fault: faulty.Fault{Kind: faulty.Cut, RID: struckRow, Step: 2},
			want:  results.Failure{Consumer: new(1), RID: struckRow, Field: "output_strs", Wanted: new(`"a b c" in all`), Got: new(`"a b " in all`)},
		},
		"adds a row after the fence": {
			fault: faulty.Fault{Kind: faulty.Surplus, RID: struckFence, Step: 2},
			want:  results.Failure{Consumer: new(3), RID: "never-asked-for", Field: "rids", Wanted: new("a rid of this trial"), Got: new(`"never-asked-for"`)},
		},
		"adds a thousand rows": {
			fault: faulty.Fault{Kind: faulty.Flood, RID: struckRow, Step: 1},
			want:  results.Failure{Consumer: new(1), RID: "never-asked-for", Field: "rids", Wanted: new("a rid of this trial"), Got: new(`"never-asked-for"`)},
		},
		"adds a row that comes in the next trial": {
			fault: faulty.Fault{Kind: faulty.Surplus, RID: "rid-00000003-00000", Step: 0},
			want:  results.Failure{Consumer: new(0), RID: "never-asked-for", Field: "rids", Wanted: new("a rid of this trial"), Got: new(`"never-asked-for"`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			foundOut(t, k.fault, k.want, k.args...)
		})
	}
}

// foundOut wants a run whose candidate's worker has the fault to end with that
// failure, in the rich cell of five rows.
func foundOut(t *testing.T, f faulty.Fault, want results.Failure, args ...string) {
	t.Helper()
	f.Only = "/candidate-"
	p := measure(t, []string{envFault + "=" + f.String()}, append(args, "--candidate", "builtin:per-row")...)
	p.run(exitInvalid)
	want.Arm, want.Count, want.Metadata = results.Candidate, 5, "rich"
	want.Round, want.Repetition = new(0), new(0)
	p.sameFailure(want)
}

// The death of a worker in the middle of a trial ends the trial at once.
func TestWorkerDiesInTrial(t *testing.T) {
	t.Parallel()
	f := faulty.Fault{Kind: faulty.Die, RID: struckRow, Only: "/candidate-"}
	p := measure(t, []string{envFault + "=" + f.String()}, "--candidate", "builtin:per-row")
	p.run(exitInvalid)
	got := p.failed(results.StatusInvalid)
	p.has("failure", got.Message, "trial 0.0.5.rich", "the worker's process ended; worker: the process ended: signal: killed")
	if got.Arm != results.Candidate || got.Count != 5 || value(got.Round) != 0 {
		t.Errorf("failure %+v", got)
	}
}

// A row that comes after the last trial's quiet period is found when the worker
// has ended.
func TestWorkerSendsAtTheEnd(t *testing.T) {
	t.Parallel()
	f := faulty.Fault{Kind: faulty.After, RID: struckRow, Only: "/candidate-"}
	p := measure(t, []string{envFault + "=" + f.String()}, "--candidate", "builtin:per-row")
	p.run(exitInvalid)
	p.has("failure", p.failed(results.StatusInvalid).Message,
		`1 rows came after the last trial's quiet period, the first to consumer 1 with rid "never-asked-for"`)
}

// The worker that is bent in no way passes, or the tests above say nothing.
func TestUnbentWorker(t *testing.T) {
	t.Parallel()
	f := faulty.Fault{Kind: faulty.None, RID: struckRow}
	p := measure(t, []string{envFault + "=" + f.String()}, "--candidate", "builtin:per-row")
	p.run(exitOK)
}

// A worker that is no worker of this controller's is refused at the start; its
// controller says why, and nothing lives on.
func TestForeignWorkers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const ready = `{"type":"ready","wire_version":99,"version":"","strategy":"per-row","needs_prepared":false,"packages":{},"counters":[]}`
	for name, k := range map[string]struct{ script, want string }{
		"of another version": {"read line; echo '" + ready + "'; cat >/dev/null", "the worker speaks wire version 99, this controller 2"},
		"that exits":         {"echo \"lost in $TMPDIR/x\" >&2; exit 9", "the process ended (exit status 9) without an answer"},
		"that is mute":       {"cat >/dev/null", "no receipt within 400ms"},
		"that talks first":   {"echo hello; cat >/dev/null", `line "hello" is not a JSON object`},
		"that is not there":  {"", "start"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := measure(t, nil)
			path := filepath.Join(p.dir, "worker")
			if k.script != "" {
				if err := os.WriteFile(path, []byte("#!/bin/sh\n"+k.script+"\n"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			spec := fmt.Sprintf("exec:'%s' %s --strategy per-row --worker '%s'", self, arm.ControllerCommand, path)
			p.cmd.Args = append(p.cmd.Args, "--candidate", spec)
			if strings.Contains(k.want, "400ms") { // not for an arm that should keep it
				p.cmd.Args = append(p.cmd.Args, "--reference", spec, "--start-timeout", "400ms")
			}
			p.run(exitInvalid)
			f := p.failed(results.StatusInvalid)
			p.has("failure", f.Message, k.want)
			either := strings.Contains(k.want, "400ms") && f.Arm == results.Reference // both are mute, and start side by side
			if f.Arm != results.Candidate && !either {
				t.Errorf("the failure names arm %q", f.Arm)
			}
			log, err := os.ReadFile(filepath.Join(p.output, results.LogFolder, "candidate.log"))
			if err != nil || strings.Contains(string(log), p.tmp) || strings.Contains(string(log), "lost in $TMP/x\n") != (name == "that exits") {
				t.Errorf("the log is %q, %v", log, err)
			}
		})
	}
}

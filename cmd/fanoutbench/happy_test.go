package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/worker"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// What a strategy does with a batch of 32 rows with both metadata fields for
// four consumers: columns opened, messages sent.
var counters = map[string]struct{ decodes, messages float64 }{
	"per-row": {64, 32}, "reuse": {4, 32}, "grouped": {8, 4}, "splice": {0, 32}, "grouped-splice": {0, 4}, "floor": {0, 32},
}

// Every strategy over both transports, two of them a run. Of transport, consumer,
// pace and process lifetime every two settings meet, and each meets every strategy.
func TestStrategies(t *testing.T) {
	for i, pair := range strategyPairs() {
		for j, transport := range []string{protocol.TransportMsgpack, protocol.TransportNative} {
			args := []string{
				"--reference", "builtin:" + pair[0], "--candidate", "builtin:" + pair[1], "--transport", transport, "--counts", "1,5,32", "--metadata", "plain,rich",
				"--consumer", []string{protocol.ConsumerDecode, protocol.ConsumerRaw}[(i+j)%2],
				"--pace", []string{protocol.PaceArrived, protocol.PaceNone}[(i/2+j)%2],
				"--process", []string{results.ProcessRound, results.ProcessRun}[((i+1)/2+j)%2],
			}
			t.Run(pair[0]+" "+pair[1]+"/"+transport, func(t *testing.T) {
				t.Parallel()
				p := measure(t, nil, args...)
				p.run(exitOK)
				p.verified(transport, pair[0], pair[1])
			})
		}
	}
}

// strategyPairs has every strategy once, or the first of an odd number twice.
func strategyPairs() (pairs [][2]string) {
	all := worker.List().Strategies
	for i := 0; i < len(all); i += 2 {
		pairs = append(pairs, [2]string{all[i].Name, all[(i+1)%len(all)].Name})
	}
	return pairs
}

func (p *program) verified(transport, reference, candidate string) {
	p.t.Helper()
	f := p.folder()
	if v := f.Result.Verdict; v.Status != results.StatusVerified || v.Failure != nil {
		p.t.Errorf("verdict %+v", v)
	}
	p.has("stdout", p.stdout.String(), "verified: 912, fence rows 288", "reference ms")
	for _, row := range f.Result.Summary {
		if row.Count != 32 || row.Metadata != "rich" {
			continue
		}
		for arm, name := range map[string]string{results.Reference: reference, results.Candidate: candidate} {
			want, known := counters[name]
			if transport == protocol.TransportNative {
				want.decodes = 0
			}
			got := row.Counters[arm]
			if !known || got[protocol.CounterOpaqueDecodes] != want.decodes || got[protocol.CounterMessages] != want.messages {
				p.t.Errorf("%s %s: counters %v, want %+v", arm, name, got, want)
			}
		}
	}
	p.properties(f)
	v := newProgram(p.t, nil, "verify", p.output)
	v.run(exitOK)
	if text := v.stdout.String(); strings.Contains(text, "FAIL") || !strings.Contains(text, "ok    summary") {
		p.t.Errorf("verify: %s", text)
	}
}

// properties hold for every recorded trial.
func (p *program) properties(f *results.Folder) {
	p.t.Helper()
	works := map[string]results.Slot{}
	for i, trial := range f.Trials {
		slot := trial.Slot()
		first := f.Plan.First[trial.Round+1] == trial.Arm
		if first != (trial.Position == 0) {
			p.t.Errorf("%s: the coin of the round is %s", slot, f.Plan.First[trial.Round+1])
		}
		if *trial.FirstMS <= 0 || *trial.FirstMS > *trial.FirstAllMS || *trial.FirstAllMS > trial.CompleteMS || trial.CompleteMS > trial.OuterMS {
			p.t.Errorf("%s: first %v, first_all %v, complete %v, outer %v, want them in this order",
				slot, *trial.FirstMS, *trial.FirstAllMS, trial.CompleteMS, trial.OuterMS)
		}
		if (trial.SpreadMS == nil) != (trial.Count == 1) || trial.SpreadMS != nil && (*trial.SpreadMS < 0 || *trial.SpreadMS > trial.CompleteMS) {
			p.t.Errorf("%s: spread %v", slot, trial.SpreadMS)
		}
		if trial.Counters[protocol.CounterMessages] <= 0 || trial.Counters[protocol.CounterBytes] <= 0 {
			p.t.Errorf("%s: counters %v", slot, trial.Counters)
		}
		before, seen := works[trial.WorkSHA256]
		works[trial.WorkSHA256] = slot
		if pair := i%2 == 1; pair != seen || pair && (before.Round != slot.Round || before.Repetition != slot.Repetition || before.Arm == slot.Arm) {
			p.t.Errorf("%s has the work of %s", slot, before)
		}
	}
	if len(f.Trials) != f.Plan.Len() {
		p.t.Errorf("%d trials, the plan has %d", len(f.Trials), f.Plan.Len())
	}
}

// More rounds and repetitions, with the coins of a seed that has both sides.
func TestRounds(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--rounds", "6", "--repetitions", "2", "--counts", "2", "--process", "run", "--http-workers", "3")
	p.run(exitOK)
	f := p.folder()
	p.properties(f)
	sides := map[string]bool{}
	for _, first := range f.Plan.First {
		sides[first] = true
	}
	if len(sides) != 2 {
		t.Errorf("seed %d has only the coins %v: choose another", f.Plan.Seed, f.Plan.First)
	}
	if n := len(p.pids("__worker")); n != 3 { // the list, and one for each arm
		t.Errorf("%d worker processes, want 3", n)
	}
}

// Two runs of one seed plan the same and send the same.
func TestSameSeed(t *testing.T) {
	t.Parallel()
	var works [2][]string
	for i := range works {
		p := measure(t, nil)
		p.run(exitOK)
		for _, trial := range p.folder().Trials {
			works[i] = append(works[i], trial.WorkSHA256)
		}
	}
	if a, b := strings.Join(works[0], " "), strings.Join(works[1], " "); a != b || a == "" {
		t.Errorf("work of two runs of one seed:\n%s\n%s", a, b)
	}
}

// With no flags but the output's the bare command is run.
func TestDryRun(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil, "--dry-run", "--seed", "7")
	before := len(filesBelow(t, p.dir))
	p.run(exitOK)
	p.has("stdout", p.stdout.String(), "reference: builtin:per-row", "candidate: builtin:splice", `"seed": 7`,
		"123480 rows and 4320 fence rows to verify")
	if after := len(filesBelow(t, p.dir)); after != before {
		t.Errorf("%d files, before %d", after, before)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil, "list")
	p.run(exitOK)
	for _, s := range worker.List().Strategies {
		p.has("list", p.stdout.String(), "builtin:"+s.Name, s.Summary)
	}
	p.has("list", p.stdout.String(), "zmq=zmtp")
}

// doctor says something of everything, whatever this machine is like.
func TestDoctor(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil, "doctor")
	p.cmd.Env = append(p.cmd.Env, "GOGC=77")
	p.run(exitOK)
	p.has("doctor", p.stdout.String(), "SPOILS   Go runtime settings: GOGC=77", "mend: unset GOGC", "of 16 things spoil measurements here")
}

func TestReport(t *testing.T) {
	t.Parallel()
	p := measure(t, nil)
	p.run(exitOK)
	for format, want := range map[string]string{
		"text": p.stdout.String(), "markdown": "| count | metadata | metric", "csv": "run_rounds", "json": `"rows_verified": true`,
	} {
		r := newProgram(t, nil, "report", p.output, "--format", format)
		r.run(exitOK)
		r.has("report as "+format, r.stdout.String(), want)
	}
	r := newProgram(t, nil, "report", filepath.Join(p.dir, "nosuch"))
	r.run(exitInvalid)
}

// An arm of every strategy keeps the protocol; broken ones are told by clause.
func TestCheckArm(t *testing.T) {
	for i, s := range worker.List().Strategies {
		if i%2 == 1 && os.Getenv(envLong) == "" {
			continue // per-row, grouped and grouped-splice do; floor has one of its own
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, nil, "check-arm", "builtin:"+s.Name)
			p.run(exitOK)
			if text := p.stdout.String(); strings.Contains(text, "FAIL") || strings.Count(text, "\nok ") != 11 {
				t.Errorf("check-arm: %s", text)
			}
		})
	}
	for kind, want := range map[string][]string{
		"row missing":   {"ok    handshake", "FAIL  trial", `rid "end-`, "ok    version", "ok    stop"},
		"version":       {"FAIL  handshake", "protocol version 2"},
		"lacks a field": {"ok    handshake", "FAIL  fields", "message BatchStrOutput lacks customized_info", "ok    trial", "ok    stop"},
		"late first":    {"FAIL  trial", "first_ms is 1e+06, want 0 to complete_ms", "ok    stop"},
		"encore":        {"FAIL  stop", "after stopped"},
		"another trial": {"ok    handshake", "FAIL  trial", `a result for trial "9.9.9.rich"`, "ok    stop"},
		"dies at once":  {"FAIL  handshake", "exit status 7"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, nil, "check-arm", fakeArm(t, kind), "--timeout", "5s")
			p.run(exitInvalid)
			p.has("check-arm", p.stdout.String(), want...)
		})
	}
}

// A temporary folder whose path is too long for a socket is not used.
func TestLongTemporaryFolder(t *testing.T) {
	t.Parallel()
	p := measure(t, nil)
	long := filepath.Join(p.tmp, strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	p.cmd.Env = append(p.cmd.Env, "TMPDIR="+long)
	p.tmp = long
	p.run(exitOK)
	plan, err := json.Marshal(p.folder().Plan)
	if err != nil || bytes.Contains(plan, []byte(long)) {
		t.Errorf("plan: %s, %v", plan, err)
	}
}

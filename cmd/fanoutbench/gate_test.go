package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// paired makes a real run of two built-in arms in this process, with a family of
// complete_ms and worker_cpu_ms of one rich cell unless rounds is negative.
func paired(t *testing.T, reference, candidate builtin, count, rounds int) string {
	t.Helper()
	return pairedOf(t, "", reference, candidate, count, rounds)
}

// pairedOf is paired with a kind of plan.
func pairedOf(t *testing.T, kind string, reference, candidate builtin, count, rounds int) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fb") // short, since sockets go below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	pids := filepath.Join(dir, "pids")
	if err := os.WriteFile(pids, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(envPIDs, pids) // what is started from here is the program
	p := results.Plan{Rounds: max(rounds, -rounds), Repetitions: 1, Counts: []int{count}, Metadata: []string{results.MetadataRich}, Process: results.ProcessRun}
	if rounds > 0 {
		p.MarginPct, p.Kind = 5, kind
		for _, metric := range []string{"complete_ms", "worker_cpu_ms"} {
			p.Primary = append(p.Primary, results.Primary{Count: count, Metadata: results.MetadataRich, Metric: metric, Role: results.RoleSuperiority})
		}
	}
	output := filepath.Join(dir, "run")
	specs := map[string]builtin{results.Reference: reference, results.Candidate: candidate}
	if _, err := pairedRun(t.Context(), io.Discard, p, specs, output); err != nil {
		t.Fatal(err)
	}
	return output
}

// gateOf runs gate on a folder, on a machine without calibrations and away from
// any CI but the one that env says.
func gateOf(t *testing.T, status int, env []string, args ...string) *program {
	t.Helper()
	p := newProgram(t, nil, append([]string{"gate"}, args...)...)
	clean := []string{"XDG_CACHE_HOME=" + filepath.Join(p.dir, "cache"), "GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY=", "GITHUB_RUN_ATTEMPT="}
	p.cmd.Env = append(append(p.cmd.Env, clean...), env...)
	p.run(status)
	return p
}

var (
	perRow = builtin{spec: "builtin:per-row"}
	splice = builtin{spec: "builtin:splice"}
)

// The positive control: a candidate that is slower by construction fails the
// gate, and with the arms the other way round it passes.
func TestGateCanFail(t *testing.T) {
	slower := paired(t, splice, perRow, 100, 6)
	summary := filepath.Join(t.TempDir(), "summary.md")
	p := gateOf(t, exitRegression, []string{"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + summary, "GITHUB_RUN_ATTEMPT=2"}, slower)
	p.has("stdout", p.stdout.String(), "gate: regression: slower by more than the margin", "100 rich worker_cpu_ms", "neither a control",
		"\n::error title=fanoutbench gate::regression: slower", "::warning title=fanoutbench gate::attempt 2, not corrected: with a fixed plan")
	b, err := os.ReadFile(summary)
	if err != nil {
		t.Fatal(err)
	}
	p.has("summary", string(b), "### fanoutbench gate: regression", "| regression | 100 rich worker\\_cpu\\_ms |", "    fanoutbench verify "+slower, "attempt 2, not corrected")
	if strings.Contains(string(b), "::error") {
		t.Errorf("the summary has annotations: %s", b)
	}

	faster := paired(t, perRow, splice, 100, 6)
	p = gateOf(t, exitOK, []string{"GITHUB_STEP_SUMMARY=" + summary}, faster, "--counters", "default", "--on-inconclusive", "fail")
	p.has("stdout", p.stdout.String(), "gate: pass: none of 2 primary cells is slower by more than 5 %", "100 rich opaque_decodes")
	if strings.Contains(p.stdout.String(), "::") {
		t.Errorf("annotations outside of GitHub's actions: %s", &p.stdout)
	}
	if b, err = os.ReadFile(summary); err != nil || strings.Count(string(b), "### fanoutbench gate") != 2 {
		t.Errorf("%v, the summary is not appended to: %s", err, b)
	}
	p = gateOf(t, exitOK, nil, faster, "--margin", "0.5%")
	p.has("stdout", p.stdout.String(), "not the plan's margin of 5 %", "chosen after the run")
}

// The positive control of calibrations: a delay that is asked for is there.
func TestDelayIsThere(t *testing.T) {
	const us = 20_000
	dir := paired(t, splice, builtin{splice.spec, map[string]string{protocol.OptionDelay: "20000"}}, 5, 6)
	f, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range f.Trials {
		// The worker computes until the time is over; a loaded machine gives it a part of a CPU meanwhile.
		if trial.Arm == results.Candidate && (trial.CompleteMS < 3*us/1000 || *trial.WorkerCPUMS < 3*us/1000*0.1) {
			t.Errorf("round %d: complete_ms %v, worker_cpu_ms %v; want three delays of 20 ms in it", trial.Round, trial.CompleteMS, *trial.WorkerCPUMS)
		}
	}
	if got := f.Plan.Candidate.Options[protocol.OptionDelay]; got != "20000" {
		t.Errorf("the plan says option %s is %q", protocol.OptionDelay, got)
	}
	gateOf(t, exitRegression, nil, dir)
}

// Attempts at an anytime plan are joined, and counted where GitHub counts them.
func TestGateOfAttempts(t *testing.T) {
	first := pairedOf(t, results.KindAnytime, perRow, splice, 32, 7)
	second := pairedOf(t, results.KindAnytime, perRow, splice, 32, 7)
	again := []string{"GITHUB_RUN_ATTEMPT=2"}
	p := gateOf(t, exitOK, again, second)
	p.has("stdout", p.stdout.String(), "7 rounds, anytime plan", "attempt 2, not corrected: give --earlier")
	p = gateOf(t, exitOK, again, second, "--earlier", first)
	p.has("stdout", p.stdout.String(), "14 rounds, anytime plan", "attempt 2, with the rounds of the 1 before it", first+" (7 rounds), "+second+" (7 rounds)")
	p = gateOf(t, exitUsage, again, second, "--earlier", second)
	p.has("stderr", p.stderr.String(), "its coins are those of "+second)
}

func TestGateThatCannotTell(t *testing.T) {
	dir := paired(t, splice, splice, 5, 2)
	// Identical arms pass whatever they show; other ones need rounds.
	gateOf(t, exitOK, nil, dir, "--on-inconclusive", "fail")
	dir = paired(t, perRow, splice, 5, 2)
	p := gateOf(t, exitOK, []string{"GITHUB_ACTIONS=true"}, dir)
	p.has("stdout", p.stdout.String(), "gate: inconclusive: insufficient: 2 rounds", "below 6", "warning: inconclusive, and let through", "::warning title=fanoutbench gate::inconclusive")
	p = gateOf(t, exitInconclusive, []string{"GITHUB_ACTIONS=true"}, dir, "--on-inconclusive", "fail")
	p.has("stderr", p.stderr.String(), "gate: inconclusive: insufficient")
	p.has("stdout", p.stdout.String(), "::error title=fanoutbench gate::inconclusive: insufficient")
	p = gateOf(t, exitUsage, nil, dir, "--earlier", dir)
	p.has("stderr", p.stderr.String(), "cannot be joined", "fixed beforehand")
}

// Counters need one trial a cell and no family, and a rise fails.
func TestGateOfCounters(t *testing.T) {
	risen := paired(t, splice, perRow, 32, -1)
	p := gateOf(t, exitRegression, nil, risen, "--counters-only")
	p.has("stdout", p.stdout.String(), "gate: regression", "32 rich opaque_decodes", " 64 ")
	p = gateOf(t, exitOK, nil, risen, "--counters-only", "--counters", "messages=0,opaque_decodes=64")
	p.has("stdout", p.stdout.String(), "gate: pass: none of 2 counters")
	p = gateOf(t, exitUsage, nil, risen)
	p.has("stderr", p.stderr.String(), risen, "no primary cells", "--counters-only")
	p = gateOf(t, exitUsage, nil, risen, "--counters-only", "--counters", "syscalls=0")
	p.has("stderr", p.stderr.String(), `"syscalls"`, "reference", "opaque_decodes")

	for _, bad := range [][]string{
		{"--margin", "0"}, {"--margin", "-1"}, {"--margin", "1000%"}, {"--margin", "NaN"}, {"--on-inconclusive", "ignore"},
		{"--counters", "messages"}, {"--counters", "messages=-1"}, {"--margin", "5", "--counters-only"}, {"--calibration", "nowhere.json"},
	} {
		p := gateOf(t, exitUsage, nil, append([]string{risen}, bad...)...)
		p.has("stderr", p.stderr.String(), strings.SplitN(bad[len(bad)-1], "=", 2)[0])
	}
	gateOf(t, exitInvalid, nil, filepath.Join(risen, "nowhere"))
	damaged(t, risen)
}

// damaged wants runs that are not what they were refused, by file and value.
func damaged(t *testing.T, run string) {
	t.Helper()
	raw := filepath.Join(run, results.RawFile)
	good, err := os.ReadFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"a time below zero", `"complete_ms":`, `"complete_ms":-`, "complete_ms is -"},
		{"no number", `"complete_ms":`, `"complete_ms":NaN,"x":`, "raw.jsonl:1"},
		{"another run's", `"started_at":"2`, `"started_at":"3`, "raw.jsonl has sha256"},
	} {
		changed := strings.Replace(string(good), c.old, c.new, 1)
		if changed == string(good) {
			t.Fatalf("%s: raw.jsonl has no %s", c.name, c.old)
		}
		if err := os.WriteFile(raw, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		p := gateOf(t, exitInvalid, nil, run, "--counters-only")
		p.has("stderr", p.stderr.String(), run, c.want)
	}
}

func TestAnnotationsAreOneLine(t *testing.T) {
	if got, want := annotation("error", "50 %\n::warning::x\r"), "::error title=fanoutbench gate::50 %25%0A::warning::x%0D\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAttempts(t *testing.T) {
	for _, c := range []struct {
		attempt string
		earlier int
		kind    string
		want    string
	}{
		{"", 0, "fixed", ""}, {"1", 0, "fixed", ""}, {"2", 0, "fixed", "attempt 2, not corrected: with a fixed plan"},
		{"2", 0, results.KindAnytime, "attempt 2, not corrected: give --earlier"}, {"3", 2, results.KindAnytime, "attempt 3, with the rounds of the 2 before it"},
		{"4", 2, results.KindAnytime, "not corrected for the others"}, {"x", 0, "fixed", `"x"`}, {"0", 0, "fixed", `"0"`},
	} {
		g := results.GatedTimes{Kind: c.kind}
		attempts(&g, c.attempt, c.earlier)
		if said := strings.Join(append(g.Notes, g.Warnings...), ""); (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
			t.Errorf("attempt %q after %d: %q, want %q", c.attempt, c.earlier, said, c.want)
		}
	}
}

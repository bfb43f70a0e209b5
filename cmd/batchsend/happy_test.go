package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

var update = flag.Bool("update", false, "write the golden files anew")

// A whole run of both builtin arms: every request is answered alike, each item is
// accounted for in the prefill batches, and batch sends are not split.
func TestRun(t *testing.T) {
	t.Parallel()
	p := measure(t, "--rounds", "2").run(exitOK)
	f := p.folder()
	if v := f.Result.Verdict; v.Status != results.StatusVerified {
		t.Errorf("verdict %+v", v)
	}
	if len(f.Trials) != 8 || f.Result.Agreement.Compared != f.Result.Requests || f.Result.Agreement.Different != 0 {
		t.Errorf("%d trials, %d requests, agreement %+v, want 8 trials and equal answers to all", len(f.Trials), f.Result.Requests, f.Result.Agreement)
	}
	for i, trial := range f.Trials {
		if !trial.Fresh || trial.Evidence != batchrun.EvidenceAdmissions {
			t.Errorf("trial %d: fresh %v, evidence %q, want a server of its round, and admissions", i, trial.Fresh, trial.Evidence)
		}
		for _, r := range f.Requests[i] {
			checkItems(t, r)
		}
	}
	p.says("Single request latency", "Open loop", "builtin:individual", "builtin:batch", "Paired reductions", "The same load again: batchsend ")
	command(t, "verify", p.output).run(exitOK)
	for format, want := range map[string]string{"text": "Primary cells", "markdown": "|", "csv": "target_rps,item_count,avg_response_time_ms,p50_response_time_ms,p90_response_time_ms,p99_response_time_ms,Method,", "json": `"decision"`, "html": "<html"} {
		command(t, "report", p.output, "--format", format).run(exitOK).says(want)
	}
	command(t, "gate", p.output).run(exitOK).says("inconclusive")
	command(t, "gate", p.output, "--on-inconclusive", "fail").run(exitInconclusive)
	golden(t, "run.txt", tables(p.stdout.String()))
}

func checkItems(t *testing.T, r batchrun.Request) {
	t.Helper()
	items := 0
	for _, s := range r.Prefills {
		items += s.Items
		if s.AtMS == nil || r.FirstItemMS == nil || *s.AtMS < *r.FirstItemMS {
			t.Errorf("%s, request %d: a prefill batch at %v ms, want it after the first item has come", r.Arm, r.Index, s.AtMS)
		}
	}
	if items != 3 || r.PromptTokens != 3*(4+6) {
		t.Errorf("%s, request %d: %d items in prefill batches, %d tokens, want 3 and 30", r.Arm, r.Index, items, r.PromptTokens)
	}
	if r.Arm == batchrun.Candidate && len(r.Prefills) != 1 {
		t.Errorf("batch send, request %d: %+v, want one prefill batch", r.Index, r.Prefills)
	}
	if r.FirstItemMS == nil || r.LeadingMS == nil || *r.FirstItemMS > *r.LeadingMS {
		t.Errorf("%s, request %d: first item at %v ms, leading %v ms", r.Arm, r.Index, r.FirstItemMS, r.LeadingMS)
	}
}

// tables are the two published ones.
func tables(report string) string {
	from, to := strings.Index(report, "Single request latency"), strings.Index(report, "Response times from")
	if from < 0 || to < from {
		return report
	}
	return report[from:to]
}

func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	got := blanked(text)
	if *update {
		if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got+"\n" != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// The seed gives coins, schedules and bodies; servers of --restart run are started once.
func TestSeed(t *testing.T) {
	t.Parallel()
	a := measure(t, "--restart", "run", "--rounds", "3", "--single-requests", "0").run(exitOK).folder()
	b := measure(t, "--restart", "run", "--rounds", "3", "--single-requests", "0").run(exitOK).folder()
	other := measure(t, "--rounds", "3", "--single-requests", "0", "--seed", "8").run(exitOK).folder()
	if a.PlanSHA256 != b.PlanSHA256 || a.PlanSHA256 == other.PlanSHA256 {
		t.Errorf("plans %s, %s of one seed, %s of another", a.PlanSHA256, b.PlanSHA256, other.PlanSHA256)
	}
	if a.Plan.Schedules[0].SHA256 == a.Plan.Schedules[1].SHA256 {
		t.Error("two rounds have the same schedule")
	}
	fresh := func(f *batchrun.Folder) (list []bool) {
		for _, trial := range f.Trials {
			list = append(list, trial.Fresh)
		}
		return list
	}
	if got, want := fresh(a), []bool{true, true, false, false, false, false}; !slices.Equal(got, want) {
		t.Errorf("fresh %v, want %v", got, want)
	}
	if got := fresh(other); slices.Contains(got, false) {
		t.Errorf("fresh %v, want a server of its own each round", got)
	}
}

// What was found or drawn stands in the command that repeats a load, which makes the
// same plan.
func TestAgain(t *testing.T) {
	t.Parallel()
	p := measure(t, "--single-requests", "0", "--set", "sim-step-base=0.004", "--set", "log-level=debug", "--label-token-ids", "70,71", "--reference", "builtin:individual").run(exitOK)
	_, line, found := strings.Cut(p.stdout.String(), "The same load again: batchsend ")
	if !found {
		t.Fatal(p.stdout.String())
	}
	output := filepath.Join(t.TempDir(), "again")
	again := command(t, append(strings.Fields(line), "--output", output)...)
	again.output = output
	again.run(exitOK)
	if a, b := p.folder().PlanSHA256, again.folder().PlanSHA256; a != b {
		t.Errorf("%s makes plan %s, want %s", line, b, a)
	}
	if again := typed(p.folder().Result.Repeat); again != "batchsend "+strings.TrimSpace(line) {
		t.Errorf("recorded is %s, printed %s", again, line)
	}
	if got, want := quoted("launch:serve it's {port}"), `'launch:serve it'\''s {port}'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The record has the whole command line of each server; its flags are those that the
// server says are in force.
func TestServerCommands(t *testing.T) {
	t.Parallel()
	serve := "launch:" + quoted(os.Args[0]) + " __serve --device sim --port {port}"
	f := measure(t, "--reference", serve, "--candidate", "builtin:batch@max-tokens=30", "--single-requests", "0", "--score-tolerance", "1").run(exitOK).folder()
	reference, candidate := f.Result.Arms[batchrun.Reference], f.Result.Arms[batchrun.Candidate]
	if want := []string{"sh", "-c", "exec " + results.Portable(strings.TrimPrefix(serve, "launch:"))}; !slices.Equal(reference.Command, want) {
		t.Errorf("reference %q, want %q", reference.Command, want)
	}
	for _, want := range []string{serveCommand, "--port", "--enable-tokenizer-batch-encode", "--batch-send-max-tokens=30", "--device=sim"} {
		if !slices.Contains(candidate.Command, want) {
			t.Errorf("candidate %q lacks %q", candidate.Command, want)
		}
	}
	if !slices.ContainsFunc(candidate.Command, func(w string) bool { return strings.HasPrefix(w, "--admission-records=") }) {
		t.Errorf("candidate %q lacks the flag that this program adds", candidate.Command)
	}
}

// Other APIs, colder loads and shapes are loads like any.
func TestLoads(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"cold":                 {"--cold", "--warmup", "0"},
		"different requests":   {"--unique-requests", "3", "--shared-prefix"},
		"streamed completions": {"--api", "completions", "--output-tokens", "5"},
		"chat":                 {"--api", "chat", "--item-count", "1"},
		"the CPU's model":      {"--set", "device=cpu"},
		"constant gaps":        {"--distribution", "constant"},
		"a token limit":        {"--candidate", "builtin:batch@max-tokens=10", "--reference-set", "log-level=debug"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := measure(t, args...).run(exitOK).folder()
			for i, trial := range f.Trials {
				for _, r := range f.Requests[i] {
					if f.Plan.API != batchrun.APIScore && len(r.TokenMS) < len(r.ChunkMS) || f.Plan.API == batchrun.APICompletions && len(r.TokenMS) != 15 {
						t.Errorf("%v: %d tokens in %d chunks", trial.Slot(), len(r.TokenMS), len(r.ChunkMS))
					}
				}
			}
		})
	}
}

// The search for the rate of a cold load meets a cold cache: the server takes its time for every name that it has not
// had, and holds 20 requests a second.
func TestColdSearch(t *testing.T) {
	t.Parallel()
	cold := func() *fake {
		var mu sync.Mutex
		seen := map[string]bool{}
		return &fake{name: func(rid string) {
			mu.Lock()
			defer mu.Unlock()
			if !seen[rid] {
				time.Sleep(50 * time.Millisecond)
			}
			seen[rid] = true
		}}
	}
	p := measure(t, "--reference", cold().serve(t), "--candidate", cold().serve(t), "--cold", "--single-requests", "0", "--duration", "2s")
	at := slices.Index(p.args, "--rps")
	p.args = slices.Delete(p.args, at, at+2)
	f := p.run(exitOK, exitInvalid).says("is safe: --rps ").folder()
	if got := f.Plan.Cells[0].RPS; got > 12 {
		t.Errorf("found %v requests a second, want about 10, half of what a cold cache holds", got)
	}
}

// Requests of a file are sent as they are.
func TestDataset(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	if err := os.WriteFile(path, []byte(`{"query": "Is it so? ", "items": ["yes", "no, never"]}`+"\n"+`{"query": "And so? ", "items": ["a", "b"]}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, output: filepath.Join(t.TempDir(), "run"), args: []string{"--rounds", "1", "--duration", "400ms", "--rps", "20", "--single-requests", "2", "--max-lateness", "1h", "--seed", "7", "--dataset", path}}
	p.args = append(p.args, "--output", p.output)
	f := p.run(exitOK).folder()
	if f.Plan.DatasetSHA256 == "" || f.Plan.UniqueRequests != 2 || f.Plan.Cells[0].Items != 2 {
		t.Errorf("plan %+v", f.Plan)
	}
	if err := os.WriteFile(path, []byte("{\"query\": \"Is it so? \", \"items\": [\"yes\"]}\n{\"query\": 3}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	measureBad := &program{t: t, args: []string{"--dataset", path, "--output", filepath.Join(t.TempDir(), "run")}}
	measureBad.run(exitUsage).says("requests.jsonl:2: ")
}

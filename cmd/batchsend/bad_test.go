package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// against prepares a run of a good fake against another.
func against(t *testing.T, bad *fake, args ...string) *program {
	good := &fake{}
	return measure(t, append([]string{"--reference", good.serve(t), "--candidate", bad.serve(t)}, args...)...)
}

// Two servers that are none of this module, and do nothing wrong.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	f := against(t, &fake{}).run(exitOK).says("the scores' tolerance is").folder()
	for _, name := range []string{batchrun.Reference, batchrun.Candidate} {
		if a := f.Result.Arms[name]; a.Restart != batchrun.RestartNever || a.Kind != "url" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	for _, trial := range f.Trials {
		if trial.Fresh || trial.Evidence != "" {
			t.Errorf("%v: fresh %v, evidence %q, want neither", trial.Slot(), trial.Fresh, trial.Evidence)
		}
	}
}

// A server that ends every connection after its answer is slower, not wrong.
func TestClosesConnections(t *testing.T) {
	t.Parallel()
	f := against(t, &fake{close: true}).run(exitOK).folder()
	for _, trial := range f.Trials {
		if trial.Arm == batchrun.Candidate && trial.Sender.Connections < trial.Requests {
			t.Errorf("%v: %d connections for %d requests", trial.Slot(), trial.Sender.Connections, trial.Requests)
		}
	}
}

// Whatever a server does wrong makes the run invalid, and is said; the requests stay
// in the records.
func TestInvalid(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		bad  *fake
		args []string
		want string
	}{
		"resets":          {&fake{fault: resets}, nil, "connection reset"},
		"an error body":   {&fake{fault: says(`{"object":"error","message":"no luck"}`)}, nil, "the answer is an error"},
		"no JSON":         {&fake{fault: says(`<html>`)}, nil, "no JSON"},
		"too few scores":  {&fake{fault: says(`{"scores":[[0.5,0.5]]}`)}, nil, "1 rows of scores, expected 3"},
		"too many labels": {&fake{fault: says(`{"scores":[[0.5,0.5,0.5],[0.5,0.5],[0.5,0.5]]}`)}, nil, "item 0 has 3 scores, expected 2"},
		"NaN":             {&fake{fault: says(`{"scores":[[NaN,0.5],[0.5,0.5],[0.5,0.5]]}`)}, nil, "NaN"},
		"busy": {&fake{fault: func(_ *fake, w http.ResponseWriter, _ int) bool {
			http.Error(w, `{"error":"busy"}`, http.StatusServiceUnavailable)
			return true
		}}, nil, "503"},
		"lossy": {&fake{fault: func(f *fake, w http.ResponseWriter, n int) bool {
			return f.scored.Load()%3 == 0 && resets(f, w, n)
		}}, nil, "errors: "},
		"other scores":       {&fake{alter: func(s [][]float64) { s[1][0] += 0.0001 }}, nil, "further apart than"},
		"slow":               {&fake{delay: 100 * time.Millisecond}, []string{"--rps", "60", "--duration", "1s", "--single-requests", "0"}, "saturation: "},
		"times out":          {&fake{delay: 400 * time.Millisecond}, []string{"--timeout", "100ms", "--single-requests", "0"}, "errors: "},
		"too high a rate":    {&fake{}, []string{"--rps", "200000", "--duration", "10ms", "--timeout", "3s", "--single-requests", "0", "--max-lateness", "1ms"}, "lateness: "},
		"a throttled sender": {&fake{}, []string{"--rps", "20", "--single-requests", "0", "--max-lateness", "1ns"}, "lateness: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := against(t, k.bad, k.args...).run(exitInvalid).says("INVALID", k.want)
			f := p.folder()
			if v := f.Result.Verdict; v.Status != results.StatusInvalid || v.Decision != results.DecisionNone {
				t.Errorf("verdict %+v", v)
			}
			for i, trial := range f.Trials {
				if len(f.Requests[i]) != f.Plan.RequestsOf(trial.Round, trial.Cell) {
					t.Errorf("%v: %d requests", trial.Slot(), len(f.Requests[i]))
				}
			}
			command(t, "report", p.output).run(exitInvalid).says("INVALID")
			command(t, "verify", p.output).run(exitInvalid).says("FAIL status")
			command(t, "gate", p.output).run(exitInvalid)
		})
	}
}

// A share of failures that was allowed beforehand is shown, not fatal.
func TestFailuresAllowed(t *testing.T) {
	t.Parallel()
	lossy := &fake{fault: func(f *fake, w http.ResponseWriter, n int) bool { return f.scored.Load()%4 == 0 && resets(f, w, n) }}
	f := against(t, lossy, "--max-failed", "60").run(exitOK).folder()
	failed := 0
	for _, trial := range f.Trials {
		failed += trial.Failed
	}
	if failed == 0 {
		t.Error("nothing failed")
	}
}

// Servers that cannot be measured at all: an error, and no folder where nothing was planned. Not
// beside other tests, which may be given the port that is free here.
func TestNothingToMeasure(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := "url:http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	good := (&fake{}).serve(t)
	broken := (&fake{fault: says(`{"scores":[]}`)}).serve(t)
	for name, k := range map[string]struct {
		args []string
		want []string
	}{
		"down":              {[]string{"--candidate", down, "--reference", good, "--ready-timeout", "300ms"}, []string{"candidate: ", "not ready after 300ms"}},
		"ends":              {[]string{"--reference", "launch:sh -c 'echo {port} is taken; exit 3'", "--candidate", good}, []string{"reference: ", "exit status 3", "is taken"}},
		"never ready":       {[]string{"--candidate", "launch:sleep 600 # {port}", "--reference", good, "--ready-timeout", "500ms"}, []string{"candidate: ", "not ready after 500ms"}},
		"no good answer":    {[]string{"--reference", broken, "--candidate", good}, []string{"reference", "0 rows of scores, expected 3"}},
		"a label too many":  {[]string{"--label-token-ids", "999999"}, []string{"reference", "status 400, expected 200: ", "Token ID 999999 is out of vocabulary"}},
		"another tokenizer": {[]string{"--reference", good, "--candidate", (&fake{extra: true}).serve(t)}, []string{"candidate: ", "33 tokens by the server's tokenizer, expected 30"}},
		"nothing to send":   {[]string{"--reference", good, "--candidate", (&fake{delay: 5 * time.Second}).serve(t), "--rps", "0.001"}, []string{"no request in"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := measure(t, k.args...).run(exitInvalid).says(k.want...)
			if _, err := os.Stat(p.output); !os.IsNotExist(err) {
				t.Errorf("a folder is there: %v", err)
			}
		})
	}
}

// A server that dies in a round ends the run, which stays as far as it came.
func TestServerDies(t *testing.T) {
	t.Parallel()
	p := measure(t, "--candidate", "launch:"+dying(t), "--rounds", "60", "--restart", "run")
	p.run(exitInvalid).says("candidate", "without having been told to")
	if v := p.folder().Result.Verdict; v.Status != results.StatusIncomplete || !strings.Contains(v.Failure, "without having been told to") {
		t.Errorf("verdict %+v", v)
	}
}

// dying is a builtin server that ends some seconds into the second start.
func dying(t *testing.T) string {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(t.TempDir(), "started")
	script := filepath.Join(t.TempDir(), "serve.sh")
	text := "#!/bin/sh\n" +
		"[ -e " + mark + " ] && { " + exe + " __serve --device sim --port $1 & sleep 2; kill -9 $!; wait; exit 7; }\n" +
		"touch " + mark + "\nexec " + exe + " __serve --device sim --port $1\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return script + " {port}"
}

// startServer starts a server of this module, for a url arm.
func startServer(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	arm, err := servearm.Resolver{Server: []string{exe, serveCommand}}.Resolve(ctx, "builtin:batch@device=sim", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := servearm.Start(ctx, arm, servearm.Config{Log: io.Discard, ReadyTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return "url:" + s.URL
}

// Of other servers, the log says how single requests were spread over prefill batches.
func TestServerLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	candidate := &fake{log: log}
	p := against(t, candidate, "--server-log", "candidate="+path)
	f := p.run(exitOK).folder()
	for i, trial := range f.Trials {
		logged := trial.Arm == batchrun.Candidate && !f.Plan.Cells[trial.Cell].Open()
		if (trial.Evidence == batchrun.EvidenceLog) != logged {
			t.Errorf("%v: evidence %q", trial.Slot(), trial.Evidence)
		}
		for _, r := range f.Requests[i] {
			if logged && (len(r.Prefills) != 2 || r.Prefills[0].Items != 1 || r.Prefills[1].Items != 2) {
				t.Errorf("%v: prefills %v, want 1 and 2 items", trial.Slot(), r.Prefills)
			}
		}
	}
	// A server of this module has records, which say more.
	serve := startServer(t)
	own := measure(t, "--reference", serve, "--candidate", serve, "--server-log", "candidate="+path).run(exitOK).folder()
	for _, trial := range own.Trials {
		if trial.Evidence != batchrun.EvidenceAdmissions {
			t.Errorf("%v: evidence %q, want the scheduler's records", trial.Slot(), trial.Evidence)
		}
	}
	against(t, &fake{}, "--server-log", path).run(exitUsage).says("want reference=FILE or candidate=FILE")
	measure(t, "--candidate", candidate.serve(t), "--server-log", "reference="+path).run(exitUsage).says("started by this program")
	measure(t, "--candidate", candidate.serve(t), "--server-log", path+".none").run(exitUsage).says("no such file")
}

// A schedule of another seed in a run's folder is found.
func TestScheduleOfAnotherSeed(t *testing.T) {
	t.Parallel()
	good := (&fake{}).serve(t)
	a := measure(t, "--reference", good, "--candidate", good).run(exitOK)
	b := measure(t, "--reference", good, "--candidate", good, "--seed", "8").run(exitOK)
	name := filepath.FromSlash(batchrun.ScheduleName(0, 1))
	other, err := os.ReadFile(filepath.Join(b.output, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.output, name), other, 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, "verify", a.output).run(exitInvalid).says("FAIL schedules", "sha256")
}

package main

import (
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/worker"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// What a router does with a batch of 32 rows with both metadata fields for three
// detokenizers: columns opened, messages sent.
var routerCounters = map[string]struct{ decodes, messages float64 }{
	"per-row": {64, 32}, "grouped": {6, 3}, "grouped-splice": {0, 3},
}

// Every strategy of the router's loop against per-row, by both rules.
func TestRouterLoop(t *testing.T) {
	for i, s := range worker.List().Routers {
		for j, rule := range []string{protocol.RouterRID, protocol.RouterIPC} {
			args := []string{
				"--loop", "router", "--candidate", "builtin:" + s.Name, "--candidate-set", "router=" + rule,
				"--counts", "1,32", "--metadata", "plain,rich", "--http-workers", "3",
				"--consumer", []string{protocol.ConsumerDecode, protocol.ConsumerRaw}[(i+j)%2],
				"--pace", []string{protocol.PaceArrived, protocol.PaceNone, "2000"}[(i+j)%3],
			}
			t.Run(s.Name+"/"+rule, func(t *testing.T) {
				t.Parallel()
				p := measure(t, nil, args...)
				p.run(exitOK)
				p.routerLoop(s.Name, rule)
			})
		}
	}
}

func (p *program) routerLoop(strategy, rule string) {
	p.t.Helper()
	f := p.folder()
	if f.Plan.Loop != protocol.LoopRouter || f.Result.Verdict.Status != results.StatusVerified {
		p.t.Errorf("loop %q, verdict %+v", f.Plan.Loop, f.Result.Verdict)
	}
	if got := f.Result.Arms[results.Candidate]; got.Strategy != strategy || got.Options["router"] != rule {
		p.t.Errorf("candidate %s by %s, want %s by %s", got.Strategy, got.Options["router"], strategy, rule)
	}
	for _, w := range f.Result.Verdict.Warnings { // of fields that could not be judged: none
		if !strings.Contains(w, "idle arm") {
			p.t.Errorf("warning %q", w)
		}
	}
	p.has("stdout", p.stdout.String(), "loop", "router: the consumers are the detokenizers' inputs")
	for _, row := range f.Result.Summary {
		if row.Count != 32 || row.Metadata != "rich" {
			continue
		}
		want, known := routerCounters[strategy]
		got := row.Counters[results.Candidate]
		if !known || got[protocol.CounterOpaqueDecodes] != want.decodes || got[protocol.CounterMessages] != want.messages {
			p.t.Errorf("%s: counters %v, want %+v", strategy, got, want)
		}
	}
	v := newProgram(p.t, nil, "verify", p.output)
	v.run(exitOK)
}

// The loop has strategies of its own, and its candidate by default is one.
func TestRouterLoopDefaults(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil, "--loop", "router", "--dry-run")
	p.run(exitOK)
	p.has("stdout", p.stdout.String(), "reference: builtin:per-row", "candidate: builtin:grouped-splice", `"loop": "router"`)
	p = newProgram(t, nil, "list")
	p.run(exitOK)
	for _, s := range worker.List().Routers {
		p.has("list", p.stdout.String(), s.Summary+" (--loop router)")
	}
}

// What has no such loop is refused.
func TestRouterLoopRefuses(t *testing.T) {
	for name, k := range map[string]struct {
		args []string
		want string
	}{
		"no rule": {[]string{"--set", "router=none"}, `option router is "none" in the router's loop`},
		"method":  {[]string{"--set", "method=bytes"}, `option method is "bytes" in the router's loop, which has no detokenizer`},
		"texts":   {[]string{"--candidate", fakeArm(t, "texts")}, "receipt: consumers get BatchStrOutput, want BatchTokenIDOutput, which detokenizers get"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := measure(t, nil, append([]string{"--loop", "router"}, k.args...)...)
			p.run(exitInvalid)
			p.has("failure", p.failed(results.StatusInvalid).Message, k.want)
		})
	}
}

// A router's rows are judged by what they hold; the oracle has no text of them.
func TestRouterLoopRows(t *testing.T) {
	for kind, field := range map[string]string{"honest": "", "row missing": "rows", "decode_ids changed": "decode_ids", "field changed": "completion_tokens"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := measure(t, nil, "--loop", "router", "--candidate", fakeArm(t, kind))
			if field == "" {
				p.run(exitOK)
				return
			}
			p.run(exitInvalid)
			if f := p.failed(results.StatusInvalid); f.Field != field || f.Arm != results.Candidate {
				t.Errorf("failure %+v, want the field %s of the candidate", f, field)
			}
		})
	}
}

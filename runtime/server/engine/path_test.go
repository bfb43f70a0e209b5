package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/fanout"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/detok"
	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/server/parttest"
	"github.com/fanoutbench/fanoutbench/runtime/server/relay"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// path is a whole server but for HTTP: two workers' managers and every other part.
type path struct {
	t        *testing.T
	folder   string
	managers []*manager.Manager
}

func startPath(t *testing.T, detokenizers int, strategy string) *path {
	t.Helper()
	p := &path{t: t, folder: parttest.Folder(t)}
	a := settings()
	a.TokenizerWorkerNum, a.DetokenizerWorkerNum, a.FanoutStrategy, a.DetokenizeMethod = 2, detokenizers, strategy, "bytes"
	runs := map[string]part.Run{part.Detokenizer: detok.Run, part.DetokenizerRouter: detok.Run, part.Scheduler: Run, part.Router: relay.Run}
	var parts []*parttest.Part
	for _, id := range part.All(a) {
		e := part.Env{ID: id, Args: a, Folder: p.folder}
		if id.Kind != part.Worker {
			parts = append(parts, parttest.Start(t, runs[id.Kind], e))
			continue
		}
		p.worker(e)
	}
	for _, started := range parts {
		started.AwaitReady()
	}
	return p
}

// worker runs a manager between its sockets.
func (p *path) worker(e part.Env) {
	t := p.t
	t.Helper()
	rows, err := transport.Bind(e.Args.ZMQ, e.Endpoint(e.ID.String()), transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	push, err := transport.Connect(t.Context(), e.Args.ZMQ, e.Endpoint(part.RouterInput), transport.Options{DialTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	set, err := counters.Create(part.CountersPath(e.Folder, e.ID), manager.Specs())
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := backend.NewTokenizer(e.Args)
	if err != nil {
		t.Fatal(err)
	}
	info, err := backend.Describe(e.Args)
	if err != nil {
		t.Fatal(err)
	}
	c := manager.Config{IPC: rows.Endpoint(), Sender: push, Tokenizer: tokens, Counters: set, Log: slog.New(slog.DiscardHandler)}
	c.Limits.VocabSize, c.Limits.ContextLength, c.Limits.EOS = info.VocabSize, info.ContextLength, info.EOS
	m, err := manager.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- m.Run(ctx, rows) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ran, push.Close(), rows.Close(), set.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := m.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.managers = append(p.managers, m)
}

// all joins a call's updates by index.
func (p *path) all(c manager.Call, n int) []manager.Update {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	got := make([]manager.Update, n)
	for {
		u, err := c.Next(ctx)
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			p.t.Fatal(err)
		}
		to := &got[u.Index]
		to.Text += u.Text
		to.OutputIDs = append(to.OutputIDs, u.OutputIDs...)
		to.OutputLogprobs = append(to.OutputLogprobs, u.OutputLogprobs...)
		if u.Finish != nil {
			to.Finish = u.Finish
		}
	}
}

func item(in *request.TokenizedGenerateReqInput) manager.Item {
	return manager.Item{RID: in.RID, InputIDs: in.InputIDs, Params: in.SamplingParams, ReturnLogprob: in.ReturnLogprob, LogprobStartLen: in.LogprobStartLen, TokenIDsLogprob: in.TokenIDsLogprob, Stream: in.Stream}
}

// Through all parts but HTTP, under each strategy: texts are those of the tokens
// that each request has alone, scores are there, stop strings are not, the client
// that leaves costs no row that is not accounted for.
func TestThroughAllParts(t *testing.T) {
	for i, info := range fanout.List() {
		strategy := info.Name
		if info.NeedsPrepared {
			continue
		}
		t.Run(strategy, func(t *testing.T) {
			p := startPath(t, 1+i%2, strategy)
			p.generate(p.managers[i%2], strategy)
			p.leave(p.managers[(i+1)%2])
			p.ledger()
		})
	}
}

func (p *path) generate(m *manager.Manager, strategy string) {
	t := p.t
	t.Helper()
	plain, stopped, scored := ask("", "Tell me", 60), ask("", "Tell me", 60), score("", "How many?", 'a', 'b')
	ids, _ := alone(t, settings(), plain)
	tokens, err := backend.NewTokenizer(settings())
	if err != nil {
		t.Fatal(err)
	}
	text := string(tokens.AppendDecode(nil, ids, true, true))
	at := strings.IndexFunc(text[10:], func(r rune) bool { return r > ' ' && r < 0x7f }) + 10
	stopped.SamplingParams.Stop = []string{text[at : at+1]}
	c, err := m.Submit(t.Context(), []manager.Item{item(plain), item(stopped), item(scored)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := p.all(c, 3)
	if got[0].Text != text || !slices.Equal(got[0].OutputIDs, ids) || got[0].Finish.Type != "length" {
		t.Errorf("%s: text %q, %+v, want %q", strategy, got[0].Text, got[0].Finish, text)
	}
	if want := text[:strings.Index(text, stopped.SamplingParams.Stop[0])]; got[1].Text != want || got[1].Finish.MatchedText != stopped.SamplingParams.Stop[0] {
		t.Errorf("%s: text %q, %+v, want %q", strategy, got[1].Text, got[1].Finish, want)
	}
	if out := got[2].OutputLogprobs; len(out) != 1 || len(out[0].IDs) != 2 || out[0].IDs[1].ID != 'b' {
		t.Errorf("%s: the score is %+v", strategy, out)
	}
	_, err = m.Submit(t.Context(), []manager.Item{{InputIDs: make([]int64, 9000), Params: request.NewSamplingParams(), LogprobStartLen: -1}}, 1)
	var refused *manager.Error
	if !errors.As(err, &refused) || refused.Status != 400 {
		t.Errorf("%s: a prompt that is too long: %v", strategy, err)
	}
	if ok, message, err := m.FlushCache(t.Context(), 0); err != nil || !ok {
		t.Errorf("%s: flush: %t, %q, %v", strategy, ok, message, err)
	}
	if state, err := m.InternalState(t.Context()); err != nil || !strings.Contains(string(state), `"num_running_reqs":0`) {
		t.Errorf("%s: state %s, %v", strategy, state, err)
	}
}

// leave closes a call that runs.
func (p *path) leave(m *manager.Manager) {
	p.t.Helper()
	c, err := m.Submit(p.t.Context(), []manager.Item{item(ask("", "x", 8000))}, 2)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := c.Next(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	c.Close()
}

// ledger waits until every row is accounted for and nothing runs.
func (p *path) ledger() {
	p.t.Helper()
	id := part.ID{Kind: part.Scheduler}
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		l, err := counters.ReadLedger(p.folder)
		if err != nil {
			p.t.Fatal(err)
		}
		v, err := counters.Read(part.CountersPath(p.folder, id))
		if err != nil {
			p.t.Fatal(err)
		}
		if v["num_running_reqs"].Gauge == 0 && v["scheduler_num_aborted_requests_total"].Count == 2 && l.InFlight() == 0 {
			if l.Missing+l.Doubled+l.Reordered+l.Dropped["unknown"]+l.Dropped["detokenizer"]+l.Dropped["router"] != 0 || l.Built == 0 {
				p.t.Errorf("ledger %+v", l)
			}
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("ledger %+v, %s", l, fmt.Sprint(v["num_running_reqs"], v["scheduler_num_aborted_requests_total"]))
		}
	}
}

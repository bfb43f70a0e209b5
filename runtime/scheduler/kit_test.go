package scheduler

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/fake"
)

// bench is a scheduler with a fake model, and what came out of it.
type bench struct {
	t     testing.TB
	s     *Scheduler
	m     *fake.Model
	now   float64
	got   map[string]*result
	log   []string
	reply []AbortReq
}

// result joins a request's rows.
type result struct {
	output  []int64
	decode  []int64
	rows    int
	finish  *FinishReason
	prompt  int
	cached  int
	retract int
	in, out []model.Position
}

// usual is a config that limits nothing in small tests.
func usual() Config {
	return Config{MaxTotalTokens: 4096, MaxRunningRequests: 64, MaxPrefillTokens: 4096}
}

var tinyLimits = model.Limits{VocabSize: 40, ContextLength: 512, EOS: []int64{7}}

func newBench(t testing.TB, c Config, l model.Limits) *bench {
	t.Helper()
	s, err := New(c, l)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, s: s, m: fake.New(l, c.MaxTotalTokens), got: map[string]*result{}}
}

func (b *bench) receive(message any) {
	b.t.Helper()
	if err := b.s.Receive(b.now, message); err != nil {
		b.t.Fatal(err)
	}
	b.take()
}

// step runs one step, and returns its batch.
func (b *bench) step() *model.Batch {
	b.t.Helper()
	batch := b.start()
	if batch != nil {
		b.finish(batch)
	}
	return batch
}

// start makes a batch without computing it.
func (b *bench) start() *model.Batch {
	b.now += 0.25
	batch := b.s.Schedule(b.now)
	b.take()
	return batch
}

func (b *bench) finish(batch *model.Batch) {
	b.t.Helper()
	out, err := b.m.Forward(batch)
	if err != nil {
		b.t.Fatal(err)
	}
	chosen := make([]model.Choice, len(batch.Work))
	for i, w := range batch.Work {
		if w.Sample {
			chosen[i].Token = model.Greedy(out.Logits[i])
			chosen[i].Step.Token.ID = chosen[i].Token
		}
		if w.Logprobs.Want {
			chosen[i].Input = inputPositions(w)
		}
	}
	if err := b.s.Finish(b.now, chosen); err != nil {
		b.t.Fatal(err)
	}
	b.take()
}

// inputPositions are what a model says of the input: here the ids only.
func inputPositions(w model.Work) []model.Position {
	var out []model.Position
	for p := max(w.Logprobs.InputStart, w.Start); p < w.Start+len(w.IDs); p++ {
		id := w.Next
		if next := p + 1 - w.Start; next < len(w.IDs) {
			id = w.IDs[next]
		}
		if id >= 0 {
			out = append(out, model.Position{Token: model.TokenLogprob{ID: id}})
		}
	}
	return out
}

// run steps until nothing is left to compute.
func (b *bench) run() {
	b.t.Helper()
	for i := 0; b.step() != nil; i++ {
		if i == 20000 {
			b.t.Fatalf("no end after %d steps: %+v", i, b.s.Stats())
		}
	}
}

// take joins the rows to those before and looks that each may come.
func (b *bench) take() {
	b.t.Helper()
	out := b.s.Take()
	b.log = append(b.log, out.Log...)
	b.reply = append(b.reply, out.Aborts...)
	if out.Rows == nil {
		return
	}
	checkColumns(b.t, out.Rows)
	for i, rid := range out.Rows.RIDs {
		b.row(rid, out.Rows, i)
	}
}

func (b *bench) row(rid string, rows *BatchTokenIDOutput, i int) {
	b.t.Helper()
	r := b.got[rid]
	if r == nil {
		r = &result{cached: rows.CachedTokens[i]}
		b.got[rid] = r
	}
	if r.finish != nil {
		b.t.Fatalf("rid %q has a row behind its finished reason %+v", rid, r.finish)
	}
	r.rows++
	r.finish = rows.FinishedReasons[i]
	r.output = append(r.output, rows.OutputIDs[i]...)
	r.decode = append(r.decode, rows.DecodeIDs[i]...)
	r.prompt = rows.PromptTokens[i]
	r.retract = rows.RetractionCounts[i]
	if len(r.output) != rows.CompletionTokens[i] {
		b.t.Fatalf("rid %q: completion_tokens %d with %d ids", rid, rows.CompletionTokens[i], len(r.output))
	}
	if rows.CachedTokens[i] != r.cached {
		b.t.Fatalf("rid %q: cached_tokens %d, was %d", rid, rows.CachedTokens[i], r.cached)
	}
	if rows.OutputLogprobs != nil {
		r.in = append(r.in, rows.InputLogprobs[i]...)
		r.out = append(r.out, rows.OutputLogprobs[i]...)
	}
}

// checkColumns looks at every column there is, so that none is forgotten.
func checkColumns(t testing.TB, b *BatchTokenIDOutput) {
	t.Helper()
	v := reflect.ValueOf(*b)
	for i := range v.NumField() {
		name, n := v.Type().Field(i).Name, v.Field(i).Len()
		if optional := strings.HasSuffix(name, "Logprobs") && v.Field(i).IsNil(); n != b.Len() && !optional {
			t.Fatalf("column %s has %d entries for %d rows", name, n, b.Len())
		}
	}
}

// empty says that nothing is held: all slots are free once the tree is emptied.
func (b *bench) empty() {
	b.t.Helper()
	st := b.s.Stats()
	if !b.s.Idle() || st.Used != 0 || st.Waiting != 0 || st.Running != 0 || b.s.chunked != nil {
		b.t.Fatalf("not empty: idle %t, %+v", b.s.Idle(), st)
	}
	if !b.s.Flush() || b.s.pool.Available() != b.s.pool.Total() {
		b.t.Fatalf("%d of %d slots are free after a flush", b.s.pool.Available(), b.s.pool.Total())
	}
	if b.s.tree != nil && b.s.tree.Nodes() != 0 {
		b.t.Fatalf("%d nodes in the tree after a flush", b.s.tree.Nodes())
	}
	finished := 0
	for _, n := range st.Finished {
		finished += n
	}
	if finished+st.Replied != st.Received {
		b.t.Fatalf("%d finished and %d replied of %d received", finished, st.Replied, st.Received)
	}
}

// batchRIDs are the rids of a batch's works.
func batchRIDs(batch *model.Batch) []string {
	var rids []string
	if batch != nil {
		for _, w := range batch.Work {
			rids = append(rids, w.RID)
		}
	}
	return rids
}

// ask is a request of n ids that begin with first and count up from there.
func ask(rid string, n, maxNew int, first int64) *TokenizedGenerateReqInput {
	in := &TokenizedGenerateReqInput{RID: rid, HTTPWorkerIPC: "w0", LogprobStartLen: -1, Stream: true}
	for i := range n {
		in.InputIDs = append(in.InputIDs, (first+int64(i))%30+10)
	}
	in.SamplingParams.MaxNewTokens = maxNew
	in.SamplingParams.IgnoreEOS = true
	return in
}

// many is n requests of one length and of different tokens, r0 and so on.
func many(n, length, maxNew int) *BatchTokenizedGenerateReqInput {
	m := &BatchTokenizedGenerateReqInput{}
	for i := range n {
		in := ask(fmt.Sprintf("r%d", i), length, maxNew, 0)
		in.InputIDs[0], in.InputIDs[1] = int64(i%40), int64(i/40)
		m.Batch = append(m.Batch, *in)
	}
	return m
}

// alone is what a request gives when the model computes nothing else: the twin
// of everything here.
func alone(m *fake.Model, in *TokenizedGenerateReqInput, maxLength int) ([]int64, *FinishReason) {
	p := in.SamplingParams
	limit := min(p.MaxNewTokens, maxLength-len(in.InputIDs))
	tokens := slices.Clone(in.InputIDs)
	for len(tokens)-len(in.InputIDs) < limit {
		token := m.Next(tokens)
		tokens = append(tokens, token)
		if len(tokens)-len(in.InputIDs) == limit {
			break
		}
		if slices.Contains(p.StopTokenIDs, token) || !p.IgnoreEOS && slices.Contains(m.Limits().EOS, token) {
			return tokens[len(in.InputIDs):], &FinishReason{Type: FinishStop, Matched: token}
		}
	}
	return tokens[len(in.InputIDs):], &FinishReason{Type: FinishLength, Length: limit}
}

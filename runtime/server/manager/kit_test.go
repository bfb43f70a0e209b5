package manager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

const ipc = "ipc:///run/worker-0"

// byBytes has an id for each byte.
type byBytes struct{}

func (byBytes) EncodePrompt(text string) ([]int64, error) {
	if strings.Contains(text, "untokenizable") {
		return nil, errors.New("no piece fits")
	}
	ids := make([]int64, len(text))
	for i, b := range []byte(text) {
		ids[i] = int64(b)
	}
	return ids, nil
}

func (byBytes) LeastTokens(text string) int { return (len(text) + 9) / 10 }

// router is the other side of the Sender: it keeps what was sent, decoded.
type router struct {
	busy  atomic.Bool
	mu    sync.Mutex
	got   []request.Message
	err   error                 // what Send returns
	reply func(request.Message) // called for each message, after it was kept
	more  chan struct{}
}

func (r *router) Send(frame []byte) error {
	if !r.busy.CompareAndSwap(false, true) {
		return errors.New("two goroutines use the Sender")
	}
	defer r.busy.Store(false)
	m, err := request.Decode(frame)
	if err != nil {
		return err
	}
	r.mu.Lock()
	if r.err != nil {
		defer r.mu.Unlock()
		return r.err
	}
	r.got = append(r.got, m)
	reply := r.reply
	r.mu.Unlock()
	select {
	case r.more <- struct{}{}:
	default:
	}
	if reply != nil {
		reply(m)
	}
	return nil
}

func (r *router) Flush() error { return nil }

// sent is what came so far.
func (r *router) sent() []request.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request.Message{}, r.got...)
}

// aborts are the rids of the AbortReqs so far.
func (r *router) aborts() []string {
	var rids []string
	for _, m := range r.sent() {
		if a, ok := m.(*request.AbortReq); ok {
			rids = append(rids, a.RID)
		}
	}
	return rids
}

// until waits for a state of what was sent.
func (r *router) until(t testing.TB, what string, done func([]request.Message) bool) {
	t.Helper()
	guard := time.After(time.Minute)
	for !done(r.sent()) {
		select {
		case <-r.more:
		case <-guard:
			t.Fatalf("waited a minute for %s; sent: %v", what, r.sent())
		}
	}
}

type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(1000, c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

// lines is a log that can be read.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

type kit struct {
	*Manager
	t      testing.TB
	router *router
	set    *counters.Set
	clock  *clock
	log    *lines
	path   string // of the counters

	receiving sync.Mutex // replies come from goroutines of their own
}

// take gives the Manager a frame, one at a time.
func (k *kit) take(frame []byte) error {
	k.receiving.Lock()
	defer k.receiving.Unlock()
	return k.Receive(frame)
}

// histogram is how many were observed, and their sum.
func (k *kit) histogram(name string) (uint64, float64) {
	k.t.Helper()
	all, err := counters.Read(k.path)
	if err != nil {
		k.t.Fatal(err)
	}
	return all[name].Count, all[name].Sum
}

func start(t testing.TB, change func(*Config)) *kit {
	t.Helper()
	path := filepath.Join(t.TempDir(), "worker-0.counters")
	set, err := counters.Create(path, Specs())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	k := &kit{t: t, router: &router{more: make(chan struct{}, 1)}, set: set, clock: &clock{}, log: &lines{}, path: path}
	c := Config{
		IPC: ipc, Sender: k.router, Tokenizer: byBytes{}, Counters: set, Now: k.clock.now,
		Limits: model.Limits{VocabSize: 256, ContextLength: 100, EOS: []int64{0}},
		Log:    slog.New(slog.NewTextHandler(k.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&c)
	}
	if k.Manager, err = New(c); err != nil {
		t.Fatal(err)
	}
	return k
}

func params(maxNew int) request.SamplingParams {
	p := request.NewSamplingParams()
	p.MaxNewTokens = maxNew
	return p
}

// item is a prompt that streams.
func item(rid, text string) Item {
	return Item{RID: rid, Text: text, Params: params(8), LogprobStartLen: -1, Stream: true}
}

func (k *kit) submit(n int, items ...Item) Call {
	k.t.Helper()
	c, err := k.Submit(context.Background(), items, n)
	if err != nil {
		k.t.Fatal(err)
	}
	return c
}

// refused submits what must be refused, and that nothing was sent.
func (k *kit) refused(n int, items ...Item) *Error {
	k.t.Helper()
	before := len(k.router.sent())
	_, err := k.Submit(context.Background(), items, n)
	var e *Error
	if !errors.As(err, &e) {
		k.t.Fatalf("got %v, want an *Error", err)
	}
	if len(k.router.sent()) != before {
		k.t.Errorf("a refused request was sent: %v", k.router.sent())
	}
	return e
}

// row is one row for a frame.
type row struct {
	rid    string
	number any // nil: none
	text   string
	ids    []int64
	finish wire.Map
	out    []float64 // logprobs of ids
}

func at0(rid, text string) row { return row{rid: rid, number: int64(0), text: text} }

func reason(kind string, more ...wire.Pair) wire.Map {
	return append(wire.Map{{Key: "type", Value: kind}}, more...)
}

func stopped() wire.Map { return reason("stop", wire.Pair{Key: "matched", Value: int64(0)}) }

// batch makes the message of rows, as a detokenizer does.
func batch(t testing.TB, rows ...row) *wire.BatchStrOutput {
	t.Helper()
	b := &wire.BatchStrOutput{}
	var numbers []wire.Value
	for _, r := range rows {
		b.RIDs = append(b.RIDs, r.rid)
		b.HTTPWorkerIPCs = append(b.HTTPWorkerIPCs, wire.Some(ipc))
		b.FinishedReasons = append(b.FinishedReasons, r.finish)
		b.OutputStrs = append(b.OutputStrs, wire.Some(r.text))
		b.OutputIDs = append(b.OutputIDs, wire.Some(wire.IntArray{Values: r.ids}))
		b.PromptTokens = append(b.PromptTokens, wire.Some(int64(3)))
		b.CachedTokens = append(b.CachedTokens, wire.Some(int64(1)))
		b.CompletionTokens = append(b.CompletionTokens, wire.Some(int64(len(r.ids))))
		b.OutputTokenLogprobsVal = append(b.OutputTokenLogprobsVal, wire.Somes(r.out))
		b.OutputTokenLogprobsIdx = append(b.OutputTokenLogprobsIdx, wire.Somes(r.ids[:min(len(r.out), len(r.ids))]))
		numbers = append(numbers, r.number)
	}
	var err error
	if b.CustomizedInfo, err = wire.Wrap(wire.Map{{Key: "row", Value: numbers}}); err != nil {
		t.Fatal(err)
	}
	return b
}

func encode(t testing.TB, b wire.Message) []byte {
	t.Helper()
	frame, err := wire.Encode(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// rows receives rows as one frame.
func (k *kit) rows(rows ...row) {
	k.t.Helper()
	if err := k.take(encode(k.t, batch(k.t, rows...))); err != nil {
		k.t.Error(err)
	}
}

func (k *kit) answers(m request.Message) {
	k.t.Helper()
	frame, err := request.Encode(nil, m)
	if err == nil {
		err = k.take(frame)
	}
	if err != nil {
		k.t.Error(err)
	}
}

// next gives the call's next Update, within a minute.
func next(t testing.TB, c Call) Update {
	t.Helper()
	u, err := tryNext(c)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func tryNext(c Call) (Update, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return c.Next(ctx)
}

// nothing says that the call has no news.
func nothing(t testing.TB, c Call) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if u, err := c.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %+v, %v, want no news", u, err)
	}
}

// ended says that every finish was given.
func ended(t testing.TB, c Call) {
	t.Helper()
	if u, err := tryNext(c); !errors.Is(err, io.EOF) {
		t.Fatalf("got %+v, %v, want io.EOF", u, err)
	}
}

// counts compares counters, "name=value" each.
func (k *kit) counts(want ...string) {
	k.t.Helper()
	for _, w := range want {
		name, _, _ := strings.Cut(w, "=")
		if got := fmt.Sprintf("%s=%d", name, k.set.Counter(name).Value()); got != w {
			k.t.Errorf("got %s, want %s", got, w)
		}
	}
}

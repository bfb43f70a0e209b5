package engine

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// patience bounds every wait; nothing is measured by it.
const patience = 60 * time.Second

// server is an engine over real sockets, with the test in the place of the
// router and of the detokenizers.
type server struct {
	t       *testing.T
	a       args.Args
	folder  string
	push    transport.Push
	frames  chan []byte // rows
	answers chan request.Message
	log     *lockedBuffer
	cancel  context.CancelFunc
	ended   chan error
	ready   chan struct{}
	detok   *detokenizer.Detokenizer
	got     map[string]*result
}

// result joins a request's rows.
type result struct {
	rows                        int
	ids                         []int64
	text                        []byte
	finish                      wire.Map
	retractions, prompt, cached int64
	completion                  int64
	in, out                     columns
	times                       wire.Map
}

// columns are the logprobs of a request's rows.
type columns struct {
	val              []wire.Opt[float64]
	idx              []int64
	topIdx, idsIdx   [][]int64
	topVals, idsVals [][]float64
	nullTops         int // positions whose top is null
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

func settings() args.Args {
	return args.Args{
		Device: backend.CPU, DType: "auto", RandomSeed: 7, ZMQ: "zmtp", TokenizerWorkerNum: 1, DetokenizerWorkerNum: 1,
		MaxTotalTokens: 20000, MemFractionStatic: 0.5, MaxRunningRequests: 64, MaxPrefillTokens: 16384, ChunkedPrefillSize: 8192,
		SchedulePolicy: "fcfs", StartTimeout: 60, PageSize: 1, StreamInterval: 1, DecodeLogInterval: 40,
	}
}

// start runs an engine until the test ends.
func start(t *testing.T, change func(*args.Args)) *server {
	t.Helper()
	s := prepare(t, change)
	s.serve()
	s.dial()
	return s
}

func prepare(t *testing.T, change func(*args.Args)) *server {
	t.Helper()
	folder, err := os.MkdirTemp("", "eng") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	s := &server{
		t: t, a: settings(), folder: folder, frames: make(chan []byte, 1<<16), answers: make(chan request.Message, 1<<12),
		log: &lockedBuffer{}, ended: make(chan error, 1), ready: make(chan struct{}), got: map[string]*result{},
	}
	if change != nil {
		change(&s.a)
	}
	tokens, err := backend.NewTokenizer(s.a)
	if err != nil {
		t.Fatal(err)
	}
	s.detok = detokenizer.New(tokens, detokenizer.Options{})
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serve begins to run the engine and the sockets around it.
func (s *server) serve() {
	s.t.Helper()
	s.begin()()
}

// begin runs the engine; what it returns opens the sockets around it.
func (s *server) begin() (open func()) {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	var around sync.WaitGroup
	s.t.Cleanup(func() {
		s.stop()
		around.Wait()
	})
	e := part.Env{
		ID: part.ID{Kind: part.Scheduler}, Args: s.a, Folder: s.folder,
		Log: slog.New(slog.NewTextHandler(s.log, nil)), Ready: func() { close(s.ready) },
	}
	go func() { s.ended <- Run(ctx, e) }()
	rows := "detokenizer-0"
	if s.a.DetokenizerWorkerNum > 1 {
		rows = part.DetokenizerRouter
	}
	return func() {
		s.pull(ctx, &around, rows, func(frame []byte) { s.frames <- bytes.Clone(frame) })
		s.pull(ctx, &around, part.RouterAnswers, func(frame []byte) {
			m, err := request.Decode(frame)
			if err != nil {
				s.t.Errorf("an answer: %v", err)
				return
			}
			s.answers <- m
		})
	}
}

// pull drives a socket as another part would.
func (s *server) pull(ctx context.Context, around *sync.WaitGroup, name string, take func([]byte)) {
	s.t.Helper()
	p, err := transport.Bind(s.a.ZMQ, part.Endpoint(s.folder, name), transport.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	around.Add(1)
	go func() {
		defer around.Done()
		for {
			frame, err := p.Recv(ctx)
			if err != nil {
				break
			}
			take(frame)
		}
		if err := p.Close(); err != nil {
			s.t.Error(err)
		}
	}()
}

// dial connects as the router does.
func (s *server) dial() {
	s.t.Helper()
	push, err := transport.Connect(context.Background(), s.a.ZMQ, part.Endpoint(s.folder, part.Scheduler), transport.Options{DialTimeout: patience})
	if err != nil {
		s.t.Fatalf("%v; the engine's log:\n%s", err, s.log)
	}
	s.push = push
}

// stop ends the engine and looks that it ended in order.
func (s *server) stop() {
	s.t.Helper()
	if s.cancel == nil {
		return
	}
	s.cancel()
	s.cancel = nil
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("Run returned %v, want nil", err)
		}
	case <-time.After(patience):
		s.t.Error("Run did not end")
	}
	if s.push != nil {
		_ = s.push.Close() // the other end has gone
	}
}

// send sends messages at once.
func (s *server) send(messages ...request.Message) {
	s.t.Helper()
	var frames [][]byte
	for _, m := range messages {
		frame, err := request.Encode(nil, m)
		if err != nil {
			s.t.Fatal(err)
		}
		frames = append(frames, frame)
	}
	s.sendFrames(frames...)
}

func (s *server) sendFrames(frames ...[]byte) {
	s.t.Helper()
	for _, frame := range frames {
		if err := s.push.Send(frame); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.push.Flush(); err != nil {
		s.t.Fatal(err)
	}
}

// next joins one more frame of rows to what there is.
func (s *server) next() *wire.BatchTokenIDOutput {
	s.t.Helper()
	select {
	case frame := <-s.frames:
		b, err := wire.DecodeTokenID(frame)
		if err != nil {
			s.t.Fatal(err)
		}
		for i := range b.RIDs {
			s.join(b, i)
		}
		return b
	case err := <-s.ended:
		s.ended <- err
		s.t.Fatalf("the engine ended: %v", err)
	case <-time.After(patience):
		s.t.Fatalf("no rows; the log:\n%s", s.log)
	}
	return nil
}

// until joins rows until the condition holds.
func (s *server) until(done func() bool) {
	s.t.Helper()
	for !done() {
		s.next()
	}
}

// wait joins rows until all of these have finished.
func (s *server) wait(rids ...string) {
	s.t.Helper()
	s.until(func() bool {
		return !slices.ContainsFunc(rids, func(rid string) bool { return s.got[rid] == nil || s.got[rid].finish == nil })
	})
}

// answer is the next one, of class T.
func answer[T request.Message](s *server) T {
	s.t.Helper()
	var none T
	select {
	case m := <-s.answers:
		got, ok := m.(T)
		if !ok {
			s.t.Fatalf("got a %s, want a %s: %+v", m.Class(), none.Class(), m)
		}
		return got
	case <-time.After(patience):
		s.t.Fatalf("no %s; the log:\n%s", none.Class(), s.log)
	}
	return none
}

// counts reads the part's counters.
func (s *server) counts() map[string]counters.Value {
	s.t.Helper()
	values, err := counters.Read(part.CountersPath(s.folder, part.ID{Kind: part.Scheduler}))
	if err != nil {
		s.t.Fatal(err)
	}
	return values
}

// ask is a greedy request of text that streams.
func ask(rid, text string, maxNew int) *request.TokenizedGenerateReqInput {
	in := &request.TokenizedGenerateReqInput{RID: rid, HTTPWorkerIPC: "ipc:///w0", LogprobStartLen: -1, Stream: true, SamplingParams: request.NewSamplingParams()}
	for _, b := range []byte(text) {
		in.InputIDs = append(in.InputIDs, int64(b))
	}
	in.SamplingParams.Temperature, in.SamplingParams.MaxNewTokens, in.SamplingParams.IgnoreEOS = 0, maxNew, true
	return in
}

// many are requests that share beginnings and differ in their ends.
func many(n int) []*request.TokenizedGenerateReqInput {
	r := rand.New(rand.NewPCG(3, 3))
	var all []*request.TokenizedGenerateReqInput
	for i := range n {
		text := "The quick brown fox jumps over the lazy dog."[:3*(i%10)+1]
		all = append(all, ask(fmt.Sprintf("r%d", i), fmt.Sprintf("%s%d", text, i), 1+r.IntN(25)))
	}
	return all
}

func rids(all []*request.TokenizedGenerateReqInput) []string {
	var names []string
	for _, in := range all {
		names = append(names, in.RID)
	}
	return names
}

// batchOf is one message of all of them.
func batchOf(all []*request.TokenizedGenerateReqInput) *request.BatchTokenizedGenerateReqInput {
	m := &request.BatchTokenizedGenerateReqInput{RIDs: rids(all)}
	for _, in := range all {
		m.Batch = append(m.Batch, *in)
		m.HTTPWorkerIPCs = append(m.HTTPWorkerIPCs, in.HTTPWorkerIPC)
	}
	return m
}

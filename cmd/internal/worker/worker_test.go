package worker

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// pipe is a worker in this process with the other ends of its control pipe.
type pipe struct {
	t     *testing.T
	conn  *protocol.Conn
	close func() error
	ended chan error
	input string
}

func open(t *testing.T, ctx context.Context) *pipe {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "w") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	in, down := io.Pipe()
	up, out := io.Pipe()
	p := &pipe{t: t, conn: protocol.NewConn(up, down), close: down.Close, ended: make(chan error, 1), input: "ipc://" + filepath.Join(dir, "w")}
	go func() {
		p.ended <- Run(ctx, in, out, Hooks{})
		out.Close()
	}()
	t.Cleanup(func() {
		down.Close()
		up.Close()
		os.RemoveAll(dir)
	})
	return p
}

// ask sends a line and wants an answer of that type, or an error line with the text.
func (p *pipe) ask(question any, want string, answer any, wrong string) {
	p.t.Helper()
	if err := p.conn.Send(question); err != nil {
		p.t.Fatal(err)
	}
	line, err := p.conn.Receive()
	if err != nil {
		p.t.Fatal(err)
	}
	var peer *protocol.PeerError
	switch err := line.Expect(want, answer); {
	case wrong == "" && err != nil:
		p.t.Fatal(err)
	case wrong != "" && (!errors.As(err, &peer) || !strings.Contains(peer.Message, wrong)):
		p.t.Fatalf("%+v is answered by %s, want an error with %q", question, line.Raw, wrong)
	}
}

func (p *pipe) configure() protocol.Configure {
	return protocol.Configure{Type: protocol.TypeConfigure, WireVersion: protocol.WireVersion, Strategy: "per-row",
		ZMQ: transport.Engines()[0], Endpoint: p.input, SendMS: 1000}
}

// prepare is for one batch of words, or of pieces of another kind.
func (p *pipe) prepare(kind string) protocol.Prepare {
	p.t.Helper()
	file, err := protocol.WriteFile(filepath.Join(p.t.TempDir(), "vocabulary.json"), protocol.Vocabulary{
		Kind: kind, Tokens: []protocol.Token{{ID: 0, Bytes: []byte("[UNK]")}, {ID: 1, Bytes: []byte("a")}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return protocol.Prepare{Type: protocol.TypePrepare, Batches: 1, Vocabulary: file}
}

// A configure that cannot be met is answered with error, and the worker ends.
func TestConfigureErrors(t *testing.T) {
	for wrong, change := range map[string]func(*protocol.Configure){
		"the controller speaks wire version 99, this worker 2": func(c *protocol.Configure) { c.WireVersion = 99 },
		`no strategy "best"`:  func(c *protocol.Configure) { c.Strategy = "best" },
		`no engine "nanomsg"`: func(c *protocol.Configure) { c.ZMQ = "nanomsg" },
		`method "luck"`:       func(c *protocol.Configure) { c.Method = "luck" },
		`method "bytes" for a router`: func(c *protocol.Configure) {
			c.Router, c.Targets, c.Method = protocol.RouterRID, []string{c.Endpoint + "x"}, protocol.MethodBytes
		},
		"nosuch":                 func(c *protocol.Configure) { c.Endpoint = "ipc:///nosuch/folder/w" },
		`line of type "prepare"`: func(c *protocol.Configure) { c.Type = protocol.TypePrepare },
	} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			p := open(t, t.Context())
			c := p.configure()
			change(&c)
			p.ask(c, protocol.TypeReady, &protocol.Ready{}, wrong)
			if err := <-p.ended; err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("the worker ended with %v, want %q", err, wrong)
			}
		})
	}
}

// Lines that make no sense are answered with error, and the worker goes on.
func TestControlErrors(t *testing.T) {
	t.Parallel()
	p := open(t, t.Context())
	var ready protocol.Ready
	p.ask(p.configure(), protocol.TypeReady, &ready, "")
	if ready.Strategy != "per-row" || ready.NeedsPrepared || len(ready.Counters) == 0 || ready.Packages["go"] == "" {
		t.Errorf("ready %+v", ready)
	}
	none, odd, gone := p.prepare("words"), p.prepare("runes"), p.prepare("words")
	none.Batches = -1
	gone.Vocabulary.Path += "x"
	p.ask(none, protocol.TypePrepared, nil, "prepare for -1 batches")
	p.ask(odd, protocol.TypePrepared, nil, `vocabulary kind "runes"`)
	p.ask(gone, protocol.TypePrepared, nil, "vocabulary.jsonx")
	p.ask(p.configure(), protocol.TypePrepared, nil, `a line of type "configure", want "prepare" or "report"`)
	p.ask(map[string]any{"type": "prepare", "hurry": true}, protocol.TypePrepared, nil, "hurry")
	p.ask(p.prepare("words"), protocol.TypePrepared, &protocol.Signal{}, "")
	var r protocol.Report
	p.ask(protocol.Signal{Type: protocol.TypeReport}, protocol.TypeReport, &r, "")
	if r.Batches != 0 || len(r.Errors) != 0 || r.Counters[protocol.CounterMessages] != 0 {
		t.Errorf("the report of nothing is %+v", r)
	}
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	if err := <-p.ended; err != nil {
		t.Errorf("the end of input gives %v, want none", err)
	}
	if _, err := os.Lstat(strings.TrimPrefix(p.input, "ipc://")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its socket: %v, want it removed", err)
	}
}

// What fails on the measured plane is in the report, once, and the worker goes on.
func TestMeasuredErrors(t *testing.T) {
	t.Parallel()
	p := open(t, t.Context())
	p.ask(p.configure(), protocol.TypeReady, &protocol.Ready{}, "")
	opt := transport.Options{}
	push, err := transport.Connect(t.Context(), transport.Engines()[0], p.input, opt)
	if err != nil {
		t.Fatal(err)
	}
	consumer := strings.TrimSuffix(p.input, "w") + "c0"
	pull, err := transport.Bind(transport.Engines()[0], consumer, opt)
	if err != nil {
		t.Fatal(err)
	}
	p.ask(p.prepare("words"), protocol.TypePrepared, &protocol.Signal{}, "")
	one := wire.Some(wire.IntArray{Values: []int64{1}})
	good, err := wire.Encode(nil, &wire.BatchTokenIDOutput{
		RIDs: []string{"r"}, HTTPWorkerIPCs: wire.Somes([]string{consumer}), FinishedReasons: []wire.Map{nil},
		DecodedTexts: wire.Somes([]string{""}), DecodeIDs: []wire.Opt[wire.IntArray]{one}, ReadOffsets: wire.Somes([]int64{0}),
		OutputIDs: []wire.Opt[wire.IntArray]{one}, SkipSpecialTokens: wire.Somes([]bool{true}),
		SpacesBetweenSpecialTokens: wire.Somes([]bool{true}), NoStopTrim: wire.Somes([]bool{false}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range [][]byte{[]byte("no message"), good} {
		if err := errors.Join(push.Send(frame), push.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	frame, err := pull.Recv(ctx) // of the batch after the bad one
	if err != nil {
		t.Fatal(err)
	}
	if msg, err := wire.DecodeStr(frame); err != nil || msg.RIDs[0] != "r" || msg.OutputStrs[0].V != "a" {
		t.Errorf("delivered %+v, %v", msg, err)
	}
	for range 2 { // prepare forgets what is reported
		var r protocol.Report
		p.ask(protocol.Signal{Type: protocol.TypeReport}, protocol.TypeReport, &r, "")
		if len(r.Errors) != 1 {
			t.Errorf("errors %q, want that of the bad frame", r.Errors)
		}
	}
	p.ask(p.prepare("words"), protocol.TypePrepared, &protocol.Signal{}, "")
	var r protocol.Report
	p.ask(protocol.Signal{Type: protocol.TypeReport}, protocol.TypeReport, &r, "")
	if len(r.Errors) != 0 {
		t.Errorf("errors %q after prepare", r.Errors)
	}
	if err := errors.Join(push.Close(), p.close(), <-p.ended, pull.Close()); err != nil {
		t.Error(err)
	}
}

// The end of its context ends a worker that has nothing to do.
func TestContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := open(t, ctx)
	p.ask(p.configure(), protocol.TypeReady, &protocol.Ready{}, "")
	cancel()
	if err := <-p.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's end", err)
	}
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// Lines between a controller and its consumers' processes, which are always of
// one executable: this is no protocol of others.
const (
	typeBind    = "bind"    // answered by typeBound
	typeBegin   = "begin"   // answered by typeBegun, and then by typeRows until the next question
	typeCollect = "collect" // answered by typeCollected
	typeBound   = "bound"
	typeBegun   = "begun"
	typeRows    = "rows"

	typeCollected = "collected"
)

type bindLine struct {
	Type     string `json:"type"`
	Number   int    `json:"number"` // of the consumer
	ZMQ      string `json:"zmq"`
	Endpoint string `json:"endpoint"`
	Consumer string `json:"consumer"`
	Class    string `json:"class"` // of the messages
}

type beginLine struct {
	Type string `json:"type"`
	Rows int    `json:"rows"` // that are right, of all consumers
}

type collectLine struct {
	Type string `json:"type"`
	Path string `json:"path"` // of the rows file to write
}

// tallyLine is what a consumer has had since begin. Times are CLOCK_MONOTONIC's,
// 0 before the first message.
type tallyLine struct {
	Type    string         `json:"type"`
	Rows    int            `json:"rows"`
	FirstNS int64          `json:"first_ns"`
	LastNS  int64          `json:"last_ns"`
	File    *protocol.File `json:"file,omitempty"` // a Delivery, of typeCollected
}

// consumerProcess is one consumer, in a process of its own.
type consumerProcess struct {
	conn    *protocol.Conn
	clock   monotonic
	inbox   *inbox
	percent int // the collector's setting outside trials
}

// RunConsumer serves one consumer under a controller until its input ends.
func RunConsumer(ctx context.Context, in io.Reader, out io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := &consumerProcess{conn: protocol.NewConn(in, out)}
	p.percent = debug.SetGCPercent(-1)
	debug.SetGCPercent(p.percent)
	err := p.run(ctx)
	if p.inbox != nil {
		err = errors.Join(err, p.inbox.close())
	}
	if err != nil {
		err = errors.Join(err, p.conn.Send(protocol.Error{Type: protocol.TypeError, Message: err.Error()}))
	}
	return err
}

func (p *consumerProcess) run(ctx context.Context) error {
	var err error
	if p.clock, err = newMonotonic(monotonicNow); err != nil {
		return err
	}
	lines := make(chan lineOrError, 1)
	p.ask(lines, func() {})
	serving := context.Context(nil) // of the trial that runs
	for {
		if serving != nil {
			if err := p.serve(serving); err != nil {
				return err
			}
		}
		line, err := next(ctx, lines)
		if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		serving = nil
		stop := func() {}
		if err := p.answer(ctx, line); err != nil {
			return err
		}
		if line.Type == typeBegin {
			serving, stop = context.WithCancel(ctx)
		}
		p.ask(lines, stop)
	}
}

func (p *consumerProcess) answer(ctx context.Context, line protocol.Line) error {
	bound := p.inbox != nil
	switch {
	case line.Type == typeBind && !bound:
		return p.bind(line)
	case line.Type == typeBegin && bound:
		return p.begin(line)
	case line.Type == typeCollect && bound:
		return p.collect(ctx, line)
	}
	return fmt.Errorf("consumer: a line of type %q, want %q once and then %q or %q", line.Type, typeBind, typeBegin, typeCollect)
}

// ask reads one line beside what else is done, and ends that.
func (p *consumerProcess) ask(lines chan<- lineOrError, stop context.CancelFunc) {
	go func() {
		line, err := p.conn.Receive()
		lines <- lineOrError{line, err}
		stop()
	}()
}

func (p *consumerProcess) bind(line protocol.Line) error {
	var l bindLine
	if err := line.Decode(&l); err != nil {
		return err
	}
	read := readStr
	if l.Class == (&wire.BatchTokenIDOutput{}).Class() {
		read = readTokenID
	}
	b, err := newInbox(l.ZMQ, []string{l.Endpoint}, l.Consumer, read)
	if err != nil {
		return err
	}
	b.number, p.inbox = l.Number, b
	return p.conn.Send(protocol.Signal{Type: typeBound})
}

// begin collects garbage and pauses that until the rows are asked for.
func (p *consumerProcess) begin(line protocol.Line) error {
	var l beginLine
	if err := line.Decode(&l); err != nil {
		return err
	}
	p.inbox.reset(l.Rows)
	runtime.GC()
	debug.SetGCPercent(-1)
	return p.conn.Send(protocol.Signal{Type: typeBegun})
}

// serve takes what comes until ctx is done, and tells how much each time.
func (p *consumerProcess) serve(ctx context.Context) error {
	for {
		ready, err := p.inbox.poller.Wait(ctx, -1)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		before := p.inbox.rows
		if err := p.inbox.drain(ready); err != nil {
			return err
		}
		if p.inbox.rows == before {
			continue // a sender came or went
		}
		if err := p.conn.Send(p.tally(typeRows)); err != nil {
			return err
		}
	}
}

func (p *consumerProcess) tally(kind string) tallyLine {
	b := p.inbox
	return tallyLine{Type: kind, Rows: b.rows, FirstNS: p.clock.nanoseconds(b.firsts[0]), LastNS: p.clock.nanoseconds(b.lasts[0])}
}

// collect writes what has come into a file: also what has come in this moment.
func (p *consumerProcess) collect(ctx context.Context, line protocol.Line) error {
	var l collectLine
	if err := line.Decode(&l); err != nil {
		return err
	}
	if err := p.inbox.quiet(ctx, 0); err != nil {
		return err
	}
	debug.SetGCPercent(p.percent)
	d, err := p.inbox.delivery()
	if err != nil {
		return err
	}
	t := p.tally(typeCollected)
	file, err := protocol.WriteFile(l.Path, d)
	if err != nil {
		return err
	}
	t.File = &file
	return p.conn.Send(t)
}

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"

	"github.com/fanoutbench/fanoutbench/cmd/internal/process"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

// event is what a part tells of itself.
type event struct {
	unit   int
	kind   string // typeReady, typeDrained, typeSignal; typeEnd is the last of a part
	signal string
	err    error // of typeEnd: nil if it was told to end
}

// unit is a part that runs, as a process or as a goroutine.
type unit interface {
	drain()
	end(reason string) // the context ends; an empty reason: part.ErrEnd
	kill()             // and waits for the end; a goroutine cannot be killed
	log() string       // its last lines, on one line
	pid() int
}

// child is a part in a process of its own.
type child struct {
	*process.Child
	lines *lines
}

// startChild runs command with the part's name behind it, for who looks at
// processes, gives it its job and tells what becomes of it.
func startChild(command []string, j job, l *net.TCPListener, out *sink, tell func(event)) (*child, error) {
	var files []*os.File
	if l != nil {
		file, err := l.File()
		if err != nil {
			return nil, fmt.Errorf("the listener of %s: %w", j.ID, err)
		}
		defer func() { _ = file.Close() }() // a copy of a descriptor; the child has its own
		files = append(files, file)
	}
	c := &child{lines: &lines{out: out}}
	var err error
	// The signal of a parent's death: sglang#15165.
	if c.Child, err = process.Start(append(slices.Clip(command), j.ID.String()), process.TermWithParent, io.Writer(c.lines), files...); err != nil {
		return nil, err
	}
	if err := c.Tell(j); err != nil {
		c.kill()
		return nil, fmt.Errorf("%s: %w", j.ID, err)
	}
	go c.listen(tell)
	return c, nil
}

// listen tells of the child's lines, then of its end: by its process, not by what
// it says of itself (vllm PR 21728).
func (c *child) listen(tell func(event)) {
	var said error
	for {
		line, err := c.Next(context.Background())
		if err != nil {
			break
		}
		switch line.Type {
		case typeSignal:
			var s signalLine
			if said = line.Decode(&s); said == nil {
				tell(event{kind: typeSignal, signal: s.Name})
			}
		case protocol.TypeError:
			said = line.Expect("", nil)
		default:
			tell(event{kind: line.Type})
		}
	}
	c.CloseInput() // should it live and have said what is no line, this ends it
	<-c.Ended()
	exit := c.Exit()
	if exit != nil && said != nil {
		exit = said
	}
	tell(event{kind: typeEnd, err: exit})
}

// Tell's errors are those of a program that cannot encode its own lines: a child
// that does not listen any more is known by its end.
func (c *child) drain()            { _ = c.Tell(word{typeDrain}) }
func (c *child) end(reason string) { _ = c.Tell(endLine{typeEnd, reason}) }
func (c *child) pid() int          { return c.PID() }

func (c *child) log() string {
	if last := c.Log(); last != "none" { // lines are quoted
		return last
	}
	return ""
}

func (c *child) kill() {
	c.End(0, 0)
	_ = c.lines.flush() // the supervisor's own log cannot be written to: nowhere to tell it
}

// routine is a part as a goroutine.
type routine struct {
	cancel context.CancelCauseFunc
	ending chan struct{}
}

func startRoutine(run part.Run, e part.Env, tell func(event)) *routine {
	ctx, cancel := context.WithCancelCause(context.Background())
	r := &routine{cancel: cancel, ending: make(chan struct{})}
	e.Ending = r.ending
	e.Ready = func() { tell(event{kind: typeReady}) }
	e.Drained = func() { tell(event{kind: typeDrained}) }
	go func() { tell(event{kind: typeEnd, err: verdict(ctx, run(ctx, e))}) }()
	return r
}

func (r *routine) drain()            { close(r.ending) }
func (r *routine) end(reason string) { r.cancel(endLine{Reason: reason}.cause()) }
func (r *routine) kill()             {}
func (r *routine) log() string       { return "" }
func (r *routine) pid() int          { return os.Getpid() }

// noRun is the part of a kind that the table does not have.
func noRun(kind string) part.Run {
	return func(context.Context, part.Env) error { return errors.New("no part of kind " + kind) }
}

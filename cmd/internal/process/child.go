package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
)

const (
	// outputGrace is how long the output of a process that has ended is read
	// on, should another process hold it open.
	outputGrace = 500 * time.Millisecond
	// endGrace is how long a process that has closed its pipes has to end,
	// before an error is told without its exit status.
	endGrace = time.Second
)

// Child is a process that answers lines with lines.
type Child struct {
	cmd   *exec.Cmd
	death Death
	in    io.WriteCloser
	out   *os.File
	conn  *protocol.Conn
	log   *Tail
	lines chan lineOrError
	drain sync.Once

	ended chan struct{} // closed when the process has been waited for
	exit  error         // valid once ended is closed
}

type lineOrError struct {
	line protocol.Line
	err  error
}

// Start runs a command that is spoken with. What it writes to its standard error goes to log. It
// inherits the files as its descriptors from 3 on; they stay open here.
func Start(command []string, d Death, log io.Writer, files ...*os.File) (*Child, error) {
	c := &Child{
		cmd: exec.Command(command[0], command[1:]...), death: d, log: NewTail(log),
		lines: make(chan lineOrError, 1), ended: make(chan struct{}),
	}
	c.cmd.Stderr = c.log
	c.cmd.ExtraFiles = files
	c.cmd.WaitDelay = outputGrace // for the standard error
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("process: %s: %w", command[0], err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("process: %s: %w", command[0], errors.Join(err, c.in.Close()))
	}
	c.cmd.Stdout = theirs
	err = launch(c.cmd, d)
	if err := errors.Join(err, theirs.Close()); err != nil {
		return nil, fmt.Errorf("process: start %s: %w", command[0], errors.Join(err, c.in.Close(), out.Close()))
	}
	c.out, c.conn = out, protocol.NewConn(out, c.in)
	go c.read()
	go c.wait()
	return c, nil
}

// StartLogged runs a command that is not spoken with: all that it writes goes to
// log.
func StartLogged(command []string, d Death, log io.Writer) (*Child, error) {
	c := &Child{
		cmd: exec.Command(command[0], command[1:]...), death: d, log: NewTail(log),
		lines: make(chan lineOrError), ended: make(chan struct{}),
	}
	close(c.lines)
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	c.cmd.WaitDelay = outputGrace
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("process: %s: %w", command[0], err)
	}
	if err := launch(c.cmd, d); err != nil {
		return nil, fmt.Errorf("process: start %s: %w", command[0], errors.Join(err, c.in.Close()))
	}
	go c.wait()
	return c, nil
}

// read passes lines on until the first error, which is the last thing it passes.
func (c *Child) read() {
	defer close(c.lines)
	defer func() { _ = c.out.Close() }() // read only
	for {
		line, err := c.conn.Receive()
		c.lines <- lineOrError{line, err}
		if err != nil {
			return
		}
	}
}

func (c *Child) wait() {
	c.exit = c.cmd.Wait()
	close(c.ended)
	if c.out != nil {
		_ = c.out.SetReadDeadline(time.Now().Add(outputGrace)) // fails if it has been closed, which is as good
	}
}

// PID is the process's id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Ended is closed when the process has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Exit says, of a process that has ended, how if not with status 0.
func (c *Child) Exit() error {
	<-c.ended
	return c.exit
}

// Log returns the last lines of the process's log, on one line.
func (c *Child) Log() string { return c.log.Quote() }

// Ask sends one line and waits for its answer.
func (c *Child) Ask(ctx context.Context, question any, wantType string, answer any) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	sent := c.conn.Send(question)
	if sent != nil && !broken(sent) {
		return sent
	}
	line, err := c.Next(ctx) // also of a process that does not listen: it may have said why
	if err == nil {
		err = line.Expect(wantType, answer)
	}
	if err == nil && sent != nil {
		err = c.because(sent)
	}
	return err
}

// Tell sends one line, of whose answer Next tells: also of a process that does not
// listen any more, how it ended.
func (c *Child) Tell(message any) error {
	if err := c.conn.Send(message); err != nil && !broken(err) {
		return err
	}
	return nil
}

// Next waits for a line.
func (c *Child) Next(ctx context.Context) (protocol.Line, error) {
	select {
	case l, ok := <-c.lines:
		if !ok {
			l.err = io.EOF
		}
		if l.err != nil {
			return l.line, c.because(l.err)
		}
		return l.line, nil
	case <-ctx.Done():
		return protocol.Line{}, context.Cause(ctx)
	}
}

// Quiet says what has come, or how the process ended, although nobody asked it;
// nil if it lives and has said nothing.
func (c *Child) Quiet() error {
	select {
	case l, ok := <-c.lines:
		switch {
		case !ok:
			return c.because(io.EOF)
		case l.err != nil:
			return c.because(l.err)
		}
		return fmt.Errorf("a line of type %q that was not asked for", l.line.Type)
	default:
		return nil
	}
}

// broken says whether an error is that of a pipe whose other end is gone.
func broken(err error) bool {
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded, os.ErrClosed, syscall.EPIPE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// because puts the way the process ended before the error of a broken pipe,
// which follows from it.
func (c *Child) because(err error) error {
	if !broken(err) {
		return err
	}
	if !c.within(endGrace) {
		return fmt.Errorf("it closed its end of the pipe: %w", err)
	}
	return fmt.Errorf("the process ended (%s) without an answer: %w", c.status(), err)
}

func (c *Child) status() string {
	if c.exit == nil {
		return "exit status 0"
	}
	return c.exit.Error()
}

// Obituary says how the process ended, if it does within the given time, and
// the last it wrote; nil if it lives.
func (c *Child) Obituary(within time.Duration) error {
	if !c.within(within) {
		return nil
	}
	return fmt.Errorf("the process ended: %s; last lines of its log: %s", c.status(), c.Log())
}

// within waits for the process's end.
func (c *Child) within(d time.Duration) bool {
	select {
	case <-c.ended: // first, since a timer may have run out as well
		return true
	default:
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.ended:
		return true
	case <-timer.C:
		return false
	}
}

// CloseInput ends the process's input; what it still says can be read.
func (c *Child) CloseInput() { _ = c.in.Close() } // it may be closed already; what counts is the process's end

// Leave ends the process's input and waits for it to end by itself. It reports
// whether the process did.
func (c *Child) Leave(within time.Duration) bool {
	c.discard()
	_ = c.in.Close() // it may be closed already; what counts is the process's end
	return c.within(within)
}

// End ends the process: the end of its input, SIGTERM, SIGKILL, each after the
// time given for the step before. The signals go to its group, if it leads one,
// and what is left of the group is killed in any case. End reports whether
// SIGKILL was needed.
func (c *Child) End(leave, term time.Duration) (killed bool) {
	target := c.PID()
	if c.death == TermWithParent {
		target = -target
		defer func() { _ = syscall.Kill(target, syscall.SIGKILL) }() // fails if nothing is left, as it should be
	}
	if c.Leave(leave) {
		return false
	}
	_ = syscall.Kill(target, syscall.SIGTERM) // fails only if it has just ended
	if c.within(term) {
		return false
	}
	_ = syscall.Kill(target, syscall.SIGKILL)
	<-c.ended
	return true
}

// discard drops what the process still says, so that it cannot block on it.
func (c *Child) discard() {
	c.drain.Do(func() {
		go func() {
			for range c.lines {
			}
		}()
	})
}

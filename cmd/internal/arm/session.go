package arm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/process"
	"github.com/fanoutbench/fanoutbench/protocol"
)

// stopGrace is how long each step of stopping may take before the next.
const stopGrace = 3 * time.Second

// FaultError is an arm that did not keep to the protocol.
type FaultError struct {
	Arm     string // its name in the run
	Command []string
	Log     string // the last lines
	Err     error
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("%s (%s): %v; last lines of its log: %s", e.Arm, strings.Join(e.Command, " "), e.Err, e.Log)
}

func (e *FaultError) Unwrap() error { return e.Err }

// StartConfig is what a session needs beside its arm.
type StartConfig struct {
	Name    string // reference or candidate
	Hello   protocol.Hello
	Timeout time.Duration // until the receipt
	Log     io.Writer
}

// Session is a running arm.
type Session struct {
	Receipt protocol.Receipt

	arm   Arm
	conf  StartConfig
	cmd   *exec.Cmd
	in    io.WriteCloser
	conn  *protocol.Conn
	log   *process.Tail
	lines chan lineOrError
	ended chan struct{}
	exit  error // valid once ended is closed
	dead  error // the first fault: later calls return it
}

type lineOrError struct {
	line protocol.Line
	err  error
}

// Start runs the arm's command and takes it through the handshake.
func Start(ctx context.Context, a Arm, conf StartConfig) (*Session, error) {
	s := &Session{
		arm: a, conf: conf,
		cmd:   exec.Command(a.Command[0], a.Command[1:]...),
		log:   process.NewTail(conf.Log),
		lines: make(chan lineOrError, 1),
		ended: make(chan struct{}),
	}
	s.cmd.Stderr = s.log
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, s.fault(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, s.fault(err)
	}
	if err := process.Start(s.cmd, process.TermWithParent); err != nil {
		return nil, s.fault(fmt.Errorf("start: %w", err))
	}
	s.in, s.conn = in, protocol.NewConn(out, in)
	go s.read()
	if err := s.handshake(ctx); err != nil {
		s.kill()
		return nil, err
	}
	return s, nil
}

func (s *Session) read() {
	for {
		line, err := s.conn.Receive()
		s.lines <- lineOrError{line, err}
		if err != nil {
			break
		}
	}
	s.exit = s.cmd.Wait()
	close(s.ended)
}

func (s *Session) handshake(ctx context.Context) error {
	h := s.conf.Hello
	h.Type, h.Options = protocol.TypeHello, s.arm.Options
	if err := s.ask(ctx, h, s.conf.Timeout, protocol.TypeReceipt, &s.Receipt); err != nil {
		return err
	}
	r := s.Receipt
	switch {
	case r.Version != protocol.Version:
		return s.fault(fmt.Errorf("receipt: protocol version %d, this driver speaks %d", r.Version, protocol.Version))
	case !slices.Contains(r.Transports, h.Transport):
		return s.fault(fmt.Errorf("receipt: transports %q do not have %q", r.Transports, h.Transport))
	case r.Transport != h.Transport:
		return s.fault(fmt.Errorf("receipt: transport %q is in force, want %q", r.Transport, h.Transport))
	case len(r.Endpoints) != h.HTTPWorkers:
		return s.fault(fmt.Errorf("receipt: %d endpoints, want one for each of %d HTTP workers", len(r.Endpoints), h.HTTPWorkers))
	case len(r.Messages) != 1:
		return s.fault(fmt.Errorf("receipt: %d messages, want the one that consumers get", len(r.Messages)))
	case len(r.PIDs) == 0:
		return s.fault(errors.New("receipt: no worker pids, want at least one"))
	}
	return nil
}

// ask sends one line and waits for its answer.
func (s *Session) ask(ctx context.Context, question any, timeout time.Duration, wantType string, answer any) error {
	if s.dead != nil {
		return s.dead
	}
	if err := s.conn.Send(question); err != nil {
		return s.fault(err)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case l := <-s.lines:
		if l.err == nil {
			l.err = l.line.Expect(wantType, answer)
		}
		if l.err != nil {
			return s.fault(l.err)
		}
		return nil
	case <-timer.C:
		return s.fault(fmt.Errorf("no %s within %v", wantType, timeout))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fault makes err this session's end. If the process is gone, or goes at once,
// its exit status says more than the pipe's end.
func (s *Session) fault(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrUnexpectedEOF) {
		select {
		case <-s.ended:
			status := "exit status 0"
			if s.exit != nil {
				status = s.exit.Error()
			}
			err = fmt.Errorf("the controller exited (%s) without answering: %w", status, err)
		case <-time.After(stopGrace):
		}
	}
	s.dead = &FaultError{Arm: s.conf.Name, Command: s.arm.Command, Log: s.log.Quote(), Err: err}
	return s.dead
}

// Trial runs one trial. Outer is this process's own clock around it.
func (s *Session) Trial(ctx context.Context, t protocol.Trial, timeout time.Duration) (r protocol.Result, outer time.Duration, err error) {
	t.Type = protocol.TypeTrial
	start := time.Now()
	if err := s.ask(ctx, t, timeout, protocol.TypeResult, &r); err != nil {
		return r, 0, err
	}
	outer = time.Since(start)
	if r.ID != t.ID {
		return r, outer, s.fault(fmt.Errorf("a result for trial %q, want %q", r.ID, t.ID))
	}
	return r, outer, nil
}

// PIDs are the processes of the arm that are known: controller and workers.
func (s *Session) PIDs() []int { return append([]int{s.cmd.Process.Pid}, s.Receipt.PIDs...) }

// Layout is the message that the arm's consumers get.
func (s *Session) Layout() protocol.Message { return s.Receipt.Messages[0] }

// Stop ends the arm in good order. An arm that has failed, or that does not
// leave, is killed.
func (s *Session) Stop(ctx context.Context) error {
	var done protocol.Signal
	if err := s.ask(ctx, protocol.Signal{Type: protocol.TypeStop}, stopGrace, protocol.TypeStopped, &done); err != nil {
		s.kill()
		return err
	}
	select {
	case l := <-s.lines:
		if l.err == nil {
			s.kill()
			return s.fault(fmt.Errorf("a line of type %q after stopped", l.line.Type))
		}
	case <-time.After(stopGrace):
		s.kill()
		return s.fault(fmt.Errorf("still running %v after stopped", stopGrace))
	}
	if !s.wait(stopGrace) {
		s.kill()
		return s.fault(fmt.Errorf("still running %v after its output ended", stopGrace))
	}
	if s.exit != nil {
		return s.fault(fmt.Errorf("after stop: %w", s.exit))
	}
	return nil
}

// Close ends the arm without a word.
func (s *Session) Close() { s.kill() }

// CloseInput closes the arm's input and waits for it to leave by itself.
func (s *Session) CloseInput() error {
	go s.drain()
	if err := s.in.Close(); err != nil {
		return err
	}
	if !s.wait(stopGrace) {
		s.kill()
		return s.fault(fmt.Errorf("still running %v after its input ended", stopGrace))
	}
	return nil
}

// kill ends the process group: the input's end, SIGTERM, SIGKILL.
func (s *Session) kill() {
	go s.drain()
	_ = s.in.Close() // it may be closed already; what counts is the exit below
	group := -s.cmd.Process.Pid
	if s.dead == nil && s.wait(stopGrace) {
		return
	}
	_ = syscall.Kill(group, syscall.SIGTERM)
	if !s.wait(stopGrace) {
		_ = syscall.Kill(group, syscall.SIGKILL)
		s.cmd.Process.Kill()
		<-s.ended
	}
	_ = syscall.Kill(group, syscall.SIGKILL) // what the controller left behind
}

func (s *Session) drain() {
	for {
		select {
		case <-s.lines:
		case <-s.ended:
			return
		}
	}
}

func (s *Session) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.ended:
		return true
	case <-timer.C:
		return false
	}
}

// socketRoom is what a folder's path must leave of a socket address: the
// longest name below it is /candidate-warm-1000/c1023. 103 bytes is the limit of
// the strictest platform (sun_path on darwin).
const socketRoom = 103 - len("/candidate-1000/c1023")

// PrivateDir makes a folder for sockets and bulk files, readable by this user
// only. Where the temporary folder's path is too long for a socket it falls
// back to /tmp.
func PrivateDir() (string, error) {
	dir, err := os.MkdirTemp("", "fanoutbench-")
	if err != nil {
		return "", fmt.Errorf("arm: private folder: %w", err)
	}
	if abs, err := filepath.Abs(dir); err == nil && len(abs) <= socketRoom {
		return abs, nil
	}
	if err := os.Remove(dir); err != nil {
		return "", fmt.Errorf("arm: private folder: %w", err)
	}
	if dir, err = os.MkdirTemp("/tmp", "fanoutbench-"); err != nil {
		return "", fmt.Errorf("arm: private folder short enough for a socket: %w", err)
	}
	return dir, nil
}

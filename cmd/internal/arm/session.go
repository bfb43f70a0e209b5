package arm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/process"
	"github.com/fanoutbench/fanoutbench/protocol"
)

const (
	// stopGrace is how long an arm may take to answer stop, and then to leave.
	stopGrace = 3 * time.Second
	// leaveGrace is how long an arm that is being ended may take to notice the
	// end of its input, before it gets SIGTERM.
	leaveGrace = 500 * time.Millisecond
)

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

// Session is a running arm. After its first fault its process is gone.
type Session struct {
	Receipt protocol.Receipt

	arm   Arm
	conf  StartConfig
	child *process.Child
	dead  error // the first fault: later calls return it
	rests bool  // between stopped and the next hello
}

// Start runs the arm's command and takes it through the handshake.
func Start(ctx context.Context, a Arm, conf StartConfig) (*Session, error) {
	child, err := process.Start(a.Command, process.TermWithParent, conf.Log)
	if err != nil {
		return nil, &FaultError{Arm: conf.Name, Command: a.Command, Log: "none", Err: err}
	}
	s := &Session{arm: a, conf: conf, child: child}
	if err := s.handshake(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
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
	case r.Consumers != h.Consumers:
		return s.fault(fmt.Errorf("receipt: consumers %q, want %q as hello says (none is the controller's thread)", r.Consumers, h.Consumers))
	case len(r.Endpoints) != h.HTTPWorkers:
		return s.fault(fmt.Errorf("receipt: %d endpoints, want one for each of %d HTTP workers", len(r.Endpoints), h.HTTPWorkers))
	case len(r.Messages) != 1:
		return s.fault(fmt.Errorf("receipt: %d messages, want the one that consumers get", len(r.Messages)))
	case len(r.PIDs) == 0:
		return s.fault(errors.New("receipt: no worker pids, want at least one"))
	}
	return nil
}

// Rest ends what the last hello began, and keeps a controller that can be used
// again for Wake.
func (s *Session) Rest(ctx context.Context) error {
	if !s.Receipt.Again {
		return fmt.Errorf("arm: %s cannot be used again, its receipt does not offer it", s.conf.Name)
	}
	if err := s.sayStop(ctx); err != nil {
		return err
	}
	s.rests = true
	return nil
}

// Faulty says whether a fault has ended the session.
func (s *Session) Faulty() bool { return s.dead != nil }

// Wake takes a controller that rests through another handshake.
func (s *Session) Wake(ctx context.Context, conf StartConfig) error {
	if s.dead != nil {
		return s.dead
	}
	if !s.rests {
		return fmt.Errorf("arm: %s does not rest", s.conf.Name)
	}
	s.conf, s.rests, s.Receipt = conf, false, protocol.Receipt{}
	if err := s.child.Quiet(); err != nil {
		return s.fault(fmt.Errorf("between stopped and another hello: %w", err))
	}
	if err := s.handshake(ctx); err != nil {
		s.Close()
		return err
	}
	if !s.Receipt.Again {
		return s.fault(errors.New("receipt: again is false, but it was offered before and has just been used"))
	}
	return nil
}

// ask sends one line and waits for its answer. The end of ctx is no fault.
func (s *Session) ask(ctx context.Context, question any, timeout time.Duration, wantType string, answer any) error {
	if s.dead != nil {
		return s.dead
	}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no %s within %v", wantType, timeout))
	defer cancel()
	err := s.child.Ask(limited, question, wantType, answer)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return s.fault(err)
}

// fault ends this session, so that its log is whole, and makes err its end.
func (s *Session) fault(err error) error {
	s.Close()
	s.dead = &FaultError{Arm: s.conf.Name, Command: s.arm.Command, Log: s.child.Log(), Err: err}
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
	for _, name := range s.Receipt.Counters {
		if _, ok := r.Counters[name]; !ok {
			return r, outer, s.fault(fmt.Errorf("the result lacks the counter %q of the receipt", name))
		}
	}
	return r, outer, nil
}

// PIDs are the processes of the arm that are known: controller and workers.
func (s *Session) PIDs() []int { return append([]int{s.child.PID()}, s.Receipt.PIDs...) }

// Layout is the message that the arm's consumers get.
func (s *Session) Layout() protocol.Message { return s.Receipt.Messages[0] }

func (s *Session) sayStop(ctx context.Context) error {
	var done protocol.Signal
	err := s.ask(ctx, protocol.Signal{Type: protocol.TypeStop}, stopGrace, protocol.TypeStopped, &done)
	if err != nil {
		s.Close()
	}
	return err
}

// Stop ends the arm in good order, also one that rests, or at once when ctx is
// done. It returns what goes wrong in stopping; a fault that has been returned
// before is not returned again.
func (s *Session) Stop(ctx context.Context) error {
	if s.dead != nil {
		return nil
	}
	switch {
	case !s.rests:
		if err := s.sayStop(ctx); err != nil {
			return err
		}
	case ctx.Err() != nil:
		s.Close()
		return context.Cause(ctx)
	}
	if s.Receipt.Again {
		s.child.CloseInput() // it waits for another hello
	}
	limited, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	line, err := s.child.Next(limited)
	switch {
	case err == nil:
		return s.fault(fmt.Errorf("a line of type %q after stopped", line.Type))
	case limited.Err() != nil || !errors.Is(err, io.EOF):
		return s.fault(fmt.Errorf("after stopped, want the end of its output within %v: %w", stopGrace, err))
	case !s.child.Leave(stopGrace):
		return s.fault(fmt.Errorf("still running %v after stopped", stopGrace))
	}
	s.Close()
	if err := s.child.Exit(); err != nil {
		return s.fault(fmt.Errorf("after stopped: %w", err))
	}
	return nil
}

// Close ends the arm without a word: the end of its input, SIGTERM, SIGKILL.
func (s *Session) Close() { s.child.End(leaveGrace, stopGrace) }

// CloseInput ends the arm's input and waits for it to leave by itself.
func (s *Session) CloseInput() error {
	if !s.child.Leave(stopGrace) {
		return s.fault(fmt.Errorf("still running %v after its input ended", stopGrace))
	}
	s.Close()
	return nil
}

// Package faulty has workers that are wrong in one named way at one named row,
// for tests of the harness: everything else in them is the real worker. It
// takes strategies that send a message a row.
package faulty

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/worker"
	"github.com/fanoutbench/fanoutbench/runtime/fanout"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// What a worker can do to the row that its fault names.
const (
	None     = "none"     // nothing
	Drop     = "drop"     // does not send it
	Double   = "double"   // sends it twice
	Misroute = "misroute" // swaps it with the next row, which goes to another consumer
	Reorder  = "reorder"  // sends it after the next row of its consumer
	Field    = "field"    // adds one to completion_tokens
	Cut      = "cut"      // takes the last byte off its text
	Forget   = "forget"   // loses its dp_ranks
	Surplus  = "surplus"  // sends a row of a rid that nobody knows behind it
	Flood    = "flood"    // sends a thousand of these
	After    = "after"    // sends one when its input has ended
	Hang     = "hang"     // never comes back from sending it, and says so in its log
	Die      = "die"      // is killed in sending it
	Remember = "remember" // nothing to it: keeps what it decodes for later, see Memory
)

// HangLine is what a worker that hangs has said in its log by then.
const HangLine = "faulty: hanging"

// extraRID is the rid of rows that were never asked for.
const extraRID = "never-asked-for"

// Fault is what to do, to the row of that rid and step (its place among the
// rows of the rid), on the way to an endpoint whose name contains Only.
type Fault struct {
	Kind, RID string
	Step      int
	Only      string
}

// String is the form that Parse reads.
func (f Fault) String() string {
	return strings.Join([]string{f.Kind, f.RID, strconv.Itoa(f.Step), f.Only}, ",")
}

// Parse reads KIND,RID,STEP,ONLY.
func Parse(s string) (Fault, error) {
	parts := strings.Split(s, ",")
	if len(parts) != 4 {
		return Fault{}, fmt.Errorf("faulty: %q has %d parts, want KIND,RID,STEP,ONLY", s, len(parts))
	}
	step, err := strconv.Atoi(parts[2])
	if err != nil {
		return Fault{}, fmt.Errorf("faulty: %q: step: %w", s, err)
	}
	return Fault{Kind: parts[0], RID: parts[1], Step: step, Only: parts[3]}, nil
}

// Run is worker.Run with the fault.
func Run(ctx context.Context, in io.Reader, out io.Writer, f Fault) error {
	s := &saboteur{fault: f}
	hooks := worker.Hooks{Sender: s.sender}
	if f.Kind == Remember {
		m := NewMemory((*wire.Opaque).Open)
		hooks.Open = m.Open
		defer func() { fmt.Fprintln(os.Stderr, m) }()
	}
	return worker.Run(ctx, &lastWord{in, s}, out, hooks)
}

// lastWord is a worker's input. At its end the worker has nothing to do, and
// still has its connections.
type lastWord struct {
	io.Reader
	by *saboteur
}

func (l *lastWord) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if errors.Is(err, io.EOF) && l.by.fault.Kind == After && l.by.last != nil {
		extra, wrong := renamed(l.by.last)
		err = errors.Join(wrong, l.by.from.Send(extra), l.by.from.Flush())
		if err == nil {
			err = io.EOF
		}
	}
	return n, err
}

// saboteur stands before all senders of one worker.
type saboteur struct {
	fault Fault
	seen  int // rows of the fault's rid
	held  []byte
	last  []byte        // the row that was struck
	from  fanout.Sender // where it should have gone
}

func (s *saboteur) sender(ipc string, to fanout.Sender) fanout.Sender {
	if !strings.Contains(ipc, s.fault.Only) {
		return to
	}
	return &bent{Sender: to, by: s}
}

type bent struct {
	fanout.Sender
	by *saboteur
}

// Send is called for one row at a time, on the worker's one loop.
func (b *bent) Send(frame []byte) error {
	s := b.by
	msg, err := wire.DecodeStr(frame)
	if err != nil {
		return err
	}
	if s.held != nil && (s.fault.Kind == Misroute || s.from == b.Sender) {
		return s.release(b, frame)
	}
	if len(msg.RIDs) != 1 || msg.RIDs[0] != s.fault.RID {
		return b.Sender.Send(frame)
	}
	s.seen++
	if s.seen-1 != s.fault.Step {
		return b.Sender.Send(frame)
	}
	return s.strike(b, frame, msg)
}

func (s *saboteur) strike(b *bent, frame []byte, msg *wire.BatchStrOutput) error {
	s.last, s.from = append([]byte{}, frame...), b.Sender
	switch s.fault.Kind {
	case Drop:
		return nil
	case Double:
		return errors.Join(b.Sender.Send(frame), b.Sender.Send(frame))
	case Hang:
		fmt.Fprintln(os.Stderr, HangLine)
		<-time.After(24 * time.Hour)
	case Die:
		return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGKILL), errors.New("faulty: it lives"))
	case Misroute, Reorder:
		s.held = s.last
		return nil
	case Field:
		msg.CompletionTokens[0].V++
	case Forget:
		msg.DPRanks = nil
	case Cut:
		msg.OutputStrs[0].V = msg.OutputStrs[0].V[:len(msg.OutputStrs[0].V)-1]
	case Surplus, Flood:
		return s.more(b, frame)
	}
	changed, err := wire.Encode(nil, msg)
	return errors.Join(err, b.Sender.Send(changed))
}

// more sends the row, and behind it one or a thousand of another rid.
func (s *saboteur) more(b *bent, frame []byte) error {
	extra, err := renamed(frame)
	err = errors.Join(err, b.Sender.Send(frame))
	n := 1
	if s.fault.Kind == Flood {
		n = 1000
	}
	for range n {
		err = errors.Join(err, b.Sender.Send(extra))
	}
	return err
}

// release sends the row that was held back with the one that came now: each by
// the other's way, or in the wrong order.
func (s *saboteur) release(b *bent, frame []byte) error {
	held := s.held
	s.held = nil
	if s.fault.Kind == Misroute {
		return errors.Join(s.from.Send(frame), s.from.Flush(), b.Sender.Send(held))
	}
	return errors.Join(b.Sender.Send(frame), b.Sender.Send(held))
}

func renamed(frame []byte) ([]byte, error) {
	msg, err := wire.DecodeStr(frame)
	if err != nil {
		return nil, err
	}
	msg.RIDs[0] = extraRID
	return wire.Encode(nil, msg)
}

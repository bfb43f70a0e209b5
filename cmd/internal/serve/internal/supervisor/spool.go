package supervisor

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// spoolLimit is how much of a log waits for its reader: seconds of a busy
	// server's lines.
	spoolLimit = 1 << 20
	// spoolGrace is how long the end of a server waits for it.
	spoolGrace = 2 * time.Second
)

// spool is a log between those that write and a reader that may stand still: a
// terminal that was paused, a pipe that nobody empties. Nobody waits for it.
// Beyond limit, writes are left out, and the log says how many when it goes on.
type spool struct {
	to    io.Writer
	limit int
	wake  chan struct{} // has room for one
	done  chan struct{} // closed when run has ended

	mu      sync.Mutex
	waiting []byte
	leftOut int
	closed  bool
	err     error // of writing; everything after it is left out
}

func newSpool(to io.Writer, limit int) *spool {
	s := &spool{to: to, limit: limit, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run()
	return s
}

// Write takes p, which is whole lines, or leaves it out. Its error is that of an
// earlier one.
func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return 0, s.err
	case len(s.waiting)+len(p) > s.limit:
		s.leftOut++
	default:
		s.waiting = append(s.waiting, p...)
	}
	s.signal()
	return len(p), nil
}

func (s *spool) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *spool) run() {
	defer close(s.done)
	for range s.wake {
		for {
			text, closed := s.take()
			if len(text) == 0 {
				if closed {
					return
				}
				break
			}
			if _, err := s.to.Write(text); err != nil {
				s.fail(err)
				return
			}
		}
	}
}

// take gives what is to be written next, and whether it is the last.
func (s *spool) take() (text []byte, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, s.waiting = s.waiting, nil
	if s.leftOut > 0 {
		text = fmt.Appendf(text, "[%s supervisor] WARNING: %d writes to this log were left out: it was not read\n", time.Now().Format(timeForm), s.leftOut)
		s.leftOut = 0
	}
	return text, s.closed
}

func (s *spool) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = fmt.Errorf("the log: %w", err)
}

// close waits until all is written, but not for a reader that stands still. Its
// error says what was not.
func (s *spool) close(grace time.Duration) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.signal()
	select {
	case <-s.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.err
	case <-time.After(grace):
		return errors.New("the log: its end is lost, as nobody reads it")
	}
}

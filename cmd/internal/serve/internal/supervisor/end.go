package supervisor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

const (
	// failGrace and endGrace are how long parts have to end once told to; then
	// they are killed.
	failGrace = 5 * time.Second
	endGrace  = 10 * time.Second
	// settleTime is how long rows in flight have to arrive when no more are built,
	// settlePoll how often the ledger is looked at meanwhile.
	settleTime = 5 * time.Second
	settlePoll = 10 * time.Millisecond
)

// finish ends the server in order: requests first, then the parts along the way of
// the rows, so that what was built arrives before the parts behind it end.
func (s *server) finish() error {
	if err := s.drain(); err != nil {
		return err
	}
	for _, kind := range []string{part.Router, part.Scheduler} {
		if err := s.endKind(kind); err != nil {
			return err
		}
	}
	if err := s.settle(); err != nil {
		return err
	}
	for _, kind := range []string{part.DetokenizerRouter, part.Detokenizer, part.Worker} {
		if err := s.endKind(kind); err != nil {
			return err
		}
	}
	s.killAll()
	return s.account()
}

// drain lets the requests finish.
func (s *server) drain() error {
	limit := seconds(s.Args.ShutdownTimeout)
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit, errLate)
	defer cancel()
	for _, u := range s.units {
		u.drain()
	}
	for s.any(part.Worker, s.drained) {
		_, err := s.next(ctx)
		if errors.Is(err, errLate) {
			return fmt.Errorf("requests had not finished %v after the server was asked to end (--shutdown-timeout); they were cut off", limit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// any says whether there is a part of the kind that is not done.
func (s *server) any(kind string, done []bool) bool {
	for i, id := range s.ids {
		if id.Kind == kind && !done[i] {
			return true
		}
	}
	return false
}

// endKind ends the parts of a kind and waits for them.
func (s *server) endKind(kind string) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), endGrace, errLate)
	defer cancel()
	for i, id := range s.ids {
		if id.Kind == kind {
			s.told[i] = true
			s.units[i].end("")
		}
	}
	for s.any(kind, s.ended) {
		_, err := s.next(ctx)
		if errors.Is(err, errLate) {
			return fmt.Errorf("a part of kind %s had not ended %v after it was told to", kind, endGrace)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle waits until every row has arrived or was dropped for a reason. If some do
// not, account says so.
func (s *server) settle() error {
	for end := time.Now().Add(settleTime); time.Now().Before(end); {
		l, err := s.Ledger(s.folder.path)
		if err != nil {
			return fmt.Errorf("the ledger: %w", err)
		}
		if l.InFlight() <= 0 { // fewer than none does not get better
			return nil
		}
		pause, cancel := context.WithTimeoutCause(context.Background(), settlePoll, errLate)
		_, err = s.next(pause)
		cancel()
		if err != nil && !errors.Is(err, errLate) {
			return err
		}
	}
	return nil
}

// account reads the ledger of a server whose parts have ended.
func (s *server) account() error {
	l, err := s.Ledger(s.folder.path)
	if err != nil {
		return fmt.Errorf("the ledger: %w", err)
	}
	s.slog.Info("ledger: " + describe(l))
	s.accounted = true
	if l.InFlight() != 0 || l.Missing != 0 || l.Doubled != 0 || l.Reordered != 0 {
		return fmt.Errorf("the ledger does not add up: %s; want nothing in flight, missing, doubled or reordered", describe(l))
	}
	return nil
}

func describe(l counters.Ledger) string {
	var dropped uint64
	reasons := ""
	for _, reason := range slices.Sorted(maps.Keys(l.Dropped)) {
		if n := l.Dropped[reason]; n > 0 {
			dropped += n
			reasons += fmt.Sprintf(", %s %d", reason, n)
		}
	}
	if reasons != "" {
		reasons = " (" + reasons[2:] + ")"
	}
	return fmt.Sprintf("built %d = delivered %d + dropped %d%s + in flight %d; missing %d, doubled %d, reordered %d",
		l.Built, l.Delivered, dropped, reasons, l.InFlight(), l.Missing, l.Doubled, l.Reordered)
}

// fail ends the server because of an error: every part is told why, at once
// (vllm#39863), and what does not end is killed.
func (s *server) fail(err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), failGrace, errLate)
	defer cancel()
	why := reason(err)
	for i, u := range s.units {
		s.told[i] = true
		u.end(why)
	}
	for slices.Contains(s.ended[:len(s.units)], false) && !errors.Is(err, errNow) {
		_, err := s.next(ctx)
		if errors.Is(err, errLate) || errors.Is(err, errNow) {
			break
		}
		if err != nil { // after the error that everything follows from
			s.slog.Warn(err.Error())
		}
	}
	for i, ended := range s.ended[:len(s.units)] {
		if !ended {
			s.slog.Warn(fmt.Sprintf("%s had not ended; it is killed", s.ids[i]), "pid", s.units[i].pid())
		}
	}
	s.killAll()
}

// lastLedger tells the ledger of a server that failed once it had served: the
// counters outlive the parts. Rows in flight are among what was cut off, so it is
// no verdict.
func (s *server) lastLedger() {
	if s.accounted || len(s.ready) == 0 || slices.Contains(s.ready, false) {
		return
	}
	l, err := s.Ledger(s.folder.path)
	if err != nil {
		s.slog.Warn("the ledger cannot be read", "error", err)
		return
	}
	s.slog.Info("ledger: " + describe(l))
}

// killAll lets go of the parts, whether they live or not.
func (s *server) killAll() {
	for _, u := range s.units {
		u.kill()
	}
}

package detok

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/fanout"
	"github.com/fanoutbench/fanoutbench/runtime/router"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/intake"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// freezeGC is the class of a request that every detokenizer gets.
const freezeGC = "FreezeGCReq"

// loop is what both kinds have in common: batches go to a strategy, and what it
// says is logged and counted.
type loop struct {
	env     part.Env
	options options
	counts  *counters.Set
	faults  *intake.Faults

	batches, rows, dropped         *counters.Counter
	messages, bytes, opaqueDecodes *counters.Counter

	batch    func(frame []byte) error // the strategy's
	counted  func() fanout.Counters   // the strategy's, so far
	reported fanout.Counters          // of those, what is in the counters above

	fail    context.CancelCauseFunc // ends serve with an error; only there while it runs
	condemn sync.Once
}

func newLoop(e part.Env, o options, set *counters.Set, faults *intake.Faults) *loop {
	dropped := rowsDroppedDetokenizer
	if e.ID.Kind == part.DetokenizerRouter {
		dropped = rowsDroppedRouter
	}
	return &loop{
		env: e, options: o, counts: set, faults: faults,
		batches: set.Counter("batches"), rows: set.Counter("rows"), dropped: set.Counter(dropped),
		messages: set.Counter("messages"), bytes: set.Counter("bytes"), opaqueDecodes: set.Counter("opaque_decodes"),
	}
}

// serve receives for h until ctx ends, or rows were lost whose clients cannot be told.
func (l *loop) serve(parent context.Context, pull transport.Pull, h intake.Handler) error {
	ctx, fail := context.WithCancelCause(parent)
	defer fail(nil)
	l.fail = fail
	if err := intake.Serve(ctx, pull, l.counts.Beat("loop"), h); err != nil {
		return err
	}
	if cause := context.Cause(ctx); cause != context.Cause(parent) {
		return cause
	}
	return nil
}

// Flush has nothing to do: a strategy flushes each batch.
func (l *loop) Flush() error { return nil }

// Peer takes note of a sender that was dropped.
func (l *loop) Peer(err error) {
	l.counts.Counter("peers_dropped").Add(1)
	l.faults.Log("a sender of batches broke the transport's rules", "error", err)
}

// take hands one frame to the strategy, and counts what became of its rows. An
// error is a fault of the scheduler that no client can be told of.
func (l *loop) take(frame []byte) error {
	rows, unknown := wire.CountRows(frame)
	err := l.batch(frame)
	now := l.counted()
	failed := now.FailedRows - l.reported.FailedRows
	l.messages.Add(uint64(now.Messages - l.reported.Messages))
	l.bytes.Add(uint64(now.Bytes - l.reported.Bytes))
	l.opaqueDecodes.Add(uint64(now.OpaqueDecodes - l.reported.OpaqueDecodes))
	l.reported = now
	var fatal error
	if err != nil {
		var whole bool
		if whole, fatal = l.faulty(err); whole && unknown == nil {
			failed += int64(rows) // none of them was looked at
		}
	}
	l.batches.Add(1)
	l.rows.Add(uint64(rows)) // 0 where they are unknown
	l.dropped.Add(uint64(failed))
	return fatal
}

// faulty logs and counts what went wrong with a batch, and tells whether it was
// the frame as a whole, and what the part cannot go on after.
func (l *loop) faulty(err error) (whole bool, fatal error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return l.fault(err)
	}
	var all []error
	for _, one := range joined.Unwrap() {
		w, f := l.fault(one)
		whole, all = whole || w, append(all, f)
	}
	return whole, errors.Join(all...)
}

func (l *loop) fault(err error) (whole bool, fatal error) {
	if n, ok := unreachable(err); ok {
		l.counts.Counter("rows_unreachable").Add(uint64(n))
		l.faults.Log("rows were dropped: where they go to cannot be reached", "rows", n, "error", err)
		l.giveUp(err)
		return false, nil
	}
	n, aborted, ok := refused(err)
	switch {
	case !ok:
		l.counts.Counter("frames_malformed").Add(1)
		return true, fmt.Errorf("a frame of the scheduler is no batch: %w", err)
	case aborted:
		l.counts.Counter("rows_aborted").Add(1)
		l.faults.Log("a row cannot be handled for what it holds", "error", err)
		return false, nil
	}
	l.counts.Counter("rows_refused").Add(uint64(n))
	return false, fmt.Errorf("the scheduler sent what cannot be handled: %w", err)
}

// giveUp ends the part in a while: the clients of the rows in err cannot be told.
// If the peer has died the server ends before that, and names it, not this part.
func (l *loop) giveUp(err error) {
	l.condemn.Do(func() { time.AfterFunc(l.options.grace, func() { l.fail(err) }) })
}

// unreachable is how many rows could not be sent, if that is what err says.
func unreachable(err error) (rows int, ok bool) {
	var worker *fanout.SendError
	var target *router.SendError
	switch {
	case errors.As(err, &worker):
		return worker.Rows, true
	case errors.As(err, &target):
		return target.Rows, true
	}
	return 0, false
}

// refused is how many rows were dropped for their own fault, if that is what err
// says, or whether one was aborted.
func refused(err error) (rows int, aborted, ok bool) {
	var row *fanout.RowError
	var routed *router.RowError
	switch {
	case errors.As(err, &row):
		return row.Rows, row.Aborted, true
	case errors.As(err, &routed):
		return routed.Rows, false, true
	}
	return 0, false, false
}

package detok

import (
	"context"
	"errors"

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

// serve receives for h until ctx ends.
func (l *loop) serve(ctx context.Context, pull transport.Pull, h intake.Handler) error {
	return intake.Serve(ctx, pull, l.counts.Beat("loop"), h)
}

// Flush has nothing to do: a strategy flushes each batch.
func (l *loop) Flush() error { return nil }

// Peer takes note of a sender that was dropped.
func (l *loop) Peer(err error) {
	l.counts.Counter("peers_dropped").Add(1)
	l.faults.Log("a sender of batches broke the transport's rules", "error", err)
}

// take hands one frame to the strategy, and counts what became of its rows.
func (l *loop) take(frame []byte) {
	rows, unknown := wire.CountRows(frame)
	err := l.batch(frame)
	now := l.counted()
	failed := now.FailedRows - l.reported.FailedRows
	l.messages.Add(uint64(now.Messages - l.reported.Messages))
	l.bytes.Add(uint64(now.Bytes - l.reported.Bytes))
	l.opaqueDecodes.Add(uint64(now.OpaqueDecodes - l.reported.OpaqueDecodes))
	l.reported = now
	if err != nil && l.faulty(err) && unknown == nil {
		failed += int64(rows) // none of them was looked at
	}
	l.batches.Add(1)
	l.rows.Add(uint64(rows)) // 0 where they are unknown
	l.dropped.Add(uint64(failed))
}

// faulty logs and counts what went wrong with a batch, and tells whether it was
// the frame as a whole.
func (l *loop) faulty(err error) (whole bool) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return l.fault(err)
	}
	for _, one := range joined.Unwrap() {
		whole = l.fault(one) || whole
	}
	return whole
}

func (l *loop) fault(err error) (whole bool) {
	if n, ok := unreachable(err); ok {
		l.counts.Counter("rows_unreachable").Add(uint64(n))
		l.faults.Log("rows were dropped: where they go to cannot be reached", "rows", n, "error", err)
		return false
	}
	if n, ok := refused(err); ok {
		l.counts.Counter("rows_refused").Add(uint64(n))
		l.faults.Log("rows were dropped for what they hold", "rows", n, "error", err)
		return false
	}
	l.counts.Counter("frames_malformed").Add(1)
	l.faults.Log("a frame was dropped: it is no batch", "error", err)
	return true
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

// refused is how many rows were dropped for their own fault, if that is what err says.
func refused(err error) (rows int, ok bool) {
	var row *fanout.RowError
	var routed *router.RowError
	switch {
	case errors.As(err, &row):
		return row.Rows, true
	case errors.As(err, &routed):
		return routed.Rows, true
	}
	return 0, false
}

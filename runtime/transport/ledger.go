package transport

import (
	"context"
	"errors"
	"fmt"
)

// Range is sequence numbers from First to Last, both included. It is empty when Last is below First.
type Range struct{ First, Last uint64 }

// Len is how many there are.
func (r Range) Len() uint64 {
	if r.Last < r.First {
		return 0
	}
	return r.Last - r.First + 1
}

// Has says whether seq is one of them.
func (r Range) Has(seq uint64) bool { return r.First <= seq && seq <= r.Last }

func (r Range) String() string {
	if r.Len() == 0 {
		return "none"
	}
	return fmt.Sprintf("%d to %d", r.First, r.Last)
}

// UnackedError is Counted.Close's answer when messages were accepted and never acknowledged: they are
// perhaps lost.
type UnackedError struct{ Range Range }

func (e *UnackedError) Error() string {
	return fmt.Sprintf("transport: closed with messages %v not acknowledged", e.Range)
}

// ledger is the counting in Counted: two numbers, and no connection.
type ledger struct {
	accepted uint64 // the last message that a Push took
	settled  uint64 // up to here they were acknowledged, or reported as perhaps lost
	base     uint64 // up to here they went over connections that are no more
}

func (l *ledger) accept() uint64 {
	l.accepted++
	return l.accepted
}

func (l *ledger) open() Range { return Range{l.settled + 1, l.accepted} }

// ack settles everything up to seq.
func (l *ledger) ack(seq uint64) error {
	switch {
	case seq > l.accepted:
		return fmt.Errorf("transport: message %d is acknowledged; the last one accepted is %d", seq, l.accepted)
	case seq <= l.base && seq > 0:
		return fmt.Errorf("transport: message %d is acknowledged after Reconnect settled all up to %d: it was not lost", seq, l.base)
	case seq < l.settled:
		return fmt.Errorf("transport: message %d is acknowledged after %d", seq, l.settled)
	}
	l.settled = seq
	return nil
}

// renew settles everything as perhaps lost, for a new connection.
func (l *ledger) renew() Range {
	lost := l.open()
	l.settled, l.base = l.accepted, l.accepted
	return lost
}

// Counted is a Push that numbers its messages from 1 and knows which of them the other side has
// acknowledged. The acknowledgements come from the caller, who has them over another way (the control
// plane): nothing is added to the messages. It retries nothing. A connection that broke stays broken
// until Reconnect, which says what may be lost with it. One goroutine at a time.
type Counted struct {
	dial func(context.Context) (Push, error)
	push Push // nil after a Reconnect that failed
	book ledger
	err  error // why there is no push
}

// NewCounted makes the first connection by dial, which is called again by each Reconnect.
func NewCounted(ctx context.Context, dial func(context.Context) (Push, error)) (*Counted, error) {
	push, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	return &Counted{dial: dial, push: push}, nil
}

// Send queues or writes frame as Push.Send does and returns its number. A frame that was not accepted
// has none: it never arrives, and sending it again is the caller's matter.
func (c *Counted) Send(frame []byte) (seq uint64, err error) {
	if c.push == nil {
		return 0, c.err
	}
	if err := c.push.Send(frame); err != nil {
		return 0, err
	}
	return c.book.accept(), nil
}

// Flush is Push.Flush.
func (c *Counted) Flush() error {
	if c.push == nil {
		return c.err
	}
	return c.push.Flush()
}

// Ack says that the other side has every message up to seq that went over this connection. One that
// was never sent, an earlier one than before, or one of an earlier connection is an error.
func (c *Counted) Ack(seq uint64) error { return c.book.ack(seq) }

// Unacked is what has been accepted and not acknowledged.
func (c *Counted) Unacked() Range { return c.book.open() }

// Reconnect closes the connection, broken or not, and makes a new one. lost is what was accepted and not
// acknowledged: an upper bound, as some of it may have arrived, and as what arrived may not have been
// acknowledged yet. Nothing outside of it is lost, and nothing is sent again. Numbers go on from there.
// If there is no new connection nothing is settled, and Reconnect may be called again.
func (c *Counted) Reconnect(ctx context.Context) (lost Range, err error) {
	if c.push != nil {
		if err := c.push.Close(); err != nil && !errors.Is(err, ErrBroken) {
			c.push, c.err = nil, err
			return Range{1, 0}, err
		}
		c.push = nil
	}
	if c.push, err = c.dial(ctx); err != nil {
		c.push, c.err = nil, fmt.Errorf("%w: no new connection: %w", ErrBroken, err)
		return Range{1, 0}, c.err
	}
	return c.book.renew(), nil
}

// Close closes the connection. That messages are not acknowledged is an *UnackedError: whoever closes
// first waits for the acknowledgement of the last one.
func (c *Counted) Close() error {
	err := c.err
	if c.push != nil {
		err = c.push.Close()
		c.push, c.err = nil, fmt.Errorf("transport: %w", ErrClosed)
	}
	if open := c.book.open(); open.Len() > 0 {
		err = errors.Join(err, &UnackedError{open})
	}
	return err
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// consumers are those of an arm: served by a thread of this process (inbox), or
// each by a process of its own (audience).
type consumers interface {
	// begin forgets what has come. Of what comes now, rows rows are right.
	begin(ctx context.Context, rows int) error
	// receive returns when so many rows have come since begin.
	receive(ctx context.Context, rows int) error
	// quiet returns when nothing has come for the given time.
	quiet(ctx context.Context, d time.Duration) error
	count() int                                             // rows since begin
	times() (firsts, lasts []time.Time)                     // of each consumer's messages since begin
	surplus(ctx context.Context) error                      // an error if anything is there to receive
	collect(ctx context.Context) (protocol.Delivery, error) // all rows since begin
	close() error
}

func (b *inbox) begin(_ context.Context, rows int) error {
	b.reset(rows)
	return nil
}

func (b *inbox) count() int                                         { return b.rows }
func (b *inbox) times() (firsts, lasts []time.Time)                 { return b.firsts, b.lasts }
func (b *inbox) collect(context.Context) (protocol.Delivery, error) { return b.delivery() }

// tooLate is the error of rows that came when none should.
func tooLate(d protocol.Delivery) error {
	return fmt.Errorf("controller: %d rows came after the last trial's quiet period, the first to consumer %d with rid %s",
		len(d.Rows), d.Rows[0].Endpoint, d.Rows[0].Fields[fieldRID])
}

// checkConsumers refuses a place for the consumers that there is not.
func (c *controller) checkConsumers() error {
	switch c.hello.Consumers {
	case "":
		return nil
	case protocol.ConsumersProcess:
	default:
		return fmt.Errorf("controller: consumers %q, want %q, or none for this process's thread", c.hello.Consumers, protocol.ConsumersProcess)
	}
	if len(c.conf.Consumer) == 0 {
		return errors.New("controller: consumers \"process\", but there is no command to run them by")
	}
	if _, err := newMonotonic(c.now); err != nil {
		return fmt.Errorf("controller: consumers %q: %w", c.hello.Consumers, err)
	}
	return nil
}

func (c *controller) openConsumers(ctx context.Context) (consumers, error) {
	if c.hello.Consumers == protocol.ConsumersProcess {
		a, err := c.openAudience(ctx)
		if err != nil {
			return nil, err
		}
		return a, nil
	}
	b, err := newInbox(c.options[optionZMQ], c.ends, c.hello.Consumer, c.loop.read)
	if err != nil {
		return nil, err
	}
	return b, nil
}

package intake

import (
	"context"
	"errors"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// MaxBurst is how many messages are handled before a Flush, at most.
const MaxBurst = 256

// Handler is what a part does with what arrives.
type Handler interface {
	// Frame handles one message. It does not keep frame.
	Frame(ctx context.Context, frame []byte) error
	// Flush ends a burst.
	Flush() error
	// Peer takes note of a peer that was dropped.
	Peer(err error)
}

// Serve receives until ctx ends, then returns nil. beat says whether it waits for
// a message or handles one.
func Serve(ctx context.Context, pull transport.Pull, beat *counters.Beat, h Handler) error {
	for {
		err := burst(ctx, pull, beat, h)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
	}
}

// burst waits for a message and handles what has come with it.
func burst(ctx context.Context, pull transport.Pull, beat *counters.Beat, h Handler) error {
	beat.Idle()
	frame, err := pull.Recv(ctx)
	for n := 1; !errors.Is(err, transport.ErrEmpty); n++ {
		beat.Busy()
		if err := handle(ctx, h, frame, err); err != nil {
			return err
		}
		if n == MaxBurst {
			break
		}
		frame, err = pull.TryRecv()
	}
	return h.Flush()
}

func handle(ctx context.Context, h Handler, frame []byte, err error) error {
	var peer *transport.PeerError
	switch {
	case errors.As(err, &peer):
		h.Peer(err)
		return nil
	case err != nil:
		return err
	}
	return h.Frame(ctx, frame)
}

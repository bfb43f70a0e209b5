package transport

import (
	"errors"
	"fmt"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport/zmtp"
	"golang.org/x/sys/unix"
)

const (
	readSize = 256 << 10 // more than a unix socket holds by default, so that one read empties it
	maxOwed  = 4 << 10   // bytes of unread PONGs at which a peer is dropped
)

// peer is one accepted connection of a pull.
type peer struct {
	number int
	fd     int
	in     *zmtp.Stream
	owed   []byte    // hello and PONGs that the kernel has not taken yet
	by     time.Time // when the handshake has to be over
}

func newPeer(number, fd int, opt Options) *peer {
	return &peer{
		number: number,
		fd:     fd,
		in:     zmtp.NewStream("PUSH", opt.MaxFrame, readSize),
		owed:   zmtp.AppendHello(nil, "PULL"),
		by:     time.Now().Add(opt.HandshakeTimeout),
	}
}

// next gives the next buffered message, nil when there is none.
func (c *peer) next() ([]byte, error) {
	for {
		kind, body, err := c.in.Next()
		switch {
		case err != nil:
			return nil, err
		case kind == zmtp.None:
			return nil, nil
		case kind == zmtp.Message:
			return body, nil
		}
		if c.owed = zmtp.AppendPong(c.owed, body); len(c.owed) > maxOwed {
			return nil, fmt.Errorf("sends PING and does not read the answers; %d bytes wait", len(c.owed))
		}
		c.pay()
	}
}

// pay writes what is owed. That a peer reads no more is no fault of its messages: reading shows its end.
func (c *peer) pay() {
	for len(c.owed) > 0 {
		n, err := sysWrite(c.fd, c.owed)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return
		case err != nil:
			n = len(c.owed)
			fallthrough
		default:
			c.owed = c.owed[:copy(c.owed, c.owed[n:])]
		}
	}
}

// events is what to poll for.
func (c *peer) events() int16 {
	if len(c.owed) > 0 {
		return readable | writable
	}
	return readable
}

// read takes one read's bytes in. gone says that the connection has ended, err that it did so badly.
func (c *peer) read() (gone bool, err error) {
	n, err := sysRead(c.fd, c.in.Space())
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return false, nil
	case err == unix.ECONNRESET: // it left PONGs unread; what it sent was read before this
		return true, c.end(err)
	case err != nil:
		return true, fmt.Errorf("read: %w", err)
	case n == 0:
		return true, c.end(nil)
	}
	c.in.Filled(n)
	return false, nil
}

var errEnd = errors.New("connection closed")

// end judges the end of the connection: silence before the first byte is a probe, between two messages a farewell.
func (c *peer) end(cause error) error {
	if cause == nil {
		cause = errEnd
	}
	switch n := c.in.Partial(); {
	case !c.in.Touched():
		return nil
	case !c.in.Shaken():
		return fmt.Errorf("in the handshake: %w", cause)
	case n > 0:
		return fmt.Errorf("in mid-frame, after %d of its bytes: %w", n, cause)
	}
	return nil
}

package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
)

// zmq4Push is the zmq4 engine's Push. SendMulti is one writev a message, where Send is two writes and
// can tear the stream. Every Send ends in the kernel or in an error, so that Flush has nothing to do.
type zmq4Push struct {
	endpoint string
	opt      Options
	sock     zmq4.Socket
	conn     *net.UnixConn
	door     *door // of BindPush
	dead     error
	closed   bool
}

func connectZMQ4(ctx context.Context, endpoint string, opt Options) (Push, error) {
	sock, conn, err := callZMQ4(ctx, zmq4.NewPush, endpoint, opt)
	if err != nil {
		return nil, err
	}
	return &zmq4Push{endpoint: endpoint, opt: opt, sock: sock, conn: conn}, nil
}

func bindPushZMQ4(ctx context.Context, endpoint string, opt Options) (Push, error) {
	path, err := socketPath(endpoint)
	if err != nil {
		return nil, err
	}
	w := &waiting{door: newDoor(path, opt), over: make(chan error, 1)}
	w.door.alone, w.door.refused, w.door.failed = true, w.refuse, w.fail
	sock, err := openZMQ4(zmq4.NewPush, w.door, w.door)
	if err != nil {
		return nil, err
	}
	var conn *net.UnixConn
	if err = sock.Listen(zmq4Address); err == nil {
		conn, err = w.first(ctx, opt.DialTimeout)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("transport: bind %s: %w", endpoint, err), sock.Close(), w.door.Close())
	}
	return &zmq4Push{endpoint: endpoint, opt: opt, sock: sock, conn: conn, door: w.door}, nil
}

// waiting is the state of one BindPush of the zmq4 engine.
type waiting struct {
	door *door
	over chan error
	mu   sync.Mutex
	last error
}

func (w *waiting) refuse(_ int, reason error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = reason
}

func (w *waiting) fail(err error) {
	select {
	case w.over <- err:
	default: // the first is told
	}
}

func (w *waiting) first(ctx context.Context, timeout time.Duration) (*net.UnixConn, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case conn := <-w.door.came:
		return conn, nil
	case err := <-w.over:
		return nil, fmt.Errorf("accept: %w", err)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
	}
	err := fmt.Errorf("no Pull connected within %v: %w", timeout, os.ErrDeadlineExceeded)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last != nil {
		err = fmt.Errorf("%w; the last one turned away: %w", err, w.last)
	}
	return nil, err
}

func (p *zmq4Push) Send(frame []byte) error {
	if p.dead != nil {
		return p.dead
	}
	if len(frame) > p.opt.MaxFrame {
		return fmt.Errorf("transport: %s: message of %d bytes; at most %d are sent", p.endpoint, len(frame), p.opt.MaxFrame)
	}
	err := p.conn.SetWriteDeadline(time.Now().Add(p.opt.SendTimeout))
	if err == nil {
		err = p.sock.SendMulti(zmq4.NewMsg(frame))
	}
	if err != nil {
		p.dead = fmt.Errorf("%w: %s: %w", ErrBroken, p.endpoint, err)
	}
	return p.dead
}

func (p *zmq4Push) Flush() error { return p.dead }

func (p *zmq4Push) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	err := p.dead
	if p.dead == nil {
		p.dead = fmt.Errorf("transport: %s: %w", p.endpoint, ErrClosed)
	}
	var ends []error
	if e := p.sock.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
		ends = append(ends, e)
	}
	// The library has let go of a connection whose write failed, without closing it.
	if e := p.conn.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
		ends = append(ends, e)
	}
	if p.door != nil {
		ends = append(ends, p.door.Close())
	}
	if e := errors.Join(ends...); e != nil {
		err = errors.Join(err, fmt.Errorf("transport: %s: close: %w", p.endpoint, e))
	}
	return err
}

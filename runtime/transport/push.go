package transport

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport/zmtp"
	"golang.org/x/sys/unix"
)

// direct is the body size from which writing without a copy is worth a writev of its own.
const direct = 16 << 10

// earSize is the read buffer for what a puller says after the handshake: PINGs.
const earSize = 512

// push is the zmtp engine's Push.
type push struct {
	endpoint string
	opt      Options
	fd       int
	socket   *listener // BindPush made it; nil after Connect
	in       *zmtp.Stream
	buf      []byte // whole frames, but for the body that write is given
	pongs    []byte
	dead     error // ErrBroken or ErrClosed, for good
	closed   bool
}

func newPush(endpoint string, fd int, opt Options) *push {
	return &push{
		endpoint: endpoint,
		opt:      opt,
		fd:       fd,
		in:       zmtp.NewStream("PULL", opt.MaxFrame, earSize),
		buf:      make([]byte, 0, opt.Burst+direct+zmtp.MaxHeader),
		pongs:    make([]byte, 0, earSize),
	}
}

func (p *push) Send(frame []byte) error {
	if p.dead != nil {
		return p.dead
	}
	if len(frame) > p.opt.MaxFrame {
		return fmt.Errorf("transport: %s: message of %d bytes; at most %d are sent", p.endpoint, len(frame), p.opt.MaxFrame)
	}
	p.buf = zmtp.AppendHeader(p.buf, len(frame))
	if len(frame) >= direct && len(p.buf)+len(frame) > p.opt.Burst {
		return p.write(frame)
	}
	p.buf = append(p.buf, frame...)
	if len(p.buf) >= p.opt.Burst {
		return p.write(nil)
	}
	return nil
}

func (p *push) Flush() error {
	if p.dead != nil {
		return p.dead
	}
	return p.write(nil)
}

func (p *push) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	err := p.Flush()
	if e := unix.Close(p.fd); e != nil {
		err = errors.Join(err, fmt.Errorf("transport: %s: close: %w", p.endpoint, e))
	}
	if p.socket != nil {
		if e := p.socket.close(); e != nil {
			err = errors.Join(err, fmt.Errorf("transport: %s: close: %w", p.endpoint, e))
		}
	}
	p.buf = nil
	if p.dead == nil {
		p.dead = fmt.Errorf("transport: %s: %w", p.endpoint, ErrClosed)
	}
	return err
}

// poison ends the connection for good: the kernel may hold a part of a frame.
func (p *push) poison(cause error) error {
	p.dead = fmt.Errorf("%w: %s: %w", ErrBroken, p.endpoint, cause)
	p.buf = nil
	return p.dead
}

// write hands answers, queue and body to the kernel. It begins and ends between two frames.
func (p *push) write(body []byte) error {
	if p.socket != nil {
		p.turnAway()
	}
	if err := p.hear(); err != nil {
		return p.poison(err)
	}
	if err := p.writeAll([3][]byte{p.pongs, p.buf, body}); err != nil {
		return p.poison(err)
	}
	p.pongs, p.buf = p.pongs[:0], p.buf[:0]
	return nil
}

// turnAway closes the connection of one who came after the Pull: a Push has only one. It would wait in
// the kernel's queue otherwise; that there is none, or that it cannot be accepted, is no matter of ours.
func (p *push) turnAway() {
	if fd, err := accept(p.socket.fd); err == nil {
		_ = unix.Close(fd)
	}
}

func (p *push) writeAll(parts [3][]byte) error {
	total := len(parts[0]) + len(parts[1]) + len(parts[2])
	var end time.Time // set when the kernel first takes no more: the clock is not read before
	for done := 0; done < total; {
		n, err := writeParts(p.fd, &parts)
		switch {
		case err == nil:
			done += n
		case err == unix.EINTR:
		case err != unix.EAGAIN:
			return fmt.Errorf("write after %d of %d bytes: %w", done, total, err)
		default:
			if end.IsZero() {
				end = time.Now().Add(p.opt.SendTimeout)
			}
			if err := p.awaitRoom(end); err != nil {
				return fmt.Errorf("the peer's side took %d of %d bytes within %v: %w", done, total, p.opt.SendTimeout, err)
			}
		}
	}
	return nil
}

// writeParts makes one system call and cuts what it took off the parts.
func writeParts(fd int, parts *[3][]byte) (n int, err error) {
	full := parts[:]
	for len(full) > 1 && len(full[0]) == 0 {
		full = full[1:]
	}
	for len(full) > 1 && len(full[len(full)-1]) == 0 {
		full = full[:len(full)-1]
	}
	if len(full) == 1 {
		n, err = sysWrite(fd, full[0])
	} else {
		n, err = sysWritev(fd, full)
	}
	for i, left := 0, n; left > 0; i++ {
		k := min(left, len(parts[i]))
		parts[i] = parts[i][k:]
		left -= k
	}
	return n, err
}

func (p *push) awaitRoom(end time.Time) error {
	left := time.Until(end)
	if left <= 0 { // also for a reader that takes a little now and then
		return os.ErrDeadlineExceeded
	}
	fds := [1]unix.PollFd{{Fd: int32(p.fd), Events: writable}}
	n, err := poll(fds[:], left)
	if err == nil && n == 0 {
		return os.ErrDeadlineExceeded
	}
	return err
}

// hear reads what the peer says, once: a PING's answer goes out with the next write.
func (p *push) hear() error {
	n, err := sysRead(p.fd, p.in.Space())
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return nil
	case err != nil:
		return fmt.Errorf("read from the peer: %w", err)
	case n == 0:
		return fmt.Errorf("the peer closed the connection: %w", unix.EPIPE)
	}
	p.in.Filled(n)
	return p.heed()
}

func (p *push) heed() error {
	for {
		kind, body, err := p.in.Next()
		switch {
		case err != nil:
			return err
		case kind == zmtp.None:
			return nil
		case kind == zmtp.Message:
			return fmt.Errorf("the peer, a PULL, sent a message of %d bytes", len(body))
		}
		p.pongs = zmtp.AppendPong(p.pongs, body)
	}
}

package transport

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The places of fds before the peers.
const (
	listenAt = iota
	wakeAt
	peersAt
)

// pull is the zmtp engine's Pull. fds[i].Revents not 0 is work that poll has found and nobody has done.
type pull struct {
	endpoint string
	opt      Options
	socket   *listener // nil after ConnectPull: the one peer is all
	held     []byte    // came while ConnectPull was shaking hands
	peers    []*peer
	fds      []unix.PollFd
	cur      *peer // its buffer is being emptied
	turn     int   // the index of the peer that is read next
	accepted int
	wake     waker
	bell     bell
	closed   bool
}

func bindZMTP(endpoint string, opt Options) (Pull, error) {
	path, err := socketPath(endpoint)
	if err != nil {
		return nil, err
	}
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("transport: bind %s: %w", endpoint, err)
	}
	p := &pull{endpoint: endpoint, opt: opt, socket: l}
	p.fds = []unix.PollFd{{Fd: int32(l.fd), Events: readable}, {Fd: -1, Events: readable}}
	return p, nil
}

func (p *pull) engineName() string { return "zmtp" }

func (p *pull) Endpoint() string { return p.endpoint }

func (p *pull) Recv(ctx context.Context) ([]byte, error) {
	for {
		if err := p.usable(ctx); err != nil {
			return nil, err
		}
		if msg, err := p.take(); msg != nil || err != nil {
			return msg, err
		}
		fd, err := p.wake.watch(ctx)
		if err != nil {
			return nil, p.failed("wake pipe", err)
		}
		p.fds[wakeAt].Fd = fd
		if _, err := p.bell.wait(p.fds, p.patience()); err != nil {
			return nil, p.failed("wait", err)
		}
	}
}

func (p *pull) TryRecv() ([]byte, error) {
	if p.closed {
		return nil, p.failed("receive", ErrClosed)
	}
	p.fds[wakeAt].Fd = -1
	for {
		if msg, err := p.take(); msg != nil || err != nil {
			return msg, err
		}
		if n, err := poll(p.fds, 0); err != nil {
			return nil, p.failed("poll", err)
		} else if n == 0 {
			return nil, ErrEmpty
		}
	}
}

func (p *pull) usable(ctx context.Context) error {
	if p.closed {
		return p.failed("receive", ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return p.failed("receive", err)
	}
	return nil
}

func (p *pull) failed(what string, err error) error {
	return fmt.Errorf("transport: %s: %s: %w", p.endpoint, what, err)
}

// take does the work that poll has marked until a message comes of it; nil when nothing is left.
func (p *pull) take() ([]byte, error) {
	if msg := p.held; msg != nil {
		p.held = nil
		return msg, nil
	}
	for {
		if msg, err := p.drain(); msg != nil || err != nil {
			return msg, err
		}
		if i := p.marked(); i >= 0 {
			if err := p.serve(i); err != nil {
				return nil, err
			}
			continue
		}
		if p.left() {
			return nil, p.failed("receive", errLeft)
		}
		if p.fds[listenAt].Revents == 0 {
			return nil, p.expire()
		}
		if err := p.admit(); err != nil {
			return nil, err
		}
	}
}

// drain gives the next message of the peer whose turn it is.
func (p *pull) drain() ([]byte, error) {
	if p.cur == nil {
		return nil, nil
	}
	msg, err := p.cur.next()
	if err != nil {
		return nil, p.drop(p.index(p.cur), err)
	}
	if msg == nil {
		p.fds[peersAt+p.index(p.cur)].Events = p.cur.events()
		p.cur = nil
	}
	return msg, nil
}

// marked finds the next peer in turn that poll has found ready, -1 without one.
func (p *pull) marked() int {
	n := len(p.peers)
	for k := range n {
		if i := (p.turn + k) % n; p.fds[peersAt+i].Revents != 0 {
			return i
		}
	}
	return -1
}

// serve does what poll has found for peer i: one read, so that no peer has two turns running.
func (p *pull) serve(i int) error {
	c, slot := p.peers[i], &p.fds[peersAt+i]
	found := slot.Revents
	slot.Revents = 0
	p.turn = i + 1
	if found&writable != 0 {
		c.pay()
		slot.Events = c.events()
	}
	if found&^writable == 0 {
		return nil
	}
	gone, err := c.read()
	if err != nil {
		return p.drop(i, err)
	}
	if gone {
		p.remove(i)
		return nil
	}
	p.cur = c
	return nil
}

// admit accepts one; who else waits is found by the next poll.
func (p *pull) admit() error {
	p.fds[listenAt].Revents = 0
	fd, err := accept(p.socket.fd)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR || err == unix.ECONNABORTED:
		return nil
	case err != nil:
		return p.failed("accept", err)
	}
	p.accepted++
	c := newPeer(p.accepted, fd, p.opt)
	c.pay()
	p.peers = append(p.peers, c)
	p.fds = append(p.fds, unix.PollFd{Fd: int32(fd), Events: c.events()})
	return nil
}

// expire drops one peer whose handshake has run out of time.
func (p *pull) expire() error {
	var now time.Time
	for i, c := range p.peers {
		if c.in.Shaken() {
			continue
		}
		if now.IsZero() {
			now = time.Now()
		}
		if !now.Before(c.by) {
			return p.drop(i, fmt.Errorf("no handshake within %v: %w", p.opt.HandshakeTimeout, os.ErrDeadlineExceeded))
		}
	}
	return nil
}

// patience is the time until the next handshake runs out, negative without one.
func (p *pull) patience() time.Duration {
	d := time.Duration(-1)
	for _, c := range p.peers {
		if !c.in.Shaken() {
			d = sooner(d, max(time.Until(c.by), 0))
		}
	}
	return d
}

// pending says that take may give something without a poll.
func (p *pull) pending() bool {
	if p.held != nil || p.left() || p.cur != nil && p.cur.in.Buffered() {
		return true
	}
	for i := range p.fds {
		if i != wakeAt && p.fds[i].Revents != 0 {
			return true
		}
	}
	return p.patience() == 0
}

// errLeft is the end of a pull that ConnectPull made.
var errLeft = fmt.Errorf("the Push has left: %w", io.EOF)

// left says that the one peer of a connected pull has gone.
func (p *pull) left() bool { return p.socket == nil && len(p.peers) == 0 }

func (p *pull) index(c *peer) int {
	for i := range p.peers {
		if p.peers[i] == c {
			return i
		}
	}
	return -1
}

func (p *pull) drop(i int, err error) error {
	e := &PeerError{Endpoint: p.endpoint, Peer: p.peers[i].number, Err: err}
	p.remove(i)
	return e
}

func (p *pull) remove(i int) {
	c := p.peers[i]
	p.bell.forget(c.fd)
	_ = unix.Close(c.fd)
	if p.cur == c {
		p.cur = nil
	}
	p.peers = append(p.peers[:i], p.peers[i+1:]...)
	p.fds = append(p.fds[:peersAt+i], p.fds[peersAt+i+1:]...)
}

func (p *pull) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	for len(p.peers) > 0 {
		p.remove(len(p.peers) - 1)
	}
	p.wake.close()
	p.bell.close()
	if p.socket == nil {
		return nil
	}
	if err := p.socket.close(); err != nil {
		return p.failed("close", err)
	}
	return nil
}

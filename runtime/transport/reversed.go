package transport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport/zmtp"
	"golang.org/x/sys/unix"
)

// This file has the zmtp engine the other way round: a Push that binds and a Pull that connects.

func connectPullZMTP(ctx context.Context, endpoint string, opt Options) (Pull, error) {
	path, err := socketPath(endpoint)
	if err != nil {
		return nil, err
	}
	d := dialer{ctx: ctx, timeout: opt.DialTimeout, end: time.Now().Add(opt.DialTimeout)}
	defer d.wake.close()
	fd, err := d.dial(path)
	if err != nil {
		return nil, fmt.Errorf("transport: connect %s: %w", endpoint, err)
	}
	c := newPeer(1, fd, opt)
	c.by = d.end
	c.pay()
	p := &pull{endpoint: endpoint, opt: opt, peers: []*peer{c}, accepted: 1}
	p.fds = []unix.PollFd{{Fd: -1}, {Fd: -1, Events: readable}, {Fd: int32(fd), Events: c.events()}}
	if err := d.meet(p, c); err != nil {
		return nil, errors.Join(fmt.Errorf("transport: connect %s: handshake: %w", endpoint, err), p.Close())
	}
	return p, nil
}

// meet ends the handshake of a connected pull. A message that comes with it is kept for the first Recv.
func (d *dialer) meet(p *pull, c *peer) error {
	for !c.in.Shaken() {
		if !time.Now().Before(d.end) {
			return fmt.Errorf("the peer had not ended it within %v: %w", d.timeout, os.ErrDeadlineExceeded)
		}
		if err := d.wait([]unix.PollFd{{Fd: int32(c.fd), Events: c.events()}}, d.timeout); err != nil {
			return err
		}
		p.fds[peersAt].Revents = c.events()
		msg, err := p.take()
		var dropped *PeerError
		if errors.As(err, &dropped) {
			return dropped.Err
		}
		if err != nil {
			return err
		}
		p.held = msg
	}
	return nil
}

// maxGuests is how many may shake hands with a bound push at a time; more wait in the kernel's queue.
const maxGuests = 16

// welcome is the state of one BindPush: the first guest to shake hands as a PULL stays.
type welcome struct {
	dialer
	endpoint string
	opt      Options
	socket   *listener
	guests   []*guest
	refused  error // why the last one was turned away
}

type guest struct {
	*push
	by time.Time
}

func bindPushZMTP(ctx context.Context, endpoint string, opt Options) (Push, error) {
	path, err := socketPath(endpoint)
	if err != nil {
		return nil, err
	}
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("transport: bind %s: %w", endpoint, err)
	}
	w := welcome{endpoint: endpoint, opt: opt, socket: l}
	w.dialer = dialer{ctx: ctx, timeout: opt.DialTimeout, end: time.Now().Add(opt.DialTimeout)}
	defer w.wake.close()
	p, err := w.first()
	for _, g := range w.guests {
		if g.push != p {
			_ = unix.Close(g.fd)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("transport: bind %s: %w", endpoint, err), l.close())
	}
	p.socket = l
	return p, nil
}

// first waits for the one that stays.
func (w *welcome) first() (*push, error) {
	for {
		if !time.Now().Before(w.end) {
			err := fmt.Errorf("no Pull connected within %v: %w", w.timeout, os.ErrDeadlineExceeded)
			if w.refused != nil {
				err = fmt.Errorf("%w; the last one turned away: %w", err, w.refused)
			}
			return nil, err
		}
		if err := w.await(); err != nil {
			return nil, err
		}
		if err := w.admit(); err != nil {
			return nil, err
		}
		if p := w.shake(); p != nil {
			return p, nil
		}
	}
}

// await waits until somebody comes or says something, or has been silent too long.
func (w *welcome) await() error {
	var fds []unix.PollFd
	if len(w.guests) < maxGuests {
		fds = append(fds, unix.PollFd{Fd: int32(w.socket.fd), Events: readable})
	}
	patience := w.timeout
	for _, g := range w.guests {
		fds = append(fds, unix.PollFd{Fd: int32(g.fd), Events: readable})
		patience = min(patience, max(time.Until(g.by), 0))
	}
	return w.wait(fds, patience)
}

// admit accepts one and says hello.
func (w *welcome) admit() error {
	if len(w.guests) == maxGuests {
		return nil
	}
	fd, err := accept(w.socket.fd)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR || err == unix.ECONNABORTED:
		return nil
	case err != nil:
		return os.NewSyscallError("accept", err)
	}
	g := &guest{newPush(w.endpoint, fd, w.opt), time.Now().Add(w.opt.HandshakeTimeout)}
	if err := g.writeAll([3][]byte{zmtp.AppendHello(nil, "PUSH")}); err != nil {
		_ = unix.Close(fd) // it has left again, as a probe does
		w.refused = err
		return nil
	}
	w.guests = append(w.guests, g)
	return nil
}

// shake hears every guest. The first that has shaken hands is given, those that did it badly are turned away.
func (w *welcome) shake() *push {
	for i := 0; i < len(w.guests); {
		g := w.guests[i]
		err := g.hear()
		switch {
		case err == nil && g.in.Shaken():
			return g.push
		case err == nil && !time.Now().Before(g.by):
			err = fmt.Errorf("no handshake within %v: %w", w.opt.HandshakeTimeout, os.ErrDeadlineExceeded)
		}
		if err == nil {
			i++
			continue
		}
		w.refused = err
		_ = unix.Close(g.fd)
		w.guests = slices.Delete(w.guests, i, i+1)
	}
	return nil
}

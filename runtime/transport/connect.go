package transport

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport/zmtp"
	"golang.org/x/sys/unix"
)

// Between two tries to connect.
const (
	firstPause = time.Millisecond
	lastPause  = 10 * time.Millisecond
)

func connectZMTP(ctx context.Context, endpoint string, opt Options) (Push, error) {
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
	p := newPush(endpoint, fd, opt)
	if err := d.shake(p); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("transport: connect %s: handshake: %w", endpoint, err)
	}
	return p, nil
}

// dialer is the state of one Connect.
type dialer struct {
	ctx     context.Context
	timeout time.Duration
	end     time.Time
	wake    waker
}

// dial tries until somebody accepts.
func (d *dialer) dial(path string) (int, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		fd, err := dial(path)
		switch err {
		case nil:
			return fd, nil
		case unix.ENOENT, unix.ECONNREFUSED, unix.EAGAIN, unix.EINTR: // not there, not listening, queue full
		default:
			return -1, err
		}
		if !time.Now().Before(d.end) {
			return -1, fmt.Errorf("nobody accepted within %v: %w (%w)", d.timeout, err, os.ErrDeadlineExceeded)
		}
		if err := d.wait(nil, pause); err != nil {
			return -1, err
		}
	}
}

// wait for fds, for the end of the context, or for so long.
func (d *dialer) wait(fds []unix.PollFd, timeout time.Duration) error {
	fd, err := d.wake.watch(d.ctx)
	if err != nil {
		return err
	}
	fds = append(fds, unix.PollFd{Fd: fd, Events: readable})
	if _, err := poll(fds, max(min(timeout, time.Until(d.end)), 0)); err != nil {
		return err
	}
	return d.ctx.Err()
}

// shake says hello and waits for the peer's.
func (d *dialer) shake(p *push) error {
	if err := p.writeAll([3][]byte{zmtp.AppendHello(nil, "PUSH")}); err != nil {
		return err
	}
	for !p.in.Shaken() {
		if !time.Now().Before(d.end) {
			return fmt.Errorf("the peer had not ended it within %v: %w", d.timeout, os.ErrDeadlineExceeded)
		}
		if err := d.wait([]unix.PollFd{{Fd: int32(p.fd), Events: readable}}, d.timeout); err != nil {
			return err
		}
		if err := p.hear(); err != nil {
			return err
		}
	}
	return nil
}

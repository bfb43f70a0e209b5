package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
)

// zmq4Pull is the zmq4 engine's Pull. The library's Recv cannot be polled, and cancelling it can lose a
// message, so it runs in a goroutine of its own that hands over one thing at a time.
type zmq4Pull struct {
	endpoint string
	opt      Options
	sock     zmq4.Socket
	door     *door // of Bind; nil after ConnectPull
	things   chan thing
	done     chan struct{} // closed by Close
	ended    chan struct{} // closed when the goroutine has ended
	bells    bells
	over     error // nothing more will come, and why
	closed   bool
}

// thing is what there is to receive: a message or an error, the last one perhaps.
type thing struct {
	msg  []byte
	err  error
	last bool
}

func newZMQ4Pull(endpoint string, opt Options) *zmq4Pull {
	return &zmq4Pull{endpoint: endpoint, opt: opt, things: make(chan thing, 1), done: make(chan struct{}), ended: make(chan struct{})}
}

func bindZMQ4(endpoint string, opt Options) (Pull, error) {
	path, err := socketPath(endpoint)
	if err != nil {
		return nil, err
	}
	p := newZMQ4Pull(endpoint, opt)
	p.door = newDoor(path, opt)
	p.door.refused = func(number int, reason error) { p.put(thing{err: p.dropped(number, reason)}) }
	p.door.failed = func(err error) { p.put(thing{err: p.failed("accept", err), last: true}) }
	if p.sock, err = openZMQ4(zmq4.NewPull, p.door, p.door); err != nil {
		return nil, err
	}
	if err := p.sock.Listen(zmq4Address); err != nil {
		return nil, errors.Join(fmt.Errorf("transport: bind %s: %w", endpoint, err), p.sock.Close(), p.door.Close())
	}
	go p.forward()
	return p, nil
}

func connectPullZMQ4(ctx context.Context, endpoint string, opt Options) (Pull, error) {
	sock, _, err := callZMQ4(ctx, zmq4.NewPull, endpoint, opt)
	if err != nil {
		return nil, err
	}
	p := newZMQ4Pull(endpoint, opt)
	p.sock = sock
	go p.forward()
	return p, nil
}

// forward is the goroutine. It ends with the socket.
func (p *zmq4Pull) forward() {
	defer close(p.ended)
	for {
		msg, err := p.sock.Recv()
		select {
		case <-p.done:
			return
		default:
		}
		for _, t := range p.judge(msg, err) {
			if !p.put(t) {
				return
			}
		}
	}
}

// put hands a thing over and says so to who waits. False: the pull was closed meanwhile.
func (p *zmq4Pull) put(t thing) bool {
	select {
	case p.things <- t:
		p.bells.ring()
		return true
	case <-p.done:
		return false
	}
}

// judge makes of the library's answer what a Pull says.
func (p *zmq4Pull) judge(msg zmq4.Msg, err error) []thing {
	var out []thing
	switch {
	case err == nil && msg.Type == zmq4.CmdMsg: // a PING, which the library neither answers nor keeps to itself
		return nil
	case err == nil && len(msg.Frames) != 1:
		return []thing{{err: p.dropped(0, fmt.Errorf("multipart message of %d frames, want 1; it is left out, the peer stays", len(msg.Frames)))}}
	case err == nil && len(msg.Frames[0]) > p.opt.MaxFrame:
		return []thing{{err: p.dropped(0, fmt.Errorf("frame of %d bytes, at most %d are taken; it is left out, the peer stays", len(msg.Frames[0]), p.opt.MaxFrame))}}
	case err == nil:
		return []thing{{msg: msg.Frames[0]}}
	case err != io.EOF: // which is a farewell, and also a frame torn behind its header: the library gives no other sign
		out = append(out, thing{err: p.dropped(0, err)})
	}
	if p.door == nil {
		out = append(out, thing{err: p.failed("receive", errLeft), last: true})
	}
	return out
}

func (p *zmq4Pull) engineName() string { return "zmq4" }

func (p *zmq4Pull) Endpoint() string { return p.endpoint }

func (p *zmq4Pull) failed(what string, err error) error {
	return fmt.Errorf("transport: %s: %s: %w", p.endpoint, what, err)
}

func (p *zmq4Pull) dropped(number int, reason error) error {
	return &PeerError{Endpoint: p.endpoint, Peer: number, Err: reason}
}

func (p *zmq4Pull) Recv(ctx context.Context) ([]byte, error) {
	switch {
	case p.closed:
		return nil, p.failed("receive", ErrClosed)
	case ctx.Err() != nil:
		return nil, p.failed("receive", ctx.Err())
	case p.over != nil:
		return nil, p.over
	}
	select {
	case t := <-p.things:
		return p.give(t)
	case <-ctx.Done():
		return nil, p.failed("receive", ctx.Err())
	}
}

func (p *zmq4Pull) TryRecv() ([]byte, error) {
	switch {
	case p.closed:
		return nil, p.failed("receive", ErrClosed)
	case p.over != nil:
		return nil, p.over
	}
	select {
	case t := <-p.things:
		return p.give(t)
	default:
		return nil, ErrEmpty
	}
}

func (p *zmq4Pull) give(t thing) ([]byte, error) {
	if t.last {
		p.over = t.err
	}
	return t.msg, t.err
}

// pending says that TryRecv gives something.
func (p *zmq4Pull) pending() bool { return len(p.things) > 0 || p.over != nil }

func (p *zmq4Pull) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	close(p.done)
	err := p.sock.Close()
	if errors.Is(err, net.ErrClosed) { // a peer that has just left
		err = nil
	}
	p.sweep()
	<-p.ended
	if p.door != nil {
		err = errors.Join(err, p.door.Close())
	}
	if err != nil {
		return p.failed("close", err)
	}
	return nil
}

// sweep empties the library's queue of ten. Its goroutine for a connection may be putting a message in,
// and would wait for ever for a reader. Recv of a closed socket gives a message or the socket's end by the
// toss of a coin while there is one: after so many ends there is none.
func (p *zmq4Pull) sweep() {
	for ends := 0; ends < 64; {
		if _, err := p.sock.Recv(); errors.Is(err, context.Canceled) {
			ends++
		} else {
			ends = 0
		}
	}
}

// reasonOf reads the library's log of a failed handshake. nil is a client that left before its greeting
// was read, as the probe of a socket file does.
func reasonOf(text string, patience time.Duration) error {
	text = strings.TrimSpace(text)
	switch {
	case strings.HasSuffix(text, "could not read ZMTP greeting: EOF"),
		strings.Contains(text, "could not read ZMTP greeting") && strings.HasSuffix(text, "connection reset by peer"),
		strings.Contains(text, "could not send greeting"):
		return nil
	case strings.HasSuffix(text, "i/o timeout"):
		return fmt.Errorf("no handshake within %v: %w", patience, os.ErrDeadlineExceeded)
	}
	return errors.New(text)
}

// bells wakes the pollers of a pull.
type bells struct {
	mu  sync.Mutex
	all []chan struct{}
}

func (b *bells) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, bell := range b.all {
		select {
		case bell <- struct{}{}:
		default: // rung already
		}
	}
}

func (b *bells) hang(bell chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, bell)
}

func (b *bells) take(bell chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.all {
		if other == bell {
			b.all = append(b.all[:i], b.all[i+1:]...)
			return
		}
	}
}

package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
	zmq4net "github.com/go-zeromq/zmq4/transport"
	"golang.org/x/sys/unix"
)

// This file joins github.com/go-zeromq/zmq4 to sockets that this package opens, through a transport
// registered under a name of its own. The library gets plain *net.UnixConn, so its data path is its own;
// what is ours is that dials and handshakes end in time, that socket files are treated as the package
// documentation says, and that a connection whose handshake failed is closed and told of.

const (
	zmq4Scheme  = "fanoutbench-ipc"
	zmq4Address = zmq4Scheme + "://line" // which line, the socket's context says: the library splits addresses at ://

	// far is the library's own time-out. A Send that runs into it goes on in an abandoned goroutine, so
	// none may: Options.SendTimeout is a write deadline on the connection instead.
	far = 365 * 24 * time.Hour
)

// line is where a zmq4 socket gets its connections from: a call or a door.
type line interface {
	dial() (net.Conn, error)
	listen() (net.Listener, error)
}

type lineKey struct{}

type zmq4Transport struct{}

// Dial, Listen and Addr are the library's interface of a transport.

func (zmq4Transport) Dial(ctx context.Context, _ zmq4net.Dialer, _ string) (net.Conn, error) {
	return ctx.Value(lineKey{}).(line).dial()
}

func (zmq4Transport) Listen(ctx context.Context, _ string) (net.Listener, error) {
	return ctx.Value(lineKey{}).(line).listen()
}

func (zmq4Transport) Addr(name string) (string, error) { return name, nil }

var registerZMQ4 = sync.OnceValue(func() error { return zmq4.RegisterTransport(zmq4Scheme, zmq4Transport{}) })

// openZMQ4 makes a socket by zmq4.NewPush or zmq4.NewPull. What the library logs goes to told.
func openZMQ4(by func(context.Context, ...zmq4.Option) zmq4.Socket, l line, told io.Writer) (zmq4.Socket, error) {
	if err := registerZMQ4(); err != nil {
		return nil, fmt.Errorf("transport: zmq4: %w", err)
	}
	return by(context.WithValue(context.Background(), lineKey{}, l),
		zmq4.WithTimeout(far), zmq4.WithDialerMaxRetries(0), zmq4.WithLogger(log.New(told, "", 0))), nil
}

// call is the line of a socket that connects.
type call struct {
	path string
	dialer
	mu   sync.Mutex // the end of the context comes from elsewhere
	conn *net.UnixConn
}

func (c *call) listen() (net.Listener, error) {
	return nil, fmt.Errorf("a socket that connects to %s was told to listen", c.path)
}

// dial also bounds the handshake, which the library begins at once.
func (c *call) dial() (net.Conn, error) {
	fd, err := c.dialer.dial(c.path)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), c.path)
	defer func() { _ = f.Close() }()
	conn, err := net.FileConn(f) // has a descriptor of its own
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn.(*net.UnixConn)
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	return c.conn, c.conn.SetDeadline(c.end)
}

// hurry ends the handshake.
func (c *call) hurry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		_ = c.conn.SetDeadline(time.Unix(1, 0)) // long ago; a closed one needs no hurry
	}
}

// callZMQ4 connects a socket of either kind.
func callZMQ4(ctx context.Context, by func(context.Context, ...zmq4.Option) zmq4.Socket, endpoint string, opt Options) (zmq4.Socket, *net.UnixConn, error) {
	path, err := socketPath(endpoint)
	if err != nil {
		return nil, nil, err
	}
	c := &call{path: path, dialer: dialer{ctx: ctx, timeout: opt.DialTimeout, end: time.Now().Add(opt.DialTimeout)}}
	defer c.wake.close()
	sock, err := openZMQ4(by, c, io.Discard) // it logs nothing but failed accepts
	if err != nil {
		return nil, nil, err
	}
	err = c.shake(sock)
	if err == nil {
		return sock, c.conn, nil
	}
	if c.conn != nil {
		_ = c.conn.Close()
	}
	return nil, nil, errors.Join(fmt.Errorf("transport: connect %s: %w", endpoint, err), sock.Close())
}

// shake dials and shakes hands; the end of the context ends both.
func (c *call) shake(sock zmq4.Socket) error {
	stop := context.AfterFunc(c.ctx, c.hurry)
	err := sock.Dial(zmq4Address)
	if !stop() {
		return c.ctx.Err()
	}
	if err != nil {
		return err
	}
	return c.conn.SetDeadline(time.Time{})
}

// door is the line of a socket that binds: a net.Listener for the library, and the writer of its log.
// The library takes one connection at a time through its handshake and then asks for the next, so that
// asking says how the last one ended: well, unless a line was logged in between. That line is all that
// it tells of a failed handshake, and it does not close the connection.
type door struct {
	path    string
	opt     Options
	alone   bool // a Push: the first that shakes hands is the only one
	refused func(number int, reason error)
	failed  func(error) // accepting is over

	socket *listener
	net    net.Listener
	came   chan *net.UnixConn // alone: the first
	gone   chan struct{}      // closed

	mu       sync.Mutex
	shaking  *net.UnixConn
	number   int
	taken    bool
	closed   bool
	closeErr error
}

func newDoor(path string, opt Options) *door {
	return &door{path: path, opt: opt, came: make(chan *net.UnixConn, 1), gone: make(chan struct{})}
}

func (d *door) dial() (net.Conn, error) {
	return nil, fmt.Errorf("a socket that binds %s was told to dial", d.path)
}

func (d *door) listen() (net.Listener, error) {
	l, err := listen(d.path)
	if err != nil {
		return nil, err
	}
	if d.net, err = netListener(l.fd, d.path); err != nil {
		return nil, errors.Join(err, l.close())
	}
	d.socket = l
	return d, nil
}

func netListener(fd int, path string) (net.Listener, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	f := os.NewFile(uintptr(own), path)
	defer func() { _ = f.Close() }()
	return net.FileListener(f)
}

// Addr is part of net.Listener.
func (d *door) Addr() net.Addr { return d.net.Addr() }

// Accept gives the library its next connection.
func (d *door) Accept() (net.Conn, error) {
	d.shaken()
	for {
		c, err := d.net.Accept()
		if err != nil {
			return nil, d.stop(err)
		}
		conn := c.(*net.UnixConn)
		if !d.admit(conn) {
			_ = conn.Close()
			continue
		}
		return conn, nil
	}
}

// stop keeps the library from asking again and again, which it does whatever the error.
func (d *door) stop(err error) error {
	if !errors.Is(err, net.ErrClosed) {
		d.failed(err)
	}
	<-d.gone
	return err
}

func (d *door) admit(conn *net.UnixConn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.taken {
		return false
	}
	d.number++
	d.shaking = conn
	return conn.SetDeadline(time.Now().Add(d.opt.HandshakeTimeout)) == nil
}

// shaken: the last one's handshake is over, well.
func (d *door) shaken() {
	d.mu.Lock()
	defer d.mu.Unlock()
	conn := d.shaking
	if conn == nil || d.closed {
		return // closed: Close needs it
	}
	d.shaking = nil
	if err := conn.SetDeadline(time.Time{}); err != nil {
		_ = conn.Close()
		return
	}
	if d.alone {
		d.taken = true
		d.came <- conn
	}
}

// Write is the library's log: the last one's handshake failed.
func (d *door) Write(text []byte) (int, error) {
	d.mu.Lock()
	conn, number := d.shaking, d.number
	d.shaking = nil
	closed := d.closed
	d.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
	if reason := reasonOf(string(text), d.opt.HandshakeTimeout); reason != nil && !closed {
		d.refused(number, reason)
	}
	return len(text), nil
}

// Close unlinks the file, and ends the handshake that is going on: the library waits for it for ever.
func (d *door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.socket == nil {
		return d.closeErr
	}
	d.closed = true
	close(d.gone)
	if d.shaking != nil {
		_ = d.shaking.Close()
	}
	d.closeErr = errors.Join(d.net.Close(), d.socket.close())
	return d.closeErr
}

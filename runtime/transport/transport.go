package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrEmpty is TryRecv's answer when the kernel holds nothing more right now.
	ErrEmpty = errors.New("transport: nothing to receive")
	// ErrBroken marks a Push poisoned by a failed or timed-out write; the error that is it also wraps the cause.
	ErrBroken = errors.New("transport: connection poisoned by a failed write")
	// ErrClosed is the answer of everything after Close.
	ErrClosed = errors.New("transport: closed")
	// ErrLive is Bind's answer when somebody listens at the endpoint already.
	ErrLive = errors.New("transport: endpoint is in use")
)

// PeerError says that a Pull dropped one of its peers, and why. The Pull and the other peers go on.
type PeerError struct {
	Endpoint string
	Peer     int // the how-manieth connection since Bind, from 1; 0 where the engine cannot tell
	Err      error
}

func (e *PeerError) Error() string {
	return fmt.Sprintf("transport: %s: peer %d dropped: %v", e.Endpoint, e.Peer, e.Err)
}

// Unwrap gives the reason.
func (e *PeerError) Unwrap() error { return e.Err }

// Options bound what a connection may take. A zero field means its default, a negative one is an error.
type Options struct {
	MaxFrame         int           // bytes of one message's body; larger: Send errs, a receiver drops the peer. Default 64 MiB.
	SendTimeout      time.Duration // a Send or Flush that cannot hand its bytes to the kernel in this time poisons the Push. Default 30 s.
	DialTimeout      time.Duration // Connect and ConnectPull wait this long for the socket and the handshake, BindPush for a Pull. Default 10 s.
	HandshakeTimeout time.Duration // a peer that was accepted and has not shaken hands by then is dropped. Default 3 s.
	Burst            int           // bytes queued before Send writes by itself. Default 64 KiB.
}

// Push sends to one Pull, whichever of them made the socket file. One goroutine at a time.
type Push interface {
	// Send queues a copy of frame as one message, or writes it; frame is the caller's again on return.
	Send(frame []byte) error
	// Flush returns nil when the kernel has every byte of every message sent.
	Flush() error
	// Close flushes and closes. On a poisoned Push it closes and returns the ErrBroken error.
	Close() error
}

// Pull receives from any number of Pushes. One goroutine at a time.
type Pull interface {
	// Recv waits for a message. The slice is valid until the next Recv or TryRecv on this Pull.
	Recv(ctx context.Context) ([]byte, error)
	// TryRecv does not wait: ErrEmpty means that the kernel holds nothing more right now.
	TryRecv() ([]byte, error)
	// Endpoint is the address given to Bind or ConnectPull.
	Endpoint() string
	// Close drops all peers and unlinks the socket file, if Bind made one.
	Close() error
}

// Poller waits for several Pulls at once. One goroutine at a time, the same that receives from them.
type Poller interface {
	// Wait returns the indexes of the Pulls that may have a message or an event, in index order: call
	// TryRecv on each until ErrEmpty. None at the time-out (negative: never, zero: do not wait). The
	// slice is used again by the next Wait. Slices received from the Pulls stay valid.
	Wait(ctx context.Context, timeout time.Duration) (ready []int, err error)
	// Close frees the Poller, not its Pulls.
	Close() error
}

// engine is one implementation; pollable names the engine of a Pull that NewPoller was given.
type engine struct {
	name        string
	connect     func(context.Context, string, Options) (Push, error)
	bindPush    func(context.Context, string, Options) (Push, error)
	bind        func(string, Options) (Pull, error)
	connectPull func(context.Context, string, Options) (Pull, error)
	poller      func([]Pull) (Poller, error)
}

type pollable interface{ engineName() string }

// engines is the registry: one line an engine.
var engines = []engine{
	{"zmtp", connectZMTP, bindPushZMTP, bindZMTP, connectPullZMTP, pollZMTP},
	{"zmq4", connectZMQ4, bindPushZMQ4, bindZMQ4, connectPullZMQ4, pollZMQ4},
}

// Engines lists the names that Connect and Bind know.
func Engines() []string {
	names := make([]string, len(engines))
	for i, e := range engines {
		names[i] = e.name
	}
	return names
}

func find(name string) (engine, error) {
	for _, e := range engines {
		if e.name == name {
			return e, nil
		}
	}
	return engine{}, fmt.Errorf("transport: no engine %q; known: %s", name, strings.Join(Engines(), ", "))
}

// Connect waits until the endpoint exists and accepts, shakes hands, and returns the sending side.
func Connect(ctx context.Context, engine, endpoint string, opt Options) (Push, error) {
	e, opt, err := chosen(engine, opt)
	if err != nil {
		return nil, err
	}
	return e.connect(ctx, endpoint, opt)
}

// Bind makes the endpoint's socket file and listens at it.
func Bind(engine, endpoint string, opt Options) (Pull, error) {
	e, opt, err := chosen(engine, opt)
	if err != nil {
		return nil, err
	}
	return e.bind(endpoint, opt)
}

// BindPush makes the endpoint's socket file and waits up to DialTimeout for a Pull that connects and
// shakes hands; it returns the sending side of that one connection. Whoever else connects is turned
// away, and the file stays until Close, so that nobody else binds there meanwhile.
func BindPush(ctx context.Context, engine, endpoint string, opt Options) (Push, error) {
	e, opt, err := chosen(engine, opt)
	if err != nil {
		return nil, err
	}
	return e.bindPush(ctx, endpoint, opt)
}

// ConnectPull waits until the endpoint exists and accepts, shakes hands, and returns the receiving
// side of that one connection. When the Push has left, and its messages are received, Recv and TryRecv
// return an error that is io.EOF.
func ConnectPull(ctx context.Context, engine, endpoint string, opt Options) (Pull, error) {
	e, opt, err := chosen(engine, opt)
	if err != nil {
		return nil, err
	}
	return e.connectPull(ctx, endpoint, opt)
}

// chosen is the engine of that name, and the options with their defaults.
func chosen(name string, opt Options) (engine, Options, error) {
	e, err := find(name)
	if err != nil {
		return engine{}, opt, err
	}
	opt, err = opt.filled()
	return e, opt, err
}

// NewPoller waits for pulls, which must be of one engine; their order gives the indexes.
func NewPoller(pulls ...Pull) (Poller, error) {
	if len(pulls) == 0 {
		return nil, errors.New("transport: a poller of no pulls; at least one is needed")
	}
	name := ""
	for i, p := range pulls {
		k, ok := p.(pollable)
		if !ok {
			return nil, fmt.Errorf("transport: pull %d (%T) is of no engine; known: %s", i, p, strings.Join(Engines(), ", "))
		}
		if name == "" {
			name = k.engineName()
		}
		if k.engineName() != name {
			return nil, fmt.Errorf("transport: pull %d is of engine %s, pull 0 of %s; a poller takes one engine", i, k.engineName(), name)
		}
	}
	e, err := find(name)
	if err != nil {
		return nil, err
	}
	return e.poller(pulls)
}

// filled puts the defaults in.
func (o Options) filled() (Options, error) {
	err := errors.Join(
		fill("MaxFrame", &o.MaxFrame, 64<<20),
		fill("SendTimeout", &o.SendTimeout, 30*time.Second),
		fill("DialTimeout", &o.DialTimeout, 10*time.Second),
		fill("HandshakeTimeout", &o.HandshakeTimeout, 3*time.Second),
		fill("Burst", &o.Burst, 64<<10),
	)
	return o, err
}

func fill[T int | time.Duration](name string, v *T, def T) error {
	if *v < 0 {
		return fmt.Errorf("transport: option %s is %v; it must not be negative (0 means %v)", name, *v, def)
	}
	if *v == 0 {
		*v = def
	}
	return nil
}

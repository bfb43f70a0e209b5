package worker

import (
	"fmt"
	"math"
	"net"
	"sync"
	"syscall"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

const (
	// partFiles is how many descriptors a part needs besides its clients', generously.
	partFiles = 24
	// leastConns is how many clients a worker must have room for.
	leastConns = 8
)

// connections is how many clients may be connected to a worker at a time in a
// process that may have so many files: what is left when the parts in it, and
// one connection of each detokenizer, have theirs. Without a limit clients could
// take the descriptors that the parts need among themselves.
func connections(a args.Args, files uint64) (int, error) {
	need, workers := partFiles+a.DetokenizerWorkerNum, 1
	if a.InProcess {
		workers = a.TokenizerWorkerNum
		need = partFiles*len(part.All(a)) + 2*workers*a.DetokenizerWorkerNum
	}
	n := (int(min(files, math.MaxInt32)) - need) / workers
	if n < leastConns {
		return 0, fmt.Errorf("this process may have %d open files (RLIMIT_NOFILE), expected at least %d", files, need+workers*leastConns)
	}
	return n, nil
}

func openFiles() (uint64, error) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0, fmt.Errorf("RLIMIT_NOFILE: %w", err)
	}
	return l.Cur, nil
}

// limited is a listener that leaves further clients waiting in the kernel.
type limited struct {
	net.Listener
	room   chan struct{} // full: no more
	closed chan struct{}
	once   sync.Once
}

func limit(l net.Listener, n int) *limited {
	return &limited{Listener: l, room: make(chan struct{}, n), closed: make(chan struct{})}
}

// Accept waits until there is room.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &client{Conn: c, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// Close ends an Accept that waits, too.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// client is a connection that gives its room back.
type client struct {
	net.Conn
	leave func()
}

func (c *client) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

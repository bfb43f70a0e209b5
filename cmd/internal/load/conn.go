package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// readSize is one read of an answer.
const readSize = 16 << 10

// conn is one connection, idle or with one request on it. Its reader lives as long as it.
type conn struct {
	net *net.TCPConn
	raw syscall.RawConn

	mu       sync.Mutex
	request  int // on it; -1 while idle
	deadline time.Time
	writing  bool // the rest of the request is still being written
	broken   bool // must not be given a request any more
}

// dial opens a connection and starts its reader.
func (s *sender) dial(ctx context.Context) (*conn, error) {
	c, err := s.connect(ctx)
	if err == nil {
		s.launch(c)
	}
	return c, err
}

func (s *sender) connect(ctx context.Context) (*conn, error) {
	d := net.Dialer{Timeout: s.timeout}
	n, err := d.DialContext(ctx, "tcp", s.address)
	if err != nil {
		if errors.Is(err, syscall.EMFILE) {
			err = fmt.Errorf("%w: the limit of descriptors is %d, the hard limit", err, s.self.Descriptors.Limit)
		}
		return nil, err
	}
	tcp := n.(*net.TCPConn) // what "tcp" gives
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	s.opened.Add(1)
	return &conn{net: tcp, raw: raw, request: -1}, nil
}

func (s *sender) launch(c *conn) {
	s.open.add(c)
	s.readers.Add(1)
	go s.read(c)
}

// outcome is how an attempt to send ended.
type outcome int

const (
	sent     outcome = iota // the connection has the request, and will say what became of it
	unusable                // the connection had been closed; no byte of the request was written
)

// start puts the request on the connection and writes as much of it as the kernel takes at once,
// without ever waiting: it runs in the dispatcher.
func (s *sender) start(c *conn, i int) outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		return unusable
	}
	request := s.requests[s.records[i].Request]
	now := s.clock.Now()
	c.deadline = time.Now().Add(s.timeout)
	if err := c.net.SetDeadline(c.deadline); err != nil { // it has been closed
		c.broken = true
		return unusable
	}
	n, err := c.tryWrite(request)
	if err != nil && n == 0 {
		c.broken = true
		return unusable
	}
	c.request = i
	s.noteSent(i, now)
	if n < len(request) {
		c.writing = true
		s.readers.Add(1)
		go s.finishWrite(c, request[n:])
	}
	return sent
}

// tryWrite is one write that does not wait.
func (c *conn) tryWrite(b []byte) (n int, err error) {
	if outer := c.raw.Write(func(fd uintptr) bool {
		n, err = syscall.Write(int(fd), b)
		return true
	}); outer != nil {
		return 0, outer
	}
	if n < 0 {
		n = 0
	}
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
		err = nil
	}
	return n, err
}

// finishWrite writes what the kernel did not take at once. When it fails the reader's own read fails
// too, or ends at its deadline, and says so.
func (s *sender) finishWrite(c *conn, rest []byte) {
	defer s.readers.Done()
	_, err := c.net.Write(rest)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = false
	if err != nil {
		c.broken = true
	}
}

// read takes the answers off a connection until it is closed.
func (s *sender) read(c *conn) {
	defer s.readers.Done()
	defer s.forget(c)
	buffer := make([]byte, readSize)
	a := answer{sender: s, request: -1}
	for {
		n, err := c.net.Read(buffer)
		now := s.clock.Now()
		if n > 0 && !a.take(c, buffer[:n], now) {
			return
		}
		if err != nil && !a.failed(c, err, now) {
			return
		}
	}
}

// forget closes the connection for good.
func (s *sender) forget(c *conn) {
	c.mu.Lock()
	c.broken = true
	c.mu.Unlock()
	s.idle.remove(c)
	s.open.remove(c)
	_ = c.net.Close() // what it had to say has been said by its reads and writes
}

// answer is the one that the connection's reader is reading.
type answer struct {
	sender  *sender
	request int // -1 while there is none
	response
	now float64 // when the piece at hand came
}

// begin makes the reader ready for the answer to the connection's request, if it has one.
func (a *answer) begin(c *conn, now float64) bool {
	if a.request >= 0 {
		return true
	}
	c.mu.Lock()
	i := c.request
	c.mu.Unlock()
	if i < 0 {
		return false
	}
	a.adopt(i)
	a.sender.noteFirstByte(i, now)
	return true
}

func (a *answer) adopt(i int) {
	if a.request >= 0 {
		return
	}
	a.request = i
	a.response = response{keep: a.sender.keep, line: a.line[:0]}
	if a.sender.stream {
		a.onPart = a.chunk
	}
}

func (a *answer) chunk(size int) {
	r := &a.sender.records[a.request]
	r.Chunks = append(r.Chunks, a.now)
	r.ChunkEnds = append(r.ChunkEnds, size)
}

// take reads a piece; it is false when the connection is of no more use.
func (a *answer) take(c *conn, b []byte, now float64) bool {
	if !a.begin(c, now) {
		return false // bytes that nobody asked for
	}
	a.now = now
	a.sender.answerBytes.Add(int64(len(b)))
	rest, done, err := a.feed(b)
	if err != nil {
		a.end(c, now, "the answer: "+err.Error())
		return false
	}
	if !done {
		return true
	}
	return a.complete(c, now, len(rest) == 0)
}

func (a *answer) complete(c *conn, now float64, clean bool) bool {
	s := a.sender
	s.noteDone(a.request, now)
	problem := ""
	if a.status < 200 || a.status > 299 {
		problem = fmt.Sprintf("status %d", a.status)
	}
	c.mu.Lock()
	reuse := a.keepAlive && clean && !c.writing && !c.broken
	c.mu.Unlock()
	a.end(c, now, problem)
	if reuse {
		s.idle.put(c)
	}
	return reuse
}

// end hands the request back, with its error if any.
func (a *answer) end(c *conn, now float64, problem string) {
	r := &a.sender.records[a.request]
	r.Status, r.Body = a.status, a.body
	a.request = -1
	c.mu.Lock()
	i := c.request
	c.request = -1
	c.mu.Unlock()
	a.sender.finish(i, now, problem)
}

// failed handles an error of a read; it is false when the connection is of no more use.
func (a *answer) failed(c *conn, err error, now float64) bool {
	timedOut := errors.Is(err, os.ErrDeadlineExceeded)
	c.mu.Lock()
	if timedOut && (c.request < 0 || time.Now().Before(c.deadline)) {
		// The deadline of a request that has been answered: nobody took it away when the answer came.
		next := c.deadline
		if c.request < 0 {
			next = time.Time{}
		}
		_ = c.net.SetDeadline(next) // fails when it has been closed, which the next read says
		c.mu.Unlock()
		return true
	}
	c.broken = true
	i := c.request
	c.mu.Unlock()
	if i < 0 {
		return false
	}
	a.adopt(i)
	switch {
	case timedOut:
		a.end(c, now, fmt.Sprintf("time-out: no whole answer within %v", a.sender.timeout))
	case errors.Is(err, io.EOF):
		err := a.eof()
		if err == nil {
			return a.complete(c, now, true)
		}
		a.end(c, now, err.Error())
	case errors.Is(err, net.ErrClosed): // by us, since nobody waits any more
		a.end(c, now, "given up: the run was cancelled")
	default:
		a.end(c, now, fmt.Sprintf("%v, after %d bytes of the answer's body", err, a.size))
	}
	return false
}

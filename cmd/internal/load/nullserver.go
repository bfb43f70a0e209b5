package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// NullServer answers every request at once with the same body. It is what a sender is measured against: what
// is slow there is the sender.
type NullServer struct {
	listener net.Listener
	answer   []byte
	served   atomic.Int64
	mu       sync.Mutex
	conns    map[net.Conn]bool
	closed   bool
	running  sync.WaitGroup
}

// StartNullServer listens on the address, such as 127.0.0.1:0.
func StartNullServer(address string, body []byte) (*NullServer, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("load: null server: %w", err)
	}
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
	n := &NullServer{listener: l, answer: append([]byte(head), body...), conns: map[net.Conn]bool{}}
	n.running.Go(n.accept)
	return n, nil
}

// URL is where it listens.
func (n *NullServer) URL() string { return "http://" + n.listener.Addr().String() }

// Served is how many requests it has answered.
func (n *NullServer) Served() int64 { return n.served.Load() }

// Close ends it and every connection to it.
func (n *NullServer) Close() error {
	err := n.listener.Close()
	n.mu.Lock()
	n.closed = true
	for c := range n.conns {
		_ = c.Close() // its reader ends, which is what is wanted
	}
	n.mu.Unlock()
	n.running.Wait()
	return err
}

func (n *NullServer) accept() {
	for {
		c, err := n.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors: the clients see that nobody takes their connections
			time.Sleep(time.Millisecond)
			continue
		}
		n.mu.Lock()
		if n.closed {
			_ = c.Close() // see Close
			n.mu.Unlock()
			return
		}
		n.conns[c] = true
		n.mu.Unlock()
		n.running.Go(func() { n.serve(c) })
	}
}

func (n *NullServer) serve(c net.Conn) {
	r := bufio.NewReaderSize(c, 32<<10)
	for {
		if err := skipRequest(r); err != nil {
			break
		}
		n.served.Add(1)
		if _, err := c.Write(n.answer); err != nil {
			break
		}
	}
	n.mu.Lock()
	delete(n.conns, c)
	n.mu.Unlock()
	_ = c.Close() // the client has gone or sent what is not HTTP, which it sees
}

// skipRequest reads one request with a Content-Length.
func skipRequest(r *bufio.Reader) error {
	length := 0
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 && !first {
			break
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if ok && bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil || length < 0 {
				return fmt.Errorf("Content-Length %q", value)
			}
		}
	}
	_, err := io.CopyN(io.Discard, r, int64(length))
	return err
}

package load

import "sync"

// openConns knows every connection that has a reader, so that the end of a run, or of its context, closes them.
type openConns struct {
	mu     sync.Mutex
	conns  map[*conn]bool
	closed bool
}

func (o *openConns) add(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conns[c] = true
	if o.closed {
		_ = c.net.Close() // the reader says that it is closed
	}
}

func (o *openConns) remove(c *conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.conns, c)
}

// close ends every request in flight: the readers' reads fail.
func (o *openConns) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for c := range o.conns {
		_ = c.net.Close() // the reader says that it is closed
	}
}

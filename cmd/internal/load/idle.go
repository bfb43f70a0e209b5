package load

import (
	"slices"
	"sync"
)

// idle holds the connections without a request. The one used last is taken first, so that few are in use
// at a low rate and the others stay ready.
type idle struct {
	mu    sync.Mutex
	conns []*conn
	low   chan struct{} // tells the opener that fewer than ahead are left
	ahead int
}

func newIdle(ahead int) *idle {
	return &idle{low: make(chan struct{}, 1), ahead: ahead}
}

// take returns nil when there is none.
func (p *idle) take() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var c *conn
	if n := len(p.conns); n > 0 {
		c = p.conns[n-1]
		p.conns = p.conns[:n-1]
	}
	p.want()
	return c
}

// want wakes the opener when connections are short; p.mu is held.
func (p *idle) want() {
	if len(p.conns) >= p.ahead {
		return
	}
	select {
	case p.low <- struct{}{}:
	default: // it has been told
	}
}

// put gives the connection back.
func (p *idle) put(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, c)
}

// remove takes out a connection that the server has closed.
func (p *idle) remove(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.conns, c); i >= 0 {
		p.conns = slices.Delete(p.conns, i, i+1)
		p.want()
	}
}

// short is how many connections are missing.
func (p *idle) short() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ahead - len(p.conns)
}

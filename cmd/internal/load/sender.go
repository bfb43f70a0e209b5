package load

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// openAhead is how many idle connections are kept ready beyond those in use.
const openAhead = 64

// sender is one run.
type sender struct {
	clock    clock
	address  string
	timeout  time.Duration
	stream   bool
	keep     bool     // the answers' bodies
	requests [][]byte // heads and bodies, by index of the body
	records  []Sent
	moments  [][3]float64 // what the records' times point to: nothing is allocated while the clock runs
	idle     *idle
	self     Self

	turns chan struct{} // of a closed loop: a request has ended; nil otherwise

	pending     sync.WaitGroup // requests not ended
	readers     sync.WaitGroup // connections not closed
	open        openConns
	inFlight    atomic.Int64
	opened      atomic.Int64
	answerBytes atomic.Int64
	last        lastEnd
	next        atomic.Int64 // the first request that no dispatcher has taken
	most        atomic.Int64 // requests in flight
	goroutines  atomic.Int64 // at most
	stoodIn     atomic.Int64 // requests that the standby sent
}

// lastEnd is when the last request ended.
type lastEnd struct {
	mu sync.Mutex
	at float64
}

// newSender checks what it is given and makes everything that can be made before the clock runs.
func newSender(s Schedule, t Target, bodies [][]byte, keep bool) (*sender, error) {
	if len(s.At) == 0 || len(s.At) != len(s.Request) {
		return nil, fmt.Errorf("load: schedule of %d times and %d requests, want as many of each and one at least", len(s.At), len(s.Request))
	}
	if i := slices.IndexFunc(s.Request, func(r int) bool { return r < 0 || r >= len(bodies) }); i >= 0 {
		return nil, fmt.Errorf("load: request %d of the schedule has body %d, and there are %d bodies", i, s.Request[i], len(bodies))
	}
	if t.Timeout <= 0 {
		return nil, fmt.Errorf("load: time-out %v, want one above 0", t.Timeout)
	}
	address, head, err := t.head()
	if err != nil {
		return nil, err
	}
	x := &sender{
		address: address, timeout: t.Timeout, stream: t.Stream, keep: keep,
		records: make([]Sent, len(s.At)), moments: make([][3]float64, len(s.At)),
		idle: newIdle(min(openAhead, len(s.At))),
	}
	for _, b := range bodies {
		request := fmt.Appendf(slices.Clip(head), "Content-Length: %d\r\n\r\n", len(b))
		x.requests = append(x.requests, append(request, b...))
	}
	for i := range x.records {
		x.records[i] = Sent{Index: i, Request: s.Request[i], Intended: s.At[i]}
	}
	x.open.conns = map[*conn]bool{}
	return x, nil
}

// head is all of a request before its Content-Length.
func (t Target) head() (address string, head []byte, err error) {
	u, err := url.Parse(t.URL)
	if err != nil {
		return "", nil, fmt.Errorf("load: %w", err)
	}
	if u.Scheme != "http" || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.User != nil {
		return "", nil, fmt.Errorf("load: URL %q, want http://host:port", t.URL)
	}
	path, err := url.ParseRequestURI(t.Path)
	if err != nil || path.Host != "" {
		return "", nil, fmt.Errorf("load: path %q, want one that begins with /", t.Path)
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	header := t.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	for _, name := range []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect"} {
		if header.Get(name) != "" {
			return "", nil, fmt.Errorf("load: header %s cannot be set; the sender sets it", name)
		}
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\n", path.RequestURI(), u.Host)
	if err := header.Write(&b); err != nil { // it replaces line ends within values
		return "", nil, fmt.Errorf("load: headers: %w", err)
	}
	return net.JoinHostPort(u.Hostname(), port), b.Bytes(), nil
}

// send gives the request to an idle connection, or has one opened for it.
func (s *sender) send(ctx context.Context, i int) {
	for {
		c := s.idle.take()
		if c == nil {
			go s.sendFresh(ctx, i)
			return
		}
		if s.start(c, i) == sent {
			return
		}
		s.records[i].Redialled = true
	}
}

// sendFresh opens a connection for one request. What that takes is part of the request's lateness.
func (s *sender) sendFresh(ctx context.Context, i int) {
	c, err := s.dial(ctx)
	if err != nil {
		s.finish(i, s.clock.Now(), fmt.Sprintf("not sent: %v", err))
		return
	}
	if s.start(c, i) == unusable {
		s.finish(i, s.clock.Now(), "not sent: the server closed a new connection before a byte of the request was written")
	}
}

// keepOpen keeps connections ready. After a failure it waits until one is wanted again.
func (s *sender) keepOpen(ctx context.Context) {
	for {
		for s.idle.short() > 0 && ctx.Err() == nil {
			c, err := s.dial(ctx)
			if err != nil { // the request that finds no connection opens its own, and says what is wrong
				break
			}
			s.idle.put(c)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.idle.low:
		}
	}
}

func (s *sender) noteSent(i int, now float64) {
	s.moments[i][0] = now
	s.records[i].Sent = &s.moments[i][0]
}

func (s *sender) noteFirstByte(i int, now float64) {
	s.moments[i][1] = now
	s.records[i].FirstByte = &s.moments[i][1]
}

func (s *sender) noteDone(i int, now float64) {
	s.moments[i][2] = now
	s.records[i].Done = &s.moments[i][2]
}

// finish ends a request; it is called once for each.
func (s *sender) finish(i int, now float64, problem string) {
	s.records[i].Err = problem
	s.last.mu.Lock()
	s.last.at = max(s.last.at, now)
	s.last.mu.Unlock()
	s.inFlight.Add(-1)
	if s.turns != nil {
		s.turns <- struct{}{}
	}
	s.pending.Done()
}

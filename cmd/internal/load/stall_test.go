package load

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// stalledTimes are the latencies of a server that answers in a millisecond and stands still from second 1 to 3:
// seen by requests due every 10 ms, and by a client that waits for each answer and then 10 ms.
func stalledTimes() (open, closed []float64) {
	const service, from, until = 0.001, 1.0, 3.0
	answer := func(at float64) float64 {
		if at >= from-service && at < until {
			return until + service
		}
		return at + service
	}
	for i := range 500 {
		at := float64(i) / 100
		open = append(open, answer(at)-at)
	}
	for at := 0.0; at < 5; {
		done := answer(at)
		closed = append(closed, done-at)
		at = done + 0.01
	}
	return open, closed
}

// Coordinated omission, by arithmetic: the open loop has two fifths of its requests in the stall, the closed loop one request,
// and its 99th percentile knows nothing of it.
func TestWhatAClosedLoopHides(t *testing.T) {
	open, closed := stalledTimes()
	stalled := func(x []float64) (n int) {
		for _, v := range x {
			if v > 0.002 {
				n++
			}
		}
		return n
	}
	if n := stalled(open); n != 200 {
		t.Errorf("open loop: %d requests saw the stall, want the 200 due within it", n)
	}
	if n := stalled(closed); n != 1 {
		t.Errorf("closed loop: %d requests saw the stall, want 1", n)
	}
	if p := SpreadOf(open).P90; p < 1.4 {
		t.Errorf("open loop: p90 %v s, want most of the stall", p)
	}
	if p := SpreadOf(closed).P99; p > 0.002 {
		t.Errorf("closed loop: p99 %v s, want it to hide the stall", p)
	}
}

// gate is a server that holds every answer from request number first on until request number last has come.
type gate struct {
	mu          sync.Mutex
	came        int
	first, last int
	opened      chan struct{}
	held        []string // bodies
}

func (g *gate) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // a failed request, which the test finds
	}
	g.mu.Lock()
	g.came++
	if g.came == g.last {
		close(g.opened)
	}
	hold := g.came >= g.first && g.came < g.last
	if hold {
		g.held = append(g.held, string(body))
	}
	g.mu.Unlock()
	if hold {
		<-g.opened
	}
}

// The server stands still until a hundred more requests have come. They do come, since nothing waits for
// an answer, and each one's latency holds the rest of the stall, counted from when it was due. A client
// that sends one at a time would stand still with the server.
func TestStallIsShownInFull(t *testing.T) {
	s, bodies := unique(t, 500, 1)
	g := &gate{first: 100, last: 200, opened: make(chan struct{})}
	r := run(t, s, handler(t, g.ServeHTTP), bodies, nil)
	// Whichever 200 came first, one of them was due at the 200th time or later: the stall lasted until then.
	until := s.At[199]
	if len(g.held) != 100 {
		t.Fatalf("%d requests were held, want 100", len(g.held))
	}
	for _, x := range r.Sent {
		latency, ok := x.Latency()
		if !ok {
			t.Fatalf("request %d: %s", x.Index, x.Err)
		}
		if slices.Contains(g.held, string(bodies[x.Request])) && latency < until-x.Intended {
			t.Errorf("request %d was held and took %v s, want at least the %v s from its time to the end of the stall", x.Index, latency, until-x.Intended)
		}
	}
}

// The closed loop sees a stall in one request, however long it takes, and sends none meanwhile.
func TestSequentialHidesAStall(t *testing.T) {
	var mu sync.Mutex
	came, open, most := 0, 0, 0
	target := handler(t, func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		came++
		open++
		most = max(most, open)
		stall := came == 10
		mu.Unlock()
		if stall {
			time.Sleep(300 * time.Millisecond)
		}
		mu.Lock()
		open--
		mu.Unlock()
	})
	r, err := Sequential(context.Background(), 30, target, numbered(4), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range r.Sent {
		latency, ok := x.Latency()
		if !ok || x.Request != i%4 || x.Index != i || i > 0 && x.Intended < *r.Sent[i-1].Done {
			t.Errorf("request %d: %+v; want it due after the one before was done", i, x)
		}
		if i == 9 && latency < 0.3 {
			t.Errorf("request 9 took %v s, want the stall", latency)
		}
	}
	if came != 30 || most != 1 || r.Self.MaxInFlight != 1 {
		t.Errorf("%d requests came, %d at once at most; want 30, one at a time", came, most)
	}
}

func TestSequentialGoesOnAfterFailures(t *testing.T) {
	came := 0
	target := handler(t, func(w http.ResponseWriter, _ *http.Request) {
		if came++; came%2 == 0 {
			panic(http.ErrAbortHandler)
		}
	})
	r, err := Sequential(context.Background(), 10, target, numbered(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range r.Sent {
		if x.Failed() != (i%2 == 1) {
			t.Errorf("request %d: error %q", i, x.Err)
		}
	}
	for _, n := range []int{0, -1} {
		if _, err := Sequential(context.Background(), n, target, numbered(1), nil); err == nil {
			t.Errorf("%d requests: no error", n)
		}
	}
	if _, err := Sequential(context.Background(), 1, target, nil, nil); err == nil {
		t.Error("no bodies: no error")
	}
}

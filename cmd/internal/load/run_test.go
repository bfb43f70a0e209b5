package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const guard = 60 * time.Second // a test that hangs; never a judgement

// numbered are n bodies that say which they are.
func numbered(n int) [][]byte {
	var b [][]byte
	for i := range n {
		b = append(b, fmt.Appendf(nil, "body %d", i))
	}
	return b
}

// unique has a body of its own for each request.
func unique(t testing.TB, rps, seconds float64) (Schedule, [][]byte) {
	t.Helper()
	spec := poisson(7, rps, seconds)
	n := len(newSchedule(t, spec).At)
	spec.Unique = n
	return newSchedule(t, spec), numbered(n)
}

func to(url string) Target { return Target{URL: url, Path: "/v1/score", Timeout: guard} }

func handler(t *testing.T, h http.HandlerFunc) Target {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return to(server.URL)
}

func run(t *testing.T, s Schedule, target Target, bodies [][]byte, check func(Sent) error) Result {
	t.Helper()
	r, err := Run(context.Background(), s, target, bodies, check)
	if err != nil {
		t.Fatal(err)
	}
	wholeRecords(t, s, r)
	return r
}

// wholeRecords wants what holds of every result: a record a request, in order, none without an end, and times
// that follow each other.
func wholeRecords(t *testing.T, s Schedule, r Result) {
	t.Helper()
	if len(r.Sent) != len(s.At) {
		t.Fatalf("%d records, want %d", len(r.Sent), len(s.At))
	}
	for i, x := range r.Sent {
		if x.Index != i || x.Request != s.Request[i] || x.Intended != s.At[i] {
			t.Fatalf("record %d is %+v, want request %d due at %v", i, x, s.Request[i], s.At[i])
		}
		if x.Done == nil && !x.Failed() {
			t.Errorf("record %d has no end and no error", i)
		}
		times := []float64{x.Intended}
		for _, at := range []*float64{x.Sent, x.FirstByte, x.Done} {
			if at != nil {
				times = append(times, *at)
			}
		}
		if !slices.IsSorted(times) || x.Sent == nil && len(times) > 1 || x.Done != nil && len(times) != 4 {
			t.Errorf("record %d has times %v, want sent, first byte and done in order", i, times)
		}
	}
}

func TestRunAnswersAndChecks(t *testing.T) {
	s, bodies := unique(t, 500, 1)
	var mu sync.Mutex
	seen := map[string]int{}
	target := handler(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/score" || r.Header.Get("X-Salt") != "7" ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("request %s %s %v: body %q, error %v", r.Method, r.URL, r.Header, b, err)
		}
		mu.Lock()
		seen[string(b)]++
		mu.Unlock()
		fmt.Fprintf(w, "answer to %s", b)
	})
	target.Header = http.Header{"X-Salt": {"7"}}
	r := run(t, s, target, bodies, func(x Sent) error {
		if want := fmt.Sprintf("answer to body %d", x.Request); string(x.Body) != want || x.Status != 200 {
			return fmt.Errorf("answer %q with status %d, want %q", x.Body, x.Status, want)
		}
		return nil
	})
	for _, x := range r.Sent {
		if x.Failed() {
			t.Errorf("request %d: %s", x.Index, x.Err)
		}
	}
	for b, n := range seen {
		if n != 1 {
			t.Errorf("%q came %d times, want once", b, n)
		}
	}
	self := r.Self
	if len(seen) != len(s.At) || self.Lateness.N != len(s.At) || self.MaxInFlight < 1 || self.CPU <= 0 || self.Descriptors.Limit == 0 ||
		self.Connections < 1 || self.Goroutines < 1 || self.AnswerBytes < int64(15*len(s.At)) || r.Wall < s.At[len(s.At)-1] {
		t.Errorf("%d bodies seen of %d, wall %v, self %+v", len(seen), len(s.At), r.Wall, self)
	}
}

func TestBodiesAreKeptOnlyForAChecker(t *testing.T) {
	s, bodies := unique(t, 100, 0.2)
	target := handler(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x") })
	for _, x := range run(t, s, target, bodies, nil).Sent {
		if x.Body != nil {
			t.Fatalf("body %q kept, though nobody asked", x.Body)
		}
	}
}

// A request that the kernel does not take in one write is written in the background, whole.
func TestLargeRequests(t *testing.T) {
	s, _ := unique(t, 10, 0.5)
	body := make([]byte, 24<<20) // more than the kernel holds of one connection
	for i := range body {
		body[i] = byte(i >> 3)
	}
	var bodies [][]byte
	for range s.Unique {
		bodies = append(bodies, body)
	}
	target := handler(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || !slices.Equal(b, body) {
			t.Errorf("%d bytes came, error %v; want the %d sent", len(b), err, len(body))
		}
		fmt.Fprint(w, "whole")
	})
	for _, x := range run(t, s, target, bodies, nil).Sent {
		if x.Failed() {
			t.Errorf("request %d: %s", x.Index, x.Err)
		}
	}
}

// A server may answer before it has read the request, and close.
func TestEarlyAnswer(t *testing.T) {
	s := newSchedule(t, Spec{Seed: 1, Distribution: Constant, RPS: 10, Seconds: 0.3, Unique: 1, Shards: 1})
	target := handler(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	for _, x := range run(t, s, target, [][]byte{make([]byte, 13<<20)}, nil).Sent {
		// The kernel may have thrown the answer away with the reset that follows it.
		if !x.Failed() || x.Status != 0 && x.Status != 413 {
			t.Errorf("request %d: status %d, error %q; want a failure, 413 if its answer came", x.Index, x.Status, x.Err)
		}
	}
}

func TestStreamChunks(t *testing.T) {
	s, bodies := unique(t, 50, 0.4)
	target := handler(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, part := range []string{"data: 1\n\n", "data: 22\n\n", "data: [DONE]\n\n"} {
			fmt.Fprint(w, part)
			w.(http.Flusher).Flush()
		}
	})
	target.Stream = true
	r := run(t, s, target, bodies, func(Sent) error { return nil })
	for _, x := range r.Sent {
		if x.Failed() || !slices.Equal(x.ChunkEnds, []int{9, 19, 33}) || len(x.Chunks) != 3 || !slices.IsSorted(x.Chunks) ||
			x.Chunks[0] < *x.FirstByte || x.Chunks[2] > *x.Done {
			t.Errorf("request %d: chunks end at %v, came at %v, error %q", x.Index, x.ChunkEnds, x.Chunks, x.Err)
		}
	}
}

func TestCancelledRun(t *testing.T) {
	s, bodies := unique(t, 200, 60)
	ctx, cancel := context.WithCancelCause(context.Background())
	release := make(chan struct{})
	var mu sync.Mutex
	came := 0
	target := handler(t, func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		if came++; came == 20 {
			cancel(errors.New("enough"))
		}
		mu.Unlock()
		<-release
	})
	defer close(release)
	r, err := Run(ctx, s, target, bodies, nil)
	if err == nil || !strings.Contains(err.Error(), "enough") {
		t.Fatalf("error %v, want the cause", err)
	}
	wholeRecords(t, s, r)
	last := r.Sent[len(r.Sent)-1]
	if r.Sent[0].Sent == nil || !r.Sent[0].Failed() || last.Sent != nil || last.Err != "not sent: enough" ||
		!strings.Contains(r.Sent[0].Err, "cancelled") {
		t.Errorf("first %+v, last %+v; want one sent and failed, one never sent", r.Sent[0], last)
	}
}

func TestRunRefuses(t *testing.T) {
	good, bodies := unique(t, 100, 0.5)
	short := good
	short.Request = short.Request[:2]
	tests := []struct {
		schedule Schedule
		change   func(*Target)
		bodies   [][]byte
		want     string
	}{
		{Schedule{}, func(*Target) {}, bodies, "schedule of 0 times"},
		{short, func(*Target) {}, bodies, "and 2 requests"},
		{good, func(*Target) {}, bodies[:3], "has body 3, and there are 3"},
		{good, func(t *Target) { t.Timeout = 0 }, bodies, "time-out 0s"},
		{good, func(t *Target) { t.URL = "https://127.0.0.1:1" }, bodies, "want http://host:port"},
		{good, func(t *Target) { t.URL = "127.0.0.1:1" }, bodies, "127.0.0.1:1"},
		{good, func(t *Target) { t.URL = "http://127.0.0.1:1/v1" }, bodies, "want http://host:port"},
		{good, func(t *Target) { t.Path = "v1/score" }, bodies, `path "v1/score"`},
		{good, func(t *Target) { t.Path = "" }, bodies, `path ""`},
		{good, func(t *Target) { t.Header = http.Header{"Content-Length": {"1"}} }, bodies, "Content-Length cannot be set"},
	}
	for _, test := range tests {
		target := to("http://127.0.0.1:1")
		test.change(&target)
		if _, err := Run(context.Background(), test.schedule, target, test.bodies, nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want one with %q", target, err, test.want)
		}
	}
}

// listen runs serve for each connection to a server that does as it likes.
func listen(t *testing.T, serve func(net.Conn)) Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		running.Wait()
	})
	return to("http://" + l.Addr().String())
}

// stuckClock holds the dispatcher at one time until it is let go, as a host does that takes its processor away.
type stuckClock struct {
	clock
	at  float64
	let chan struct{}
}

func (c stuckClock) Until(t float64) bool {
	if t >= c.at {
		<-c.let
	}
	return c.clock.Until(t)
}

// While the dispatcher is held up the standby sends every request, each once and in order; the dispatcher sends
// none of them again when it is back.
func TestStandby(t *testing.T) {
	n, err := StartNullServer("127.0.0.1:0", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	s, bodies := unique(t, 400, 0.5)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stuck := stuckClock{at: s.At[3], let: make(chan struct{})}
	go func() { // lets the dispatcher go when all have been served: without a standby, never
		for int(n.Served()) < len(s.At) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		close(stuck.let)
	}()
	clock := func(start time.Time) clock { stuck.clock = realClock(start); return stuck }
	r, err := runWith(ctx, s, to(n.URL()), bodies, nil, way{clock: clock, standby: true})
	if err != nil {
		t.Fatal(err)
	}
	wholeRecords(t, s, r)
	if int(n.Served()) != len(s.At) || r.Self.StoodIn < len(s.At)-3 {
		t.Errorf("%d served of %d requests, %d by the standby; want all, and all but the first three by the standby at least", n.Served(), len(s.At), r.Self.StoodIn)
	}
	for i := 4; i < len(s.At); i++ {
		if *r.Sent[i].Sent < *r.Sent[i-1].Sent {
			t.Errorf("request %d was sent at %v, before the one before it (%v)", i, *r.Sent[i].Sent, *r.Sent[i-1].Sent)
		}
	}
}

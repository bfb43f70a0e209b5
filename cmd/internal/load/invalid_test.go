package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// lenient leaves out the rule of lateness, which a busy machine breaks without any fault of what is tested.
var lenient = Limits{Lateness: 3600}

// wantReason wants the run to be invalid for this rule, with this in the reason.
func wantReason(t *testing.T, v Validity, rule, text string) {
	t.Helper()
	for _, reason := range v.Reasons {
		if strings.HasPrefix(reason, rule+": ") && strings.Contains(reason, text) && !v.Valid {
			return
		}
	}
	t.Errorf("valid %v, reasons %q; want one of rule %s with %q", v.Valid, v.Reasons, rule, text)
}

func TestServerDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s, bodies := unique(t, 100, 0.5)
	r := run(t, s, to("http://"+l.Addr().String()), bodies, nil)
	v := Judge(s, r, lenient)
	wantReason(t, v, RuleUnsent, "connection refused")
	if v.Unsent != len(s.At) {
		t.Errorf("%d unsent, want all %d", v.Unsent, len(s.At))
	}
}

func TestServerResets(t *testing.T) {
	s, bodies := unique(t, 200, 0.5)
	target := listen(t, func(c net.Conn) {
		if _, err := c.Read(make([]byte, 10)); err == nil {
			_ = c.(*net.TCPConn).SetLinger(0) // the close is a reset
		}
	})
	r := run(t, s, target, bodies, nil)
	wantReason(t, Judge(s, r, lenient), RuleErrors, "connection reset")
}

func TestErrorBodyWithStatus200(t *testing.T) {
	s, bodies := unique(t, 200, 0.5)
	target := handler(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"error":"out of memory"}`) })
	r := run(t, s, target, bodies, func(x Sent) error {
		if strings.Contains(string(x.Body), "error") {
			return fmt.Errorf("an error with status 200: %s", x.Body)
		}
		return nil
	})
	wantReason(t, Judge(s, r, lenient), RuleErrors, "out of memory")
	if x := r.Sent[0]; x.Status != 200 || x.Done == nil {
		t.Errorf("record %+v, want status and times kept beside the error", x)
	}
}

func TestLossyServer(t *testing.T) {
	s, bodies := unique(t, 400, 0.5)
	var n atomic.Int64
	target := handler(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%10 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	r := run(t, s, target, bodies, nil)
	v := Judge(s, r, lenient)
	wantReason(t, v, RuleErrors, "status 503")
	if v.Failed != len(s.At)/10 {
		t.Errorf("%d failed, want %d", v.Failed, len(s.At)/10)
	}
	for _, reason := range Judge(s, r, Limits{Lateness: 3600, Failures: 0.2}).Reasons {
		if strings.HasPrefix(reason, RuleErrors) {
			t.Errorf("with a fifth allowed to fail: %q", reason)
		}
	}
}

// It answers one at a time, each in 6 ms or more: half of what the schedule asks for at most.
func TestServerSlowerThanTheSchedule(t *testing.T) {
	s, bodies := unique(t, 400, 1)
	var mu sync.Mutex
	target := handler(t, func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		time.Sleep(6 * time.Millisecond)
	})
	r := run(t, s, target, bodies, nil)
	v := Judge(s, r, lenient)
	wantReason(t, v, RuleSaturation, "answered at")
	if v.Failed > 0 || v.Unsent > 0 || r.Self.MaxInFlight < 2 {
		t.Errorf("%d failed, %d unsent, at most %d in flight; want every request sent and waiting", v.Failed, v.Unsent, r.Self.MaxInFlight)
	}
}

func TestServerThatNeverAnswers(t *testing.T) {
	s, bodies := unique(t, 100, 0.3)
	release := make(chan struct{})
	target := handler(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	target.Timeout = 200 * time.Millisecond
	r := run(t, s, target, bodies, nil)
	wantReason(t, Judge(s, r, lenient), RuleErrors, "time-out: no whole answer within 200ms")
	if r.Self.MaxInFlight < 2 {
		t.Errorf("at most %d in flight; want no waiting for answers", r.Self.MaxInFlight)
	}
}

// It closes each connection after an answer without saying so. Whatever came of a request is reported, and none is
// sent twice.
func TestServerClosesKeepAlive(t *testing.T) {
	s, bodies := unique(t, 1000, 1)
	var mu sync.Mutex
	seen := map[string]int{}
	target := listen(t, func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("body: %v", err)
		}
		mu.Lock()
		seen[string(b)]++
		mu.Unlock()
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	r := run(t, s, target, bodies, nil)
	answered := 0
	for _, x := range r.Sent {
		if !x.Failed() {
			answered++
		} else if !strings.Contains(x.Err, "before a byte") && !strings.Contains(x.Err, "reset") && !strings.Contains(x.Err, "broken pipe") {
			t.Errorf("request %d: %s", x.Index, x.Err)
		}
	}
	for b, n := range seen {
		if n > 1 {
			t.Errorf("%q came %d times, want once", b, n)
		}
	}
	if answered == 0 || answered != len(seen) || r.Self.Connections < answered {
		t.Errorf("%d answered, %d seen by the server, %d connections", answered, len(seen), r.Self.Connections)
	}
}

// A server that says it closes is no fault.
func TestServerSaysItCloses(t *testing.T) {
	s, bodies := unique(t, 300, 0.5)
	target := handler(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	if v := Judge(s, run(t, s, target, bodies, nil), lenient); v.Failed > 0 || v.Unsent > 0 {
		t.Errorf("%q", v.Reasons)
	}
}

// It says that it closes and does not: no other request comes on the connection.
func TestConnectionCloseIsHeeded(t *testing.T) {
	s, bodies := unique(t, 300, 0.5)
	target := listen(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		for n := 0; ; n++ {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil || n > 0 {
				t.Errorf("request %d on a connection that was said to close, error %v", n, err)
			}
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	if v := Judge(s, run(t, s, target, bodies, nil), lenient); v.Failed > 0 || v.Unsent > 0 {
		t.Errorf("%q", v.Reasons)
	}
}

// A connection whose peer has gone takes no byte: the request goes out on another, once.
func TestRedialAfterNoByte(t *testing.T) {
	s, bodies := unique(t, 100, 0.5)
	n, err := StartNullServer("127.0.0.1:0", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	x, err := newSender(s, to(n.URL()), bodies, false)
	if err != nil {
		t.Fatal(err)
	}
	x.clock = preciseClock{time.Now()}
	x.pending.Add(1)
	x.inFlight.Add(1)
	dead, err := x.connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.net.CloseWrite(); err != nil { // every write on it fails now
		t.Fatal(err)
	}
	x.idle.put(dead)
	x.send(context.Background(), 0)
	x.pending.Wait()
	if r := x.records[0]; r.Failed() || !r.Redialled || r.Done == nil || n.Served() != 1 {
		t.Errorf("record %+v after %d requests served, want one answered on a fresh connection", r, n.Served())
	}
	x.open.close()
	x.readers.Wait()
}

// A connection that is idle for longer than the time-out of the request before stays open.
func TestIdleBeyondTheTimeout(t *testing.T) {
	s, bodies := unique(t, 100, 0.5)
	n, err := StartNullServer("127.0.0.1:0", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	x, err := newSender(s, to(n.URL()), bodies, false)
	if err != nil {
		t.Fatal(err)
	}
	x.clock = preciseClock{time.Now()}
	x.pending.Add(1)
	x.inFlight.Add(1)
	c, err := x.dial(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	x.idle.put(c)
	if err := c.net.SetDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	for range 200 { // the reader wakes by itself; a broken one closes the connection soon
		time.Sleep(time.Millisecond)
		c.mu.Lock()
		broken := c.broken
		c.mu.Unlock()
		if broken {
			t.Fatal("the reader gave the idle connection up")
		}
	}
	x.send(context.Background(), 0)
	x.pending.Wait()
	if r := x.records[0]; r.Failed() || r.Redialled || x.opened.Load() != 1 {
		t.Errorf("record %+v after %d connections, want one answered on the first", r, x.opened.Load())
	}
	x.open.close()
	x.readers.Wait()
}

// lateClock oversleeps.
type lateClock struct {
	clock
	by time.Duration
}

func (c lateClock) Until(t float64) bool {
	ok := c.clock.Until(t)
	if ok {
		time.Sleep(c.by)
	}
	return ok
}

func TestThrottledSender(t *testing.T) {
	n, err := StartNullServer("127.0.0.1:0", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	s, bodies := unique(t, 400, 0.5)
	late := way{clock: func(start time.Time) clock { return lateClock{realClock(start), 5 * time.Millisecond} }}
	r, err := runWith(context.Background(), s, to(n.URL()), bodies, nil, late)
	if err != nil {
		t.Fatal(err)
	}
	wholeRecords(t, s, r)
	v := Judge(s, r, NullLimits())
	wantReason(t, v, RuleLateness, "sent more than 1 ms late, at most 1 % may")
	wantReason(t, v, RuleRate, "sent at") // 200 a second at most, of 400
}

func TestCheckErrorsStayBesideTimes(t *testing.T) {
	at := 1.0
	sent := []Sent{{Sent: &at, Done: &at}, {Err: "time-out"}}
	calls := 0
	checkAll(sent, func(Sent) error { calls++; return errors.New("NaN") })
	if calls != 1 || sent[0].Err != "check: NaN" || sent[1].Err != "time-out" {
		t.Errorf("%d calls, %+v; want the answered one checked", calls, sent)
	}
}

package servearm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The built-in server starts, serves and ends, with all its processes.
func TestBuiltin(t *testing.T) {
	t.Parallel()
	log := &record{}
	s, err := Start(within(t), resolve(t, "builtin:batch@device=sim"), Config{Log: log, ReadyTimeout: patience, StopTimeout: patience, Records: 12345})
	if err != nil {
		t.Fatal(err)
	}
	if err := healthy(within(t), s.URL); err != nil || s.Err() != nil {
		t.Errorf("%v, %v", err, s.Err())
	}
	answer, err := http.Get(s.URL + "/server_info")
	if err != nil {
		t.Fatal(err)
	}
	info := &record{}
	if err := errors.Join(answer.Write(info), answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(info.String(), `"admission_records":12345`) || !strings.Contains(info.String(), `"enable_tokenizer_batch_encode":true`) {
		t.Errorf("server info %s", info)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	parts := regexp.MustCompile(`: pid (\d+)\n`).FindAllStringSubmatch(log.String(), -1)
	if len(parts) < 3 {
		t.Errorf("parts %q", parts)
	}
	for _, m := range parts {
		pid, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		gone(t, pid)
	}
	gone(t, s.PID())
}

// A server of this module that was killed, or dies under way, is told.
func TestBuiltinDies(t *testing.T) {
	t.Parallel()
	s, err := Start(within(t), resolve(t, "builtin:batch@device=sim"), Config{Log: &record{}, ReadyTimeout: patience, StopTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.ended()
	for _, err := range []error{s.Err(), s.Stop()} {
		if err == nil || !strings.Contains(err.Error(), "the server ended (signal: killed) without having been told to; last lines of its log:") {
			t.Errorf("got %v", err)
		}
	}
}

// Settings that the server refuses only when it starts are an error of the start.
func TestBuiltinThatCannotStart(t *testing.T) {
	t.Parallel()
	_, err := Start(within(t), resolve(t, "builtin:batch@device=sim,context-length=1"), Config{Log: &record{}, ReadyTimeout: patience})
	if err == nil || !strings.Contains(err.Error(), "the server ended (exit status") || !strings.Contains(err.Error(), "context_length is 1") && !strings.Contains(err.Error(), "context-length is 1") {
		t.Errorf("got %v", err)
	}
}

// How any other server lives and ends.
func TestLaunch(t *testing.T) {
	for name, want := range map[string]string{
		"healthy":      "",
		"shell end":    "",
		"kills itself": "",
		"bad end":      "the server ended with exit status 9, expected exit status 0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Start(within(t), role(t, name), Config{Log: &record{}, ReadyTimeout: patience, StopTimeout: patience})
			if err != nil {
				t.Fatal(err)
			}
			if err := healthy(within(t), s.URL); err != nil {
				t.Error(err)
			}
			err = s.Stop()
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("got %v, want %q", err, want)
			}
			gone(t, s.PID())
		})
	}
}

// A server that does not become ready is an error that says why, and leaves nothing.
func TestNotReady(t *testing.T) {
	for name, want := range map[string]string{
		"mute":      "it is not ready after 300ms: Get ",
		"ends":      `the server ended (exit status 3) without having been told to; last lines of its log: "no memory"`,
		"ends well": `the server ended (exit status 0) without having been told to; last lines of its log: "nothing to do"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Config{Log: &record{}, ReadyTimeout: 300 * time.Millisecond, StopTimeout: patience}
			if strings.HasPrefix(name, "ends") {
				c.ReadyTimeout = patience
			}
			s, err := Start(within(t), role(t, name), c)
			if err == nil || !strings.Contains(err.Error(), want) || s != nil {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
	if _, err := Start(within(t), resolve(t, "launch:/nonexistent/program {port}"), Config{Log: &record{}, ReadyTimeout: patience}); err == nil || !strings.Contains(err.Error(), "exit status 127") {
		t.Errorf("a program that is not there: %v", err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := Start(ended, role(t, "mute"), Config{Log: &record{}, ReadyTimeout: patience, StopTimeout: patience}); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("a start that is called off: %v", err)
	}
}

// What an unhealthy server said stands in the error, whenever the wait is over.
func TestSick(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(within(t))
	log := &record{}
	go func() {
		for end := time.Now().Add(patience); !strings.Contains(log.String(), "again") && time.Now().Before(end); {
			time.Sleep(2 * time.Millisecond)
		}
		cancel(errors.New("enough"))
	}()
	_, err := Start(ctx, role(t, "sick"), Config{Log: log, ReadyTimeout: patience, StopTimeout: patience})
	if err == nil || !strings.Contains(err.Error(), ": enough: GET http://") || !strings.Contains(err.Error(), "/health: status 503, expected 200") {
		t.Errorf("got %v", err)
	}
}

// A server that ends under way is told, even if nobody looked in time.
func TestDies(t *testing.T) {
	t.Parallel()
	s, err := Start(within(t), role(t, "dies"), Config{Log: &record{}, ReadyTimeout: patience, StopTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := http.Get(s.URL + "/die"); err == nil {
		t.Errorf("answered with status %d, want no answer", answer.StatusCode)
	}
	<-s.ended()
	for _, err := range []error{s.Err(), s.Stop()} {
		if err == nil || !strings.Contains(err.Error(), `the server ended (exit status 4) without having been told to; last lines of its log: "oh"`) {
			t.Errorf("got %v", err)
		}
	}
}

// SIGTERM goes to the whole group; what is deaf to it is killed, a child that was
// left behind too.
func TestDeaf(t *testing.T) {
	t.Parallel()
	s, err := Start(within(t), role(t, "deaf"), Config{Log: &record{}, ReadyTimeout: patience, StopTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err == nil || !strings.Contains(err.Error(), "did not end within 1ms of SIGTERM and was killed") {
		t.Errorf("got %v", err)
	}
	gone(t, s.PID())

	log := &record{}
	if s, err = Start(within(t), role(t, "parent"), Config{Log: log, ReadyTimeout: patience, StopTimeout: patience}); err != nil {
		t.Fatal(err)
	}
	var child int
	for end := time.Now().Add(patience); !strings.Contains(log.String(), "\n"); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the server does not say its child")
		}
	}
	if _, err := fmt.Sscanf(log.String(), "child %d\n", &child); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	gone(t, child)
}

// A server that runs already is not waited for as long as one that has to load a model.
func TestReadyTimeout(t *testing.T) {
	started, there := Arm{Kind: KindLaunch}, Arm{Kind: KindURL}
	for _, k := range []struct {
		arm         Arm
		given, want time.Duration
	}{{started, 0, time.Minute}, {there, 0, 10 * time.Second}, {started, time.Second, time.Second}, {there, time.Hour, time.Hour}} {
		if got := (Config{ReadyTimeout: k.given}).readyTimeout(k.arm); got != k.want {
			t.Errorf("%s with %v: %v, want %v", k.arm.Kind, k.given, got, k.want)
		}
	}
}

// A server that runs already is waited for and left alone.
func TestURL(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer other.Close()
	s, err := Start(within(t), resolve(t, "url:"+other.URL), Config{Log: &record{}, ReadyTimeout: patience})
	if err != nil || s.URL != other.URL || s.PID() != 0 || s.Err() != nil || s.Stop() != nil {
		t.Errorf("%+v, %v", s, err)
	}
	if err := healthy(within(t), other.URL); err != nil {
		t.Errorf("after Stop: %v", err)
	}
	status = http.StatusServiceUnavailable
	if _, err := Start(within(t), resolve(t, "url:"+other.URL), Config{Log: &record{}, ReadyTimeout: 100 * time.Millisecond}); err == nil || !strings.Contains(err.Error(), "it is not ready after 100ms") {
		t.Errorf("a server that is not ready: %v", err)
	}
}

// The two lines are seen however they come, once.
func TestWatch(t *testing.T) {
	log := &record{}
	w := newWatch(log)
	text := "x\n[a] listening at http://h:1\nlistening at http://other:2\n" + strings.Repeat("y", 3*lineBytes) + "\nThe server is fired up and ready to roll!\nmore\n"
	closed := func(c chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	for i := range len(text) {
		if n, err := w.Write([]byte{text[i]}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		seen := text[:i+1]
		if closed(w.listens) != strings.Contains(seen, "h:1\n") || closed(w.rolls) != strings.Contains(seen, "roll!\n") {
			t.Fatalf("after %q: %v, %v", seen, closed(w.listens), closed(w.rolls))
		}
	}
	if w.url != "http://h:1" || log.String() != text {
		t.Errorf("address %q, log %q", w.url, log)
	}
}

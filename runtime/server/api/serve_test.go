package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// serve runs Serve until stop, which returns what it returned.
func serve(t *testing.T, f *fake, o ServeOptions, changes ...func(*Config)) (address string, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Log = slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, l, New(config(f, changes...)), o) }()
	once := false
	stop = func() error {
		cancel()
		once = true
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			return errors.New("Serve did not return")
		}
	}
	t.Cleanup(func() {
		if !once {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
	return l.Addr().String(), stop
}

func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

func httpPost(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// A head that does not come is cut off.
func TestSlowHead(t *testing.T) {
	address, _ := serve(t, newFake(), ServeOptions{HeaderTimeout: 50 * time.Millisecond})
	c := dial(t, address, "POST /generate HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	if b, err := io.ReadAll(c); err != nil || strings.Contains(string(b), "200 OK") {
		t.Errorf("read %q, error %v, want the end", b, err)
	}
}

// A body that does not come is 408, also where nobody reads it.
func TestSlowBody(t *testing.T) {
	address, _ := serve(t, newFake(), ServeOptions{}, func(c *Config) { c.BodyTimeout = 50 * time.Millisecond })
	for path, want := range map[string]string{
		"/generate": "408 Request Timeout",
		"/nowhere":  "404 Not Found",
	} {
		c := dial(t, address, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{\"text\":")
		b, err := io.ReadAll(c)
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: read %q, error %v, want %s and the end", path, b, err, want)
		}
	}
}

// An answer may take longer than its request's body may.
func TestSlowAnswer(t *testing.T) {
	t.Parallel()
	slow := func() { time.Sleep(time.Second) }
	limits := func(c *Config) { c.BodyTimeout, c.WriteTimeout = time.Second/2, time.Second/2 }
	for _, stream := range []string{"", `,"stream":true`} {
		f := newFake(says(0, "ab", nil), slow, says(0, "c", byLength))
		url := start(t, f, limits)
		for range 2 { // on one connection: no deadline stays from the request before
			g := post(t, url+"/generate", `{"text":"x"`+stream+`}`)
			if g.status != 200 || !strings.Contains(g.body, `"abc"`) {
				t.Errorf("%s: %d %s", stream, g.status, g.body)
			}
			slow()
		}
	}
}

// A client that reads nothing is dropped, and its request ended.
func TestClientThatDoesNotRead(t *testing.T) {
	f := newFake()
	long := strings.Repeat("x", 1<<20)
	for range 1000 {
		f.script = append(f.script, manager.Update{RID: "r", Text: long})
	}
	address, _ := serve(t, f, ServeOptions{}, func(c *Config) {
		c.WriteTimeout, c.Args.IncrementalStreaming = 100*time.Millisecond, true
	})
	dial(t, address, httpPost("/generate", `{"text":"x","stream":true}`))
	f.awaitClose(t, 1)
}

// One that reads slowly is not, and gets every byte.
func TestClientThatReadsSlowly(t *testing.T) {
	t.Parallel()
	f := newFake(manager.Update{RID: "r", Text: strings.Repeat("x", 32<<20), Finish: byLength})
	address, _ := serve(t, f, ServeOptions{}, func(c *Config) { c.WriteTimeout = 3 * time.Second })
	c := dial(t, address, strings.Replace(httpPost("/v1/completions", `{"prompt":"x"}`), "Host:", "Connection: close\r\nHost:", 1))
	read, piece := 0, make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(c, piece)
		read += n
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Millisecond) // more than the limit over the whole answer
	}
	if read < 32<<20 {
		t.Errorf("read %d bytes, want all", read)
	}
}

// What runs when the server ends finishes; nothing new is taken.
func TestEndLetsFinish(t *testing.T) {
	runs, ended := make(chan bool), make(chan bool)
	f := newFake(says(0, "a", nil), func() { close(runs); <-ended }, says(0, "b", byLength))
	address, stop := serve(t, f, ServeOptions{Grace: patience})
	c := dial(t, address, httpPost("/generate", `{"text":"x","stream":true}`))
	<-runs
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for { // until the listener is closed
		other, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		if err := other.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(ended)
	if b, err := io.ReadAll(c); err != nil || !strings.Contains(string(b), `"ab"`) || !strings.Contains(string(b), "[DONE]") {
		t.Errorf("read %q, error %v", b, err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// What still runs after the grace is cut off, and its Call is closed before Serve returns.
func TestEndCutsOff(t *testing.T) {
	f := newFake(says(0, "a", nil), hold{})
	address, stop := serve(t, f, ServeOptions{Grace: 50 * time.Millisecond})
	c := dial(t, address, httpPost("/generate", `{"text":"x","stream":true}`))
	if _, err := bufio.NewReader(c).ReadString('}'); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if len(f.closed) != 1 {
		t.Errorf("%d calls closed when Serve returned, want 1", len(f.closed))
	}
	// The end may be a reset: what matters is that there is one.
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection stays")
	}
}

// A listener that fails is an error, not an end.
func TestServeFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	err = Serve(t.Context(), l, http.NotFoundHandler(), ServeOptions{Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("error %v, want one that names the address", err)
	}
}

func TestHugeHead(t *testing.T) {
	address, _ := serve(t, newFake(), ServeOptions{})
	c := dial(t, address, "GET /health HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 80<<10)+"\r\n\r\n")
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.Contains(line, "431") {
		t.Errorf("read %q, error %v, want 431", line, err)
	}
}

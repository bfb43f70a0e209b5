package load

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// net/http's client and ours get the same from it.
func TestNullServer(t *testing.T) {
	n, err := StartNullServer("127.0.0.1:0", []byte("canned"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		r, err := http.Post(n.URL()+"/v1/score", "text/plain", bytes.NewReader(make([]byte, 100_000*i)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r.Body)
		if err != nil || string(b) != "canned" || r.StatusCode != 200 {
			t.Errorf("status %d, body %q, error %v", r.StatusCode, b, err)
		}
		if err := r.Body.Close(); err != nil {
			t.Error(err)
		}
	}
	if n.Served() != 3 {
		t.Errorf("%d served, want 3", n.Served())
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(n.URL(), "http://")); err == nil {
		c.Close()
		t.Error("it still listens after Close")
	}
	if _, err := StartNullServer("256.0.0.1:0", nil); err == nil {
		t.Error("no error for an address that cannot be")
	}
}

// What is no request ends the connection, without an answer.
func TestNullServerRefuses(t *testing.T) {
	n, err := StartNullServer("127.0.0.1:0", []byte("canned"))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for _, text := range []string{"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "A: " + strings.Repeat("b", 40<<10) + "\r\n\r\n"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(n.URL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(guard)); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(c)
		if timeout, ok := err.(net.Error); len(b) > 0 || ok && timeout.Timeout() {
			t.Errorf("%.40q: answer %q, error %v; want the connection closed", text, b, err)
		}
		c.Close()
	}
}

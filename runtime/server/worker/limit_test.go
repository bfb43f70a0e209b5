package worker

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

func TestConnections(t *testing.T) {
	for _, c := range []struct {
		a     args.Args
		files uint64
		want  int
		err   string
	}{
		{args.Args{TokenizerWorkerNum: 4, DetokenizerWorkerNum: 2}, 1024, 998, ""},
		{args.Args{TokenizerWorkerNum: 4, DetokenizerWorkerNum: 2}, 33, 0, "may have 33 open files (RLIMIT_NOFILE), expected at least 34"},
		{args.Args{TokenizerWorkerNum: 2, DetokenizerWorkerNum: 1, InProcess: true}, 1024, 450, ""},
		{args.Args{TokenizerWorkerNum: 1, DetokenizerWorkerNum: 1}, 1<<64 - 1, 1<<31 - 1 - 25, ""},
	} {
		n, err := connections(c.a, c.files)
		if n != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%d files: got %d, %v, want %d, %q", c.files, n, err, c.want, c.err)
		}
	}
}

// The third client of two is served when one leaves, and Close ends the wait.
func TestLimit(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limit(inner, 2)
	accepted, ended := make(chan net.Conn, 4), make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- c
		}
	}()
	for range 3 {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }() // the test is over
	}
	first := <-accepted
	<-accepted
	select {
	case <-accepted:
		t.Fatal("a third client was accepted")
	case <-time.After(50 * time.Millisecond): // it would have been, without the limit
	}
	for range 2 { // the second gives no room
		_ = first.Close() // fails at the second
	}
	<-accepted
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Close did not end Accept")
	}
}

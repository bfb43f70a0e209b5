package transport_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/transport/zmtp"
)

func TestSeveralFramesInOneWrite(t *testing.T) {
	pull := bind(t, transport.Options{})
	c := rawPeer(t, pull.Endpoint())
	// Everything, hello included, is in the kernel before the pull has even accepted.
	write(t, c, hello(), frame(0, "one"), frame(2, "two"), frame(0, ""), frame(4, "\x05OTHER"), frame(0, "three"))
	for _, w := range []string{"one", "two", "", "three"} {
		if msg, err := pull.TryRecv(); err != nil || string(msg) != w {
			t.Fatalf("got %q, %v; want %q", msg, err, w)
		}
	}
	wantEmpty(t, pull)
}

func TestByteByByte(t *testing.T) {
	pull := bind(t, transport.Options{})
	c := rawPeer(t, pull.Endpoint())
	all := bytes.Join([][]byte{hello(), frame(2, "the first"), frame(0, "the second")}, nil)
	got := ""
	for i := range all {
		write(t, c, all[i:i+1])
		msg, err := pull.TryRecv()
		if err == nil {
			got += string(msg) + "."
		} else if !errors.Is(err, transport.ErrEmpty) {
			t.Fatalf("after byte %d: %v", i, err)
		}
	}
	if got != "the first.the second." {
		t.Fatalf("got %q", got)
	}
}

func TestBadPeersHarmNobody(t *testing.T) {
	long := string(make([]byte, 300))
	for _, c := range []struct {
		name   string
		bytes  []byte
		before []string // messages that come first
		reason string
	}{
		{"http", []byte("GET / HTTP/1.1\r\n\r\n"), nil, "greeting starts with 0x47, want 0xff"},
		{"another pull", zmtp.AppendHello(nil, "PULL"), nil, `socket type "PULL", want "PUSH"`},
		{"oversized", append(hello(), 2, 0, 0, 0, 0, 0, 0, 0x10, 1), nil, "message of 4097 bytes; at most 4096 are taken"},
		{"multipart", append(append(hello(), frame(0, "whole")...), frame(1, "part")...), []string{"whole"}, "multipart"},
		{"half a frame", append(append(hello(), frame(2, long)...), frame(2, long)[:100]...), []string{long}, "in mid-frame, after 100 of its bytes"},
		{"half a header", append(hello(), 2), nil, "in mid-frame, after 1 of its bytes"},
		{"half a hello", hello()[:70], nil, "in the handshake: connection closed"},
		{"error", append(hello(), frame(4, "\x05ERROR\x05sorry")...), nil, `peer sent ERROR: "sorry"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			pull := bind(t, transport.Options{MaxFrame: 4096})
			good := connect(t, pull, transport.Options{})
			bad := rawPeer(t, pull.Endpoint())
			write(t, bad, c.bytes)
			must(t, bad.CloseWrite())
			for _, w := range c.before {
				want(t, pull, w)
			}
			pe := wantPeerError(t, pull, c.reason)
			if pe.Peer != 2 {
				t.Errorf("peer %d; want 2", pe.Peer)
			}
			wantEmpty(t, pull) // said once
			must(t, good.Send([]byte("unharmed")))
			must(t, good.Flush())
			want(t, pull, "unharmed")
			wantClosed(t, bad)
		})
	}
}

// wantClosed reads what the pull said until it hangs up.
func wantClosed(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := io.ReadAll(c); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the dropped connection: %v", err)
	}
}

func TestSilentClient(t *testing.T) {
	pull := bind(t, transport.Options{HandshakeTimeout: 50 * time.Millisecond})
	silent := rawPeer(t, pull.Endpoint())
	halfway := rawPeer(t, pull.Endpoint())
	write(t, halfway, hello()[:64])
	// In a process of its own the push would wait for nobody; here Recv drives both.
	push := connectBeside(t, pull)
	must(t, push.Send([]byte("not held up")))
	must(t, push.Flush())
	got := false
	var dropped []int
	for len(dropped) < 2 || !got {
		msg, err := recv(t, pull)
		var pe *transport.PeerError
		switch {
		case errors.As(err, &pe) && errors.Is(err, os.ErrDeadlineExceeded):
			dropped = append(dropped, pe.Peer)
		case err == nil && string(msg) == "not held up":
			got = true
		default:
			t.Fatalf("got %q, %v", msg, err)
		}
	}
	if dropped[0] != 1 || dropped[1] != 2 {
		t.Fatalf("dropped peers %v; want 1 and 2", dropped)
	}
	wantClosed(t, silent)
	wantClosed(t, halfway)
	wantEmpty(t, pull)
}

// connectBeside connects with a real pull that has other peers at odds: errors of theirs may come between.
func connectBeside(t *testing.T, pull transport.Pull) transport.Push {
	t.Helper()
	type result struct {
		push transport.Push
		err  error
	}
	done := make(chan result, 1)
	go func() {
		push, err := transport.Connect(background, "zmtp", pull.Endpoint(), transport.Options{})
		done <- result{push, err}
	}()
	for {
		select {
		case r := <-done:
			must(t, r.err)
			t.Cleanup(func() { _ = r.push.Close() })
			return r.push
		default:
		}
		if msg, err := pull.TryRecv(); !errors.Is(err, transport.ErrEmpty) {
			t.Fatalf("got %q, %v", msg, err)
		}
	}
}

// A header that claims 60 MiB makes nobody allocate them.
func TestClaimedMemory(t *testing.T) {
	pull := bind(t, transport.Options{})
	c := rawPeer(t, pull.Endpoint())
	write(t, c, hello(), []byte{2, 0, 0, 0, 0, 3, 0xc0, 0, 0}, make([]byte, 100<<10))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wantEmpty(t, pull)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Fatalf("%d bytes were allocated for 100 KiB that came", n)
	}
}

func TestPingToPull(t *testing.T) {
	pull := bind(t, transport.Options{})
	c := rawPeer(t, pull.Endpoint())
	write(t, c, hello(), frame(4, "\x04PING\x00\x05ctx"), frame(0, "between"), frame(6, "\x04PING\x00\x05"))
	want(t, pull, "between")
	wantEmpty(t, pull)
	wantRead(t, c, zmtp.AppendHello(nil, "PULL"), frame(4, "\x04PONGctx"), frame(4, "\x04PONG"))
}

func wantRead(t *testing.T, r io.Reader, parts ...[]byte) {
	t.Helper()
	wanted := bytes.Join(parts, nil)
	got := make([]byte, len(wanted))
	if n, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, wanted) {
		t.Fatalf("read %q, %v; want %q", got[:n], err, wanted)
	}
}

// Answers that the kernel does not take at once go out when it does.
func TestManyPings(t *testing.T) {
	pull := bind(t, transport.Options{})
	c := rawPeer(t, pull.Endpoint())
	const n = 300 // more than a unix socket of Linux holds in writes of this size, fewer than make a flood
	write(t, c, hello(), bytes.Repeat(frame(4, "\x04PING\x00\x05sixteen bytes 16"), n))
	wantEmpty(t, pull)
	failed := make(chan error, 1)
	go func() {
		wanted := append(zmtp.AppendHello(nil, "PULL"), bytes.Repeat(frame(4, "\x04PONGsixteen bytes 16"), n)...)
		got := make([]byte, len(wanted))
		_, err := io.ReadFull(c, got)
		if err == nil && !bytes.Equal(got, wanted) {
			err = errors.New("the answers are others")
		}
		if err == nil {
			_, err = c.Write(frame(0, "done"))
		}
		failed <- err
	}()
	want(t, pull, "done")
	must(t, <-failed)
}

// A peer that only ever sends PING and reads nothing is dropped before its answers fill the memory.
func TestPingFlood(t *testing.T) {
	pull := bind(t, transport.Options{})
	c := rawPeer(t, pull.Endpoint())
	write(t, c, hello())
	wantEmpty(t, pull)
	go func() {
		pings := bytes.Repeat(frame(4, "\x04PING\x00\x05sixteen bytes 16"), 1000)
		for {
			if _, err := c.Write(pings); err != nil {
				return
			}
		}
	}()
	wantPeerError(t, pull, "sends PING and does not read the answers")
}

// rawPull accepts one pusher by hand.
func rawPull(t *testing.T, opt transport.Options) (transport.Push, *net.UnixConn) {
	t.Helper()
	e := endpoint(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path(e), Net: "unix"})
	must(t, err)
	defer l.Close()
	accepted := make(chan *net.UnixConn, 1)
	go func() {
		c, err := l.AcceptUnix()
		if err == nil {
			_, _ = c.Write(zmtp.AppendHello(nil, "PULL"))
		}
		accepted <- c
	}()
	push, err := transport.Connect(background, "zmtp", e, opt)
	must(t, err)
	c := <-accepted
	t.Cleanup(func() { _ = push.Close(); _ = c.Close() })
	must(t, c.SetDeadline(time.Now().Add(hang)))
	wantRead(t, c, hello())
	return push, c
}

func TestPingToPush(t *testing.T) {
	push, c := rawPull(t, transport.Options{})
	write(t, c, frame(4, "\x04PING\x00\x05ctx"))
	must(t, push.Send([]byte("message")))
	must(t, push.Flush())
	wantRead(t, c, frame(4, "\x04PONGctx"), frame(0, "message"))
	write(t, c, frame(4, "\x04PING\x00\x05"))
	must(t, push.Flush()) // with nothing queued
	wantRead(t, c, frame(4, "\x04PONG"))
	big := strings.Repeat("b", 100<<10)
	write(t, c, frame(4, "\x04PING\x00\x05big"))
	sent := make(chan error, 1)
	go func() { sent <- push.Send([]byte(big)) }()
	wantRead(t, c, frame(4, "\x04PONGbig"), frame(2, big))
	must(t, <-sent)
}

func TestPushHearsErrors(t *testing.T) {
	for said, reason := range map[string]string{
		string(frame(4, "\x05ERROR\x04full")): `peer sent ERROR: "full"`,
		string(frame(0, "hello?")):            "the peer, a PULL, sent a message of 6 bytes",
		"\xff":                                "flags are 0xff",
	} {
		push, c := rawPull(t, transport.Options{})
		write(t, c, []byte(said))
		must(t, push.Send([]byte("x")))
		err := push.Flush()
		if !errors.Is(err, transport.ErrBroken) || !strings.Contains(err.Error(), reason) {
			t.Errorf("after %q: %v; want ErrBroken with %q", said, err, reason)
		}
	}
}

func TestConnectFindsNoPull(t *testing.T) {
	for _, c := range []struct {
		name, says, reason string
		opt                transport.Options
	}{
		{"http", "HTTP/1.1 400 Bad Request\r\n\r\n", "greeting starts with 0x48", transport.Options{}},
		{"push", string(hello()), `socket type "PUSH", want "PULL"`, transport.Options{}},
		{"silent", "", "had not ended it within 50ms", transport.Options{DialTimeout: 50 * time.Millisecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := endpoint(t)
			l, err := net.Listen("unix", path(e))
			must(t, err)
			defer l.Close()
			go func() {
				if conn, err := l.Accept(); err == nil {
					_, _ = conn.Write([]byte(c.says))
					_, _ = io.Copy(io.Discard, conn)
				}
			}()
			_, err = transport.Connect(background, "zmtp", e, c.opt)
			if err == nil || !strings.Contains(err.Error(), c.reason) || !strings.Contains(err.Error(), e) {
				t.Fatalf("error %v; want %q and the endpoint", err, c.reason)
			}
		})
	}
}

func TestRecvCancelled(t *testing.T) {
	pull := bind(t, transport.Options{})
	push := connect(t, pull, transport.Options{})
	for range 50 {
		ctx, cancel := context.WithCancel(background)
		go cancel()
		if msg, err := pull.Recv(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %q, %v", msg, err)
		}
		must(t, push.Send([]byte("nothing is lost by it")))
		must(t, push.Flush())
		if _, err := pull.Recv(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("a context that has ended: %v", err)
		}
		want(t, pull, "nothing is lost by it")
	}
	ctx, cancel := context.WithTimeout(background, time.Millisecond)
	defer cancel()
	if _, err := pull.Recv(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestConnectCancelled(t *testing.T) {
	e := endpoint(t)
	l, err := net.Listen("unix", path(e))
	must(t, err)
	defer l.Close()
	for name, where := range map[string]string{"no socket": e + ".none", "no handshake": e} {
		ctx, cancel := context.WithCancel(background)
		go cancel()
		_, err := transport.Connect(ctx, "zmtp", where, transport.Options{DialTimeout: math.MaxInt64 / 4})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), where) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConnectBeforeBind(t *testing.T) {
	e := endpoint(t)
	_, err := transport.Connect(background, "zmtp", e, transport.Options{DialTimeout: 20 * time.Millisecond})
	if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(err, syscall.ENOENT) || !strings.Contains(err.Error(), e) {
		t.Fatalf("error %v", err)
	}
	started := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		close(started)
		push, err := transport.Connect(background, "zmtp", e, transport.Options{})
		if err == nil {
			if err = push.Send([]byte("early bird")); err == nil {
				err = push.Close()
			}
		}
		done <- err
	}()
	<-started
	pull := bindAt(t, e, transport.Options{})
	want(t, pull, "early bird")
	must(t, <-done)
}

package transport_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/transport/zmtp"
)

// live: whoever holds the endpoint, Pull or Push, keeps it, and does not notice.
func live(t *testing.T, p pair) {
	push, pull := p.open(t, transport.Options{})
	e := pull.Endpoint()
	for _, engine := range []string{p.push, p.pull} {
		if _, err := openers[engine].bind(t, e, transport.Options{}); !errors.Is(err, transport.ErrLive) || !strings.Contains(err.Error(), e) {
			t.Errorf("Bind by %s: %v", engine, err)
		}
		if _, err := openers[engine].bindPush(t, e, transport.Options{}); !errors.Is(err, transport.ErrLive) || !strings.Contains(err.Error(), e) {
			t.Errorf("BindPush by %s: %v", engine, err)
		}
	}
	must(t, push.Send([]byte("unnoticed")))
	must(t, push.Flush())
	want(t, pull, "unnoticed")
}

func staleTaken(t *testing.T, engine string) {
	for _, p := range pairsOf([]string{engine}, []string{engine}) {
		e := endpoint(t)
		stale(t, e)
		push, pull := p.openAt(t, e, transport.Options{})
		must(t, push.Send([]byte("x")))
		must(t, push.Flush())
		want(t, pull, "x")
		must(t, errors.Join(push.Close(), pull.Close()))
		if exists(t, e) {
			t.Errorf("%v: a socket file is left", p)
		}
	}
	file := endpoint(t)
	must(t, os.WriteFile(path(file), []byte("precious"), 0o600))
	_, err := openers[engine].bind(t, file, transport.Options{})
	_, err2 := openers[engine].bindPush(t, file, transport.Options{})
	for _, err := range []error{err, err2} {
		if err == nil || !strings.Contains(err.Error(), "is no socket") {
			t.Errorf("over a file: %v", err)
		}
	}
}

// onePull: who comes second is turned away, and gets nothing.
func onePull(t *testing.T, engine string) {
	push, pull := pair{engine, engine, true}.open(t, transport.Options{})
	second := rawPeer(t, pull.Endpoint())
	must(t, push.Send([]byte("for one")))
	must(t, push.Flush())
	said, err := io.ReadAll(second)
	if errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(string(said), "for one") {
		t.Fatalf("the second one gets %q, %v; want the end", said, err)
	}
	_, err = transport.ConnectPull(background, engine, pull.Endpoint(), transport.Options{DialTimeout: 20 * time.Millisecond})
	if err == nil {
		t.Fatal("a second Pull is content")
	}
	want(t, pull, "for one")
}

// endOfPush: a connected Pull says that its Push has left, after the last message and from then on.
func endOfPush(t *testing.T, engine string) {
	push, pull := pair{engine, engine, true}.open(t, transport.Options{})
	poller := newPoller(t, pull)
	must(t, push.Send([]byte("last words")))
	must(t, push.Close())
	want(t, pull, "last words")
	for range 3 {
		if msg, err := recv(t, pull); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last message: %q, %v", msg, err)
		}
		wantReady(t, poller, 0)
		if msg, err := pull.TryRecv(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last message: %q, %v", msg, err)
		}
	}
}

func bindWith(t *testing.T, engine string, opt transport.Options) transport.Pull {
	t.Helper()
	pull, err := transport.Bind(engine, endpoint(t), opt)
	must(t, err)
	t.Cleanup(func() { _ = pull.Close() })
	return pull
}

// wantService wants that a pusher gets through to the pull.
func wantService(t *testing.T, engine string, pull transport.Pull) {
	t.Helper()
	push := pair{engine, engine, false}.join(t, pull, transport.Options{})
	must(t, push.Send([]byte("served")))
	must(t, push.Flush())
	want(t, pull, "served")
	must(t, push.Close())
}

// silentTold: and connections that have shaken hands live on when the time for that is over.
func silentTold(t *testing.T, engine string) {
	pull := bindWith(t, engine, transport.Options{HandshakeTimeout: 300 * time.Millisecond})
	first := pair{engine, engine, false}.join(t, pull, transport.Options{DialTimeout: 250 * time.Millisecond})
	e := endpoint(t)
	bound := make(chan transport.Push, 1)
	go func() {
		push, err := transport.BindPush(background, engine, e, transport.Options{HandshakeTimeout: 300 * time.Millisecond})
		if err != nil {
			t.Error(err)
		}
		bound <- push
	}()
	connected, err := transport.ConnectPull(background, engine, e, transport.Options{DialTimeout: 250 * time.Millisecond})
	must(t, err)
	second := <-bound

	silent := rawPeer(t, pull.Endpoint())
	if pe := wantPeerError(t, pull, "no handshake within 300ms"); !errors.Is(pe, os.ErrDeadlineExceeded) || pe.Peer != 2 {
		t.Fatalf("peer %d: %v", pe.Peer, pe)
	}
	wantClosed(t, silent)
	wantService(t, engine, pull)
	for push, pull := range map[transport.Push]transport.Pull{first: pull, second: connected} {
		must(t, push.Send([]byte("alive")))
		must(t, push.Flush())
		want(t, pull, "alive")
		must(t, push.Close())
	}
	must(t, connected.Close())
}

func silentWaits(t *testing.T, engine string) {
	pull := bindWith(t, engine, transport.Options{HandshakeTimeout: time.Hour})
	rawPeer(t, pull.Endpoint())
	wantService(t, engine, pull)
}

// The library shakes hands with one after the other.
func silentBlocks(t *testing.T, engine string) {
	pull := bindWith(t, engine, transport.Options{HandshakeTimeout: time.Hour})
	rawPeer(t, pull.Endpoint())
	_, err := transport.Connect(background, "zmtp", pull.Endpoint(), transport.Options{DialTimeout: 50 * time.Millisecond})
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("beside a silent client: %v; the exception in doc.go is none any more", err)
	}
}

func garbage(t *testing.T, engine string) {
	pull := bindWith(t, engine, transport.Options{})
	bad := rawPeer(t, pull.Endpoint())
	write(t, bad, []byte("GET / HTTP/1.1\r\nHost: a-name-long-enough-to-fill-a-whole-greeting\r\n\r\n"))
	if pe := wantPeerError(t, pull, "reeting"); pe.Peer != 1 {
		t.Fatalf("peer %d dropped; want 1", pe.Peer)
	}
	wantClosed(t, bad)
	probe := rawPeer(t, pull.Endpoint())
	must(t, probe.Close()) // says nothing and leaves: no error
	wantService(t, engine, pull)
}

// garbageAtPush: a client that is no Pull, or says nothing, does not end the wait for one; without one it is named.
func garbageAtPush(t *testing.T, engine string) {
	e := endpoint(t)
	bound := make(chan error, 1)
	var push transport.Push
	go func() {
		var err error
		push, err = transport.BindPush(background, engine, e, transport.Options{HandshakeTimeout: 300 * time.Millisecond})
		bound <- err
	}()
	wantClosed(t, dialUntilThere(t, e)) // silent
	bad := dialUntilThere(t, e)
	write(t, bad, []byte(strings.Repeat("garbage!", 8)))
	wantClosed(t, bad)
	pull, err := transport.ConnectPull(background, engine, e, transport.Options{})
	must(t, errors.Join(err, <-bound))
	must(t, push.Send([]byte("x")))
	must(t, push.Flush())
	want(t, pull, "x")
	must(t, errors.Join(push.Close(), pull.Close()))

	go func() {
		_, err := transport.BindPush(background, engine, e, transport.Options{DialTimeout: 100 * time.Millisecond})
		bound <- err
	}()
	write(t, dialUntilThere(t, e), []byte(strings.Repeat("garbage!", 8)))
	if err := <-bound; !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "no Pull connected within 100ms") || !strings.Contains(err.Error(), e) {
		t.Fatalf("without a Pull: %v", err)
	}
	if exists(t, e) {
		t.Fatal("a socket file is left")
	}
}

func dialUntilThere(t *testing.T, e string) *net.UnixConn {
	t.Helper()
	for end := time.Now().Add(hang); time.Now().Before(end); {
		c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path(e), Net: "unix"})
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
			must(t, c.SetDeadline(time.Now().Add(hang)))
			return c
		}
	}
	t.Fatal("nobody listens")
	return nil
}

// tornBy sends a frame's beginning and leaves.
func tornBy(t *testing.T, engine string, bytes []byte) transport.Pull {
	t.Helper()
	pull := bindWith(t, engine, transport.Options{})
	c := rawPeer(t, pull.Endpoint())
	write(t, c, hello(), frame(0, "whole"), bytes)
	want(t, pull, "whole")
	_, err := io.ReadFull(c, make([]byte, len(hello()))) // unread, it would make the end a reset
	must(t, err)
	must(t, c.CloseWrite())
	return pull
}

func torn(t *testing.T, engine string) {
	for _, n := range []int{1, 2, 5} {
		wantPeerError(t, tornBy(t, engine, frame(0, "four")[:n]), "in mid-frame")
	}
}

// What the library reads behind the header is a clean end to it when there is not one byte of the body.
func tornUntold(t *testing.T, engine string) {
	wantPeerError(t, tornBy(t, engine, frame(0, "four")[:5]), "unexpected EOF")
	pull := tornBy(t, engine, frame(0, "four")[:2])
	wantService(t, engine, pull) // comes after it, in the library's queue of one
	wantEmpty(t, pull)
}

func multipart(t *testing.T, engine string) {
	pull := bindWith(t, engine, transport.Options{})
	c := rawPeer(t, pull.Endpoint())
	write(t, c, hello(), frame(1, "one"), frame(0, "two"), frame(0, "next"))
	wantPeerError(t, pull, "a multipart message")
	wantService(t, engine, pull)
}

func multipartStays(t *testing.T, engine string) {
	pull := bindWith(t, engine, transport.Options{})
	c := rawPeer(t, pull.Endpoint())
	write(t, c, hello(), frame(1, "one"), frame(0, "two"), frame(0, "next"))
	wantPeerError(t, pull, "multipart message of 2 frames")
	want(t, pull, "next")
}

var (
	badReady = append(zmtp.AppendHello(nil, "PUSH")[:64:64], frame(4, "\x05READY\x03abc")...)
	tooLarge = append(zmtp.AppendHello(nil, "PUSH"), 2, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
)

func dropsFor(t *testing.T, engine string, said []byte, reason string) {
	t.Helper()
	pull := bindWith(t, engine, transport.Options{})
	write(t, rawPeer(t, pull.Endpoint()), said)
	wantPeerError(t, pull, reason)
	wantService(t, engine, pull)
}

func malformedReady(t *testing.T, engine string) { dropsFor(t, engine, badReady, "malformed property") }

func oversize(t *testing.T, engine string) { dropsFor(t, engine, tooLarge, "at most") }

func malformedReadyKills(t *testing.T, engine string) { killedBy(t, engine, badReady, "out of range") }

func oversizeKills(t *testing.T, engine string) {
	killedBy(t, engine, tooLarge, "makeslice: len out of range")
}

// killedBy shows that a client's bytes end the process of the Pull, by a panic in the library.
func killedBy(t *testing.T, engine string, said []byte, reason string) {
	t.Helper()
	e := endpoint(t)
	cmd := consumerCommand[engine]("bind", e)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	must(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	_, err := dialUntilThere(t, e).Write(said)
	must(t, err)
	defer time.AfterFunc(hang, func() { _ = cmd.Process.Kill() }).Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || !strings.Contains(stderr.String(), reason) {
		t.Fatalf("the Pull's process ends with %v\n%s\nwant a panic: %s; without one the exception in doc.go is none any more", err, stderr.String(), reason)
	}
}

const ping, pong = "\x04PING\x00\x05ctx", "\x04PONGctx"

// heard is all that a Pull says to a client that sends a PING and a message, until the Pull is closed.
func heardFromPull(t *testing.T, engine string) string {
	t.Helper()
	pull := bindWith(t, engine, transport.Options{})
	c := rawPeer(t, pull.Endpoint())
	write(t, c, hello(), frame(4, ping), frame(0, "behind it"))
	want(t, pull, "behind it")
	must(t, pull.Close())
	said, err := io.ReadAll(c)
	must(t, err)
	return string(said)
}

func pullAnswers(t *testing.T, engine string) {
	if said := heardFromPull(t, engine); !strings.HasSuffix(said, string(frame(4, pong))) {
		t.Fatalf("the Pull says %q; want a PONG at the end", said)
	}
}

func pullAnswersNot(t *testing.T, engine string) {
	if said := heardFromPull(t, engine); strings.Contains(said, "PONG") {
		t.Fatalf("the Pull says %q; the exception in doc.go is none any more", said)
	}
}

// heardFromPush is all that a Push says to a Pull that sends a PING before the Push sends a message and closes.
func heardFromPush(t *testing.T, engine string) string {
	t.Helper()
	e := endpoint(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path(e), Net: "unix"})
	must(t, err)
	defer l.Close()
	said := make(chan string, 1)
	pinged := make(chan struct{})
	go func() {
		defer close(said)
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = c.Write(append(zmtp.AppendHello(nil, "PULL"), frame(4, ping)...))
		close(pinged)
		all, _ := io.ReadAll(c)
		said <- string(all)
	}()
	push, err := transport.Connect(background, engine, e, transport.Options{})
	must(t, err)
	<-pinged
	must(t, push.Send([]byte("behind it")))
	must(t, push.Close())
	return <-said
}

func pushAnswers(t *testing.T, engine string) {
	if said, end := heardFromPush(t, engine), string(frame(4, pong))+string(frame(0, "behind it")); !strings.HasSuffix(said, end) {
		t.Fatalf("the Push says %q; want %q at the end", said, end)
	}
}

func pushAnswersNot(t *testing.T, engine string) {
	if said := heardFromPush(t, engine); strings.Contains(said, "PONG") || !strings.HasSuffix(said, "behind it") {
		t.Fatalf("the Push says %q; the exception in doc.go is none any more", said)
	}
}

// emptyTrue: what was flushed is there, and ErrEmpty is not given before it was received.
func emptyTrue(t *testing.T, engine string) {
	if n := falseEmpties(t, engine); n > 0 {
		t.Fatalf("ErrEmpty %d times after a Flush", n)
	}
}

func emptyFalse(t *testing.T, engine string) {
	if n := falseEmpties(t, engine); n == 0 {
		t.Fatal("ErrEmpty was true 2000 times after a Flush; the exception in doc.go is none any more")
	}
}

func falseEmpties(t *testing.T, engine string) (n int) {
	push, pull := pair{engine, engine, false}.open(t, transport.Options{})
	for i := range 2000 {
		must(t, push.Send([]byte(name(i))))
		must(t, push.Flush())
		msg, err := pull.TryRecv()
		if errors.Is(err, transport.ErrEmpty) {
			n++
			msg, err = recv(t, pull)
		}
		if err != nil || string(msg) != name(i) {
			t.Fatalf("message %d: %q, %v", i, msg, err)
		}
	}
	return n
}

func goneToldByFlush(t *testing.T, engine string) {
	push, pull := pair{engine, engine, false}.open(t, transport.Options{})
	must(t, pull.Close())
	if err := push.Flush(); !errors.Is(err, transport.ErrBroken) {
		t.Fatalf("Flush gives %v; want ErrBroken", err)
	}
}

func goneToldBySend(t *testing.T, engine string) {
	push, pull := pair{engine, engine, false}.open(t, transport.Options{})
	must(t, pull.Close())
	if err := push.Flush(); err != nil {
		t.Fatalf("Flush gives %v; the exception in doc.go is none any more", err)
	}
	if err := push.Send(fmt.Append(nil, "x")); !errors.Is(err, transport.ErrBroken) {
		t.Fatalf("Send gives %v; want ErrBroken", err)
	}
}

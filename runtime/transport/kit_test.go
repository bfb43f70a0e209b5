package transport_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/transport/zmtp"
)

var background = context.Background()

// hang is far beyond what any wait here needs: it turns a hang into a failure.
const hang = 20 * time.Second

// endpoint has a short path: t.TempDir's, with the test's name in it, may not fit a socket.
func endpoint(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ft")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return "ipc://" + filepath.Join(dir, "s")
}

func bind(t testing.TB, opt transport.Options) transport.Pull {
	t.Helper()
	return bindAt(t, endpoint(t), opt)
}

func bindAt(t testing.TB, endpoint string, opt transport.Options) transport.Pull {
	t.Helper()
	pull, err := transport.Bind("zmtp", endpoint, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pull.Close() })
	return pull
}

// connect drives the pull while the push shakes hands with it.
func connect(t testing.TB, pull transport.Pull, opt transport.Options) transport.Push {
	t.Helper()
	ctx, cancel := context.WithCancel(background)
	var push transport.Push
	var err error
	go func() {
		defer cancel()
		push, err = transport.Connect(background, "zmtp", pull.Endpoint(), opt)
	}()
	if msg, rerr := pull.Recv(ctx); !errors.Is(rerr, context.Canceled) {
		t.Fatalf("while a peer connects Recv gives %q, %v", msg, rerr)
	}
	must(t, err)
	t.Cleanup(func() { _ = push.Close() })
	wantEmpty(t, pull) // the push is content with the pull's hello; its own may still wait to be read
	return push
}

// recv is Recv with a guard against a hang.
func recv(t testing.TB, pull transport.Pull) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(background, hang)
	defer cancel()
	msg, err := pull.Recv(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("nothing came within %v", hang)
	}
	return msg, err
}

func want(t testing.TB, pull transport.Pull, wanted string) {
	t.Helper()
	msg, err := recv(t, pull)
	if err != nil || string(msg) != wanted {
		t.Fatalf("got %.60q (%d bytes), %v; want %.60q (%d bytes)", msg, len(msg), err, wanted, len(wanted))
	}
}

// wantPeerError wants the next thing received to be a dropped peer, for this reason.
func wantPeerError(t testing.TB, pull transport.Pull, reason string) *transport.PeerError {
	t.Helper()
	msg, err := recv(t, pull)
	var pe *transport.PeerError
	if !errors.As(err, &pe) || !strings.Contains(err.Error(), reason) || pe.Endpoint != pull.Endpoint() {
		t.Fatalf("got %.60q, %v; want a PeerError with %q", msg, err, reason)
	}
	return pe
}

func wantEmpty(t testing.TB, pull transport.Pull) {
	t.Helper()
	if msg, err := pull.TryRecv(); !errors.Is(err, transport.ErrEmpty) {
		t.Fatalf("got %.60q, %v; want ErrEmpty", msg, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func path(endpoint string) string { return strings.TrimPrefix(endpoint, "ipc://") }

// rawPeer is a client that writes what it likes.
func rawPeer(t testing.TB, endpoint string) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path(endpoint), Net: "unix"})
	must(t, err)
	must(t, c.SetDeadline(time.Now().Add(hang)))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func write(t testing.TB, w io.Writer, parts ...[]byte) {
	t.Helper()
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	_, err := w.Write(all)
	must(t, err)
}

// hello is what a pusher says first.
func hello() []byte { return zmtp.AppendHello(nil, "PUSH") }

// frame writes a frame by hand, apart from the code under test.
func frame(flags byte, body string) []byte {
	b := []byte{flags}
	if flags&2 != 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(len(body)))
	} else {
		b = append(b, byte(len(body)))
	}
	return append(b, body...)
}

func payload(rng *rand.Rand, n int) []byte {
	b := make([]byte, n+8)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], rng.Uint64())
	}
	return b[:n]
}

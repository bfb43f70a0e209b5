package transport_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

func newPoller(t *testing.T, pulls ...transport.Pull) transport.Poller {
	t.Helper()
	poller, err := transport.NewPoller(pulls...)
	must(t, err)
	t.Cleanup(func() { _ = poller.Close() })
	return poller
}

func four(t *testing.T, opt transport.Options) (pulls []transport.Pull, pushes []transport.Push) {
	t.Helper()
	for range 4 {
		pull := bind(t, opt)
		pulls, pushes = append(pulls, pull), append(pushes, connect(t, pull, transport.Options{}))
	}
	return pulls, pushes
}

// wantReady polls without waiting.
func wantReady(t *testing.T, poller transport.Poller, wanted ...int) {
	t.Helper()
	ready, err := poller.Wait(background, 0)
	must(t, err)
	if !slices.Equal(ready, wanted) {
		t.Fatalf("ready %v; want %v", ready, wanted)
	}
}

func TestPollerOrderAndLevel(t *testing.T) {
	pulls, pushes := four(t, transport.Options{})
	poller := newPoller(t, pulls...)
	wantReady(t, poller)
	for _, i := range []int{3, 1} {
		must(t, pushes[i].Send([]byte("a")))
		must(t, pushes[i].Send([]byte("b")))
		must(t, pushes[i].Flush())
	}
	wantReady(t, poller, 1, 3)
	wantReady(t, poller, 1, 3) // until they are received
	want(t, pulls[1], "a")
	wantReady(t, poller, 1, 3) // "b" is in the buffer, not in the kernel
	want(t, pulls[1], "b")
	wantReady(t, poller, 3)
	must(t, pushes[0].Send([]byte("c")))
	must(t, pushes[0].Flush())
	wantReady(t, poller, 0, 3)
}

func TestPollerKeepsSlices(t *testing.T) {
	pulls, pushes := four(t, transport.Options{})
	poller := newPoller(t, pulls...)
	must(t, pushes[0].Send([]byte("keep me")))
	must(t, pushes[0].Flush())
	held, err := recv(t, pulls[0])
	must(t, err)
	for i := range 4 {
		must(t, pushes[i].Send([]byte("other..")))
		must(t, pushes[i].Flush())
	}
	wantReady(t, poller, 0, 1, 2, 3)
	want(t, pulls[1], "other..")
	if string(held) != "keep me" {
		t.Fatalf("the slice has become %q", held)
	}
}

func TestPollerSeesEvents(t *testing.T) {
	pulls, pushes := four(t, transport.Options{HandshakeTimeout: 30 * time.Millisecond})
	poller := newPoller(t, pulls...)
	bad := rawPeer(t, pulls[2].Endpoint())
	wantReady(t, poller, 2) // somebody knocks
	wantEmpty(t, pulls[2])
	write(t, bad, []byte("garbage"))
	wantReady(t, poller, 2)
	wantPeerError(t, pulls[2], "greeting starts with")
	silent := rawPeer(t, pulls[1].Endpoint())
	wantReady(t, poller, 1)
	wantEmpty(t, pulls[1])
	ready, err := poller.Wait(background, hang)
	if err != nil || !slices.Equal(ready, []int{1}) {
		t.Fatalf("while a handshake runs out of time: %v, %v", ready, err)
	}
	if pe := wantPeerError(t, pulls[1], "no handshake within 30ms"); !errors.Is(pe, os.ErrDeadlineExceeded) {
		t.Fatal(pe)
	}
	wantClosed(t, silent)
	wantReady(t, poller)
	must(t, pushes[3].Close())
	wantReady(t, poller, 3) // a farewell may be a message
	wantEmpty(t, pulls[3])
	wantReady(t, poller)
}

func TestPollerTimeAndContext(t *testing.T) {
	pulls, _ := four(t, transport.Options{})
	poller := newPoller(t, pulls...)
	ready, err := poller.Wait(background, 3*time.Millisecond)
	if err != nil || len(ready) != 0 {
		t.Fatalf("at the time-out: %v, %v", ready, err)
	}
	for range 20 {
		ctx, cancel := context.WithCancel(background)
		go cancel()
		if ready, err := poller.Wait(ctx, -1); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled: %v, %v", ready, err)
		}
	}
	must(t, pulls[2].Close())
	if _, err := poller.Wait(background, 0); !errors.Is(err, transport.ErrClosed) || !strings.Contains(err.Error(), "pull 2") {
		t.Fatalf("with a closed pull: %v", err)
	}
	must(t, poller.Close())
	must(t, poller.Close())
	if _, err := poller.Wait(background, 0); !errors.Is(err, transport.ErrClosed) {
		t.Fatalf("closed: %v", err)
	}
}

type foreign struct{ transport.Pull }

func TestPollerOfNothing(t *testing.T) {
	if _, err := transport.NewPoller(); err == nil {
		t.Error("a poller of no pulls")
	}
	_, err := transport.NewPoller(bind(t, transport.Options{}), foreign{})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("pull 1 (%T)", foreign{})) {
		t.Errorf("a foreign pull: %v", err)
	}
}

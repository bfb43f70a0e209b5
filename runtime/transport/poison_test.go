package transport_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

func numbered(i, size int) []byte {
	return binary.BigEndian.AppendUint32(bytes.Repeat([]byte{byte(i)}, size), uint32(i))
}

// wantPoisoned wants that everything gives the first error again.
func wantPoisoned(t *testing.T, push transport.Push, first error, cause error) {
	t.Helper()
	if !errors.Is(first, transport.ErrBroken) || !errors.Is(first, cause) {
		t.Fatalf("error %v; want ErrBroken and %v", first, cause)
	}
	for range 3 {
		if err := push.Send([]byte("later")); err != first {
			t.Fatalf("Send on a poisoned push: %v", err)
		}
		if err := push.Flush(); err != first {
			t.Fatalf("Flush on a poisoned push: %v", err)
		}
	}
	if err := push.Close(); err != first {
		t.Fatalf("Close of a poisoned push: %v", err)
	}
}

// A reader that stalls: the sender errs at its deadline, and what arrives later is a run of whole messages.
func TestStalledReader(t *testing.T) {
	for _, size := range []int{500, 40 << 10, 3 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			pull := bind(t, transport.Options{})
			push := connect(t, pull, transport.Options{SendTimeout: 30 * time.Millisecond})
			sent, first := 0, error(nil)
			for ; first == nil; sent++ {
				first = push.Send(numbered(sent, size))
			}
			wantPoisoned(t, push, first, os.ErrDeadlineExceeded)
			got := 0
			for ; ; got++ {
				msg, err := recv(t, pull)
				var pe *transport.PeerError
				if errors.As(err, &pe) {
					break // the end, in mid-frame
				}
				must(t, err)
				if !bytes.Equal(msg, numbered(got, size)) {
					t.Fatalf("message %d is another, or torn", got)
				}
			}
			if got >= sent || (size < 100<<10 && got == 0) {
				t.Fatalf("%d messages arrive of %d, the last of which failed", got, sent)
			}
			wantEmpty(t, pull)
		})
	}
}

// A reader that wakes up before the deadline costs nothing.
func TestBlockedThenRead(t *testing.T) {
	pull := bind(t, transport.Options{})
	push := connect(t, pull, transport.Options{})
	const n = 2000
	sent := make(chan error, 1)
	go func() {
		for i := range n {
			if err := push.Send(numbered(i, 5000)); err != nil {
				sent <- err
				return
			}
		}
		sent <- push.Flush()
	}()
	for i := range n {
		msg, err := recv(t, pull)
		must(t, err)
		if !bytes.Equal(msg, numbered(i, 5000)) {
			t.Fatalf("message %d is another", i)
		}
	}
	must(t, <-sent)
}

func TestReaderGone(t *testing.T) {
	pull := bind(t, transport.Options{})
	push := connect(t, pull, transport.Options{})
	must(t, pull.Close())
	must(t, push.Send([]byte("x"))) // queued
	wantPoisoned(t, push, push.Flush(), syscall.EPIPE)
}

// A reader that goes with messages unread, while the sender is blocked.
func TestReaderGoneWhileBlocked(t *testing.T) {
	pull := bind(t, transport.Options{})
	push := connect(t, pull, transport.Options{})
	failed := make(chan error, 1)
	go func() {
		for {
			if err := push.Send(numbered(1, 100<<10)); err != nil {
				failed <- err
				return
			}
		}
	}()
	_, err := recv(t, pull)
	must(t, err)
	must(t, pull.Close())
	first := <-failed
	if errors.Is(first, syscall.ECONNRESET) {
		wantPoisoned(t, push, first, syscall.ECONNRESET)
	} else {
		wantPoisoned(t, push, first, syscall.EPIPE)
	}
}

func TestTooLargeToSend(t *testing.T) {
	pull := bind(t, transport.Options{})
	push := connect(t, pull, transport.Options{MaxFrame: 1000})
	must(t, push.Send(make([]byte, 1000)))
	err := push.Send(make([]byte, 1001))
	if err == nil || errors.Is(err, transport.ErrBroken) || !bytes.Contains([]byte(err.Error()), []byte("1001 bytes; at most 1000")) {
		t.Fatalf("error %v", err)
	}
	must(t, push.Send([]byte("goes on")))
	must(t, push.Flush())
	want(t, pull, string(make([]byte, 1000)))
	want(t, pull, "goes on")
}

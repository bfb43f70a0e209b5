package transport_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// inOrder: 20,000 messages over the matrix of our own engines, a million over the whole in the long form.
func inOrder(t *testing.T, p pair) {
	n := each(20_000, 1_000_000)
	push, pull := p.open(t, transport.Options{})
	sent := make(chan error, 1)
	go func() { sent <- newScript(1).send(push, n) }()
	expect := newScript(1)
	for i := range n {
		msg, err := recv(t, pull)
		must(t, err)
		if !bytes.Equal(msg, expect.next()) {
			t.Fatalf("message %d is not the one sent: %.40q (%d bytes)", i, msg, len(msg))
		}
	}
	must(t, <-sent)
	must(t, push.Close())
	if more := rest(t, pull); len(more) > 0 {
		t.Fatalf("%d messages more than were sent; the first is %.40q", len(more), more[0])
	}
}

// blob is made once: a random number for each byte takes its time.
var blob = sync.OnceValue(func() []byte { return payload(rand.New(rand.NewPCG(3, 4)), 64<<20+100) })

func allSizes(t *testing.T, p pair) {
	sizes := []int{0, 1, 0, 255, 256, 16<<10 - 1, 64 << 10, 5<<20 + 1, 64 << 20, 0, 3}
	push, pull := p.open(t, transport.Options{})
	sent := make(chan error, 1)
	go func() {
		for i, n := range sizes {
			if err := push.Send(blob()[i : i+n]); err != nil {
				sent <- err
				return
			}
		}
		sent <- push.Flush()
	}()
	for i, n := range sizes {
		msg, err := recv(t, pull)
		must(t, err)
		if !bytes.Equal(msg, blob()[i:i+n]) {
			t.Fatalf("message %d of %d bytes arrives with %d bytes, or with others", i, n, len(msg))
		}
	}
	must(t, <-sent)
	if p.push == pyzmq {
		return // it has no limit
	}
	if err := push.Send(blob()[:64<<20+1]); err == nil || errors.Is(err, transport.ErrBroken) {
		t.Fatalf("a message of more than 64 MiB: %v", err)
	}
}

// stalled: nobody receives. What the sender gets rid of until its deadline fits the sockets and the few
// messages that a receiver reads ahead, and a part of it, from the first on, arrives afterwards.
func stalled(t *testing.T, p pair) {
	push, pull := p.open(t, transport.Options{SendTimeout: 50 * time.Millisecond})
	const size, bound = 40 << 10, 8 << 20
	var first error
	accepted := 0
	for ; first == nil; accepted++ {
		if accepted*size > bound {
			t.Fatalf("%d bytes are accepted and nobody reads", accepted*size)
		}
		first = push.Send(numbered(accepted, size))
	}
	accepted--
	wantPoisoned(t, push, first, os.ErrDeadlineExceeded)
	arrived := rest(t, pull)
	if len(arrived) == 0 || len(arrived) > accepted {
		t.Fatalf("%d messages arrive of %d accepted", len(arrived), accepted)
	}
	for i, msg := range arrived {
		if !bytes.Equal(msg, numbered(i, size)) {
			t.Fatalf("message %d is another, or torn", i)
		}
	}
}

// acknowledged: whoever closes before the other side has said that it has everything is told so.
func acknowledged(t *testing.T, p pair) {
	const n = 100
	for _, patient := range []bool{true, false} {
		push, pull := p.open(t, transport.Options{})
		c := counted(t, push)
		for i := range n {
			_, err := c.Send([]byte(name(i)))
			must(t, err)
		}
		must(t, c.Flush())
		var acked uint64
		for i := range n {
			want(t, pull, name(i))
			if patient || i < n/2 {
				acked = uint64(i + 1)
				must(t, c.Ack(acked))
			}
		}
		var unacked *transport.UnackedError
		err := c.Close()
		if patient {
			must(t, err)
		} else if !errors.As(err, &unacked) || unacked.Range != (transport.Range{First: acked + 1, Last: n}) {
			t.Fatalf("Close before the end is acknowledged: %v", err)
		}
		if more := rest(t, pull); len(more) > 0 {
			t.Fatalf("after the end comes %q", more)
		}
	}
}

// noLeak opens, uses and closes: a thousand times over both sides that may bind.
func noLeak(t *testing.T, p pair) {
	e := endpoint(t)
	once := func() {
		push, pull := p.openAt(t, e, transport.Options{})
		for range 30 { // most of them are never received
			must(t, push.Send([]byte("x")))
		}
		must(t, push.Flush())
		want(t, pull, "x")
		must(t, pull.Close())
		_ = push.Close() // it may notice that the Pull has gone
	}
	once()
	fds, goroutines := descriptors(t), runtime.NumGoroutine()
	for range 500 {
		once()
	}
	settle(t, goroutines)
	if n := descriptors(t); n != fds {
		t.Fatalf("%d descriptors after 500 cycles; %d before", n, fds)
	}
	if exists(t, e) {
		t.Fatal("a socket file is left")
	}
}

// fair: a pusher that never stops does not keep another waiting.
func fair(t *testing.T, p pair) {
	pull, err := openers[p.pull].bind(t, endpoint(t), transport.Options{})
	must(t, err)
	t.Cleanup(func() { _ = pull.Close() })
	pushes := make([]transport.Push, 4)
	for i := range pushes {
		pushes[i] = p.join(t, pull, transport.Options{})
		t.Cleanup(func() { _ = pushes[i].Close() })
	}
	const held = 20
	bound := 6 * held
	if p.pull == "zmq4" {
		bound *= 200 // when the quiet one's goroutine runs is the Go scheduler's matter
	}
	say := func(i int) {
		must(t, pushes[i].Send([]byte(strconv.Itoa(i))))
		must(t, pushes[i].Flush())
	}
	for range held {
		for i := range 3 {
			say(i)
		}
	}
	loud := []string{"0", "1", "2"}
	say(3)
	for before := 0; ; before++ {
		say(before % 3)
		msg, err := recv(t, pull)
		must(t, err)
		if string(msg) == "3" {
			return
		}
		if !slices.Contains(loud, string(msg)) {
			t.Fatalf("got %q", msg)
		}
		if before > bound {
			t.Fatalf("%d messages of the loud ones came before the quiet one's", before)
		}
	}
}

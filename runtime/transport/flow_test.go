package transport_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// script is what pusher id sends, message by message, the same each time it is made.
type script struct {
	id  int
	n   int
	rng *rand.Rand
}

func newScript(id int) *script { return &script{id: id, rng: rand.New(rand.NewPCG(uint64(id), 11))} }

func (s *script) next() []byte {
	size := s.rng.IntN(600)
	if s.rng.IntN(500) == 0 {
		size = s.rng.IntN(100 << 10)
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(s.id))
	head = binary.BigEndian.AppendUint32(head, uint32(s.n))
	s.n++
	return append(head, payload(s.rng, size)...)
}

func (s *script) send(push transport.Push, n int) error {
	coin := rand.New(rand.NewPCG(uint64(s.id), 12))
	for range n {
		if err := push.Send(s.next()); err != nil {
			return err
		}
		if coin.IntN(100) == 0 {
			if err := push.Flush(); err != nil {
				return err
			}
		}
	}
	return push.Flush()
}

func TestOrderAndCompleteness(t *testing.T) {
	const total = 20000
	for _, pushers := range []int{1, 4} {
		t.Run(fmt.Sprint(pushers), func(t *testing.T) {
			pull := bind(t, transport.Options{})
			sent := make(chan error, pushers)
			expect := make([]*script, pushers)
			pushes := make([]transport.Push, pushers)
			for id := range pushers {
				pushes[id], expect[id] = connect(t, pull, transport.Options{}), newScript(id)
			}
			for id, push := range pushes {
				go func() { sent <- newScript(id).send(push, total/pushers) }()
			}
			for i := range total {
				msg, err := recv(t, pull)
				must(t, err)
				id := int(binary.BigEndian.Uint32(msg))
				if id >= pushers || !bytes.Equal(msg, expect[id].next()) {
					t.Fatalf("message %d (pusher %d, its number %d) is not the next one of that pusher", i, id, binary.BigEndian.Uint32(msg[4:]))
				}
			}
			for range pushers {
				must(t, <-sent)
			}
			wantEmpty(t, pull)
		})
	}
}

func TestSizes(t *testing.T) {
	sizes := []int{0, 1, 255, 256, 64 << 10, 5 << 20, 0, 16<<10 - 1, 16 << 10, 5<<20 + 1, 3}
	for _, burst := range []int{1, 4096, 0, 1 << 20} {
		t.Run(fmt.Sprint(burst), func(t *testing.T) {
			pull := bind(t, transport.Options{})
			push := connect(t, pull, transport.Options{Burst: burst})
			sent := make(chan error, 1)
			go func() {
				rng := rand.New(rand.NewPCG(1, 2))
				for _, n := range sizes {
					msg := payload(rng, n)
					if err := push.Send(msg); err != nil {
						sent <- err
						return
					}
					clear(msg) // the caller's again
				}
				sent <- push.Flush()
			}()
			rng := rand.New(rand.NewPCG(1, 2))
			for i, n := range sizes {
				msg, err := recv(t, pull)
				must(t, err)
				if w := payload(rng, n); !bytes.Equal(msg, w) {
					t.Fatalf("message %d of %d bytes arrives with %d bytes, or with others", i, n, len(msg))
				}
				if cap(msg) != len(msg) {
					t.Fatalf("a message of %d bytes has capacity %d", len(msg), cap(msg))
				}
			}
			must(t, <-sent)
		})
	}
}

// Flush returning nil means that the reader can read: no 'empty' is allowed after it.
func TestFlushedIsReadable(t *testing.T) {
	pull := bind(t, transport.Options{})
	push := connect(t, pull, transport.Options{})
	for i := range 3000 {
		wantEmpty(t, pull)
		sent := fmt.Sprint("message ", i)
		must(t, push.Send([]byte(sent)))
		wantEmpty(t, pull) // queued only
		must(t, push.Flush())
		if msg, err := pull.TryRecv(); err != nil || string(msg) != sent {
			t.Fatalf("after Flush %d: %q, %v", i, msg, err)
		}
	}
}

// A pusher that never stops does not keep the others waiting, whichever way the messages are received.
func TestTurns(t *testing.T) {
	t.Run("Recv", func(t *testing.T) {
		testTurns(t, func(pull transport.Pull) ([]byte, error) { return recv(t, pull) })
	})
	t.Run("Wait", func(t *testing.T) {
		var poller transport.Poller
		testTurns(t, func(pull transport.Pull) ([]byte, error) {
			if poller == nil {
				poller = newPoller(t, pull)
			}
			for {
				if _, err := poller.Wait(background, hang); err != nil {
					return nil, err
				}
				if msg, err := pull.TryRecv(); !errors.Is(err, transport.ErrEmpty) {
					return msg, err
				}
			}
		})
	})
}

// The loud one sends a message for each that is received, so that the kernel always holds more of it.
func testTurns(t *testing.T, next func(transport.Pull) ([]byte, error)) {
	pull := bind(t, transport.Options{})
	loud, quiet := connect(t, pull, transport.Options{}), connect(t, pull, transport.Options{})
	shout := func() {
		must(t, loud.Send([]byte("loud")))
		must(t, loud.Flush())
	}
	const held = 20
	for range held {
		shout()
	}
	if msg, err := next(pull); err != nil || string(msg) != "loud" {
		t.Fatalf("got %q, %v", msg, err)
	}
	must(t, quiet.Send([]byte("quiet")))
	must(t, quiet.Flush())
	for before := 0; ; before++ {
		shout()
		msg, err := next(pull)
		must(t, err)
		if string(msg) == "quiet" {
			return
		}
		if before > 3*held {
			t.Fatalf("%d messages of the loud one came before the quiet one's", before)
		}
	}
}

func TestLeavingIsNoError(t *testing.T) {
	pull := bind(t, transport.Options{})
	stays := connect(t, pull, transport.Options{})
	for i := range 5 {
		leaves := connect(t, pull, transport.Options{})
		must(t, leaves.Send([]byte("last words")))
		must(t, leaves.Close())
		want(t, pull, "last words")
		must(t, stays.Send([]byte{byte('0' + i)}))
		must(t, stays.Flush())
		want(t, pull, string(rune('0'+i)))
		wantEmpty(t, pull)
	}
}

// A peer that leaves with answers to its PINGs unread resets the connection: its messages come all the same.
func TestLeavingWithUnreadPong(t *testing.T) {
	pull := bind(t, transport.Options{})
	c := rawPeer(t, pull.Endpoint())
	write(t, c, hello(), frame(4, "\x04PING\x00\x05"))
	wantEmpty(t, pull)
	write(t, c, frame(0, "one"), frame(0, "two"))
	must(t, c.Close())
	want(t, pull, "one")
	want(t, pull, "two")
	wantEmpty(t, pull)
}

func TestAfterClose(t *testing.T) {
	pull := bind(t, transport.Options{})
	push := connect(t, pull, transport.Options{})
	must(t, push.Close())
	must(t, push.Close())
	for what, err := range map[string]error{"Send": push.Send(nil), "Flush": push.Flush()} {
		if !errors.Is(err, transport.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	must(t, pull.Close())
	must(t, pull.Close())
	if _, err := pull.Recv(background); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("Recv after Close: %v", err)
	}
	if _, err := pull.TryRecv(); !errors.Is(err, transport.ErrClosed) {
		t.Errorf("TryRecv after Close: %v", err)
	}
}

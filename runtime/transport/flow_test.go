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

// A pusher that never stops does not keep the others waiting.
func TestTurns(t *testing.T) {
	pull := bind(t, transport.Options{})
	loud, quiet := connect(t, pull, transport.Options{}), connect(t, pull, transport.Options{})
	const n, size = 20000, 4 << 10
	sent := make(chan error, 1)
	go func() {
		for range n {
			if err := loud.Send(make([]byte, size)); err != nil {
				sent <- err
				return
			}
		}
		sent <- loud.Flush()
	}()
	if msg, err := recv(t, pull); err != nil || len(msg) != size {
		t.Fatal(len(msg), err)
	}
	must(t, quiet.Send([]byte("quiet")))
	must(t, quiet.Flush())
	before := 0
	for ; ; before++ {
		msg, err := recv(t, pull)
		must(t, err)
		if string(msg) == "quiet" {
			break
		}
	}
	if most := 3 * (256 << 10) / size; before > most {
		t.Fatalf("%d messages of the loud one came first; at most %d may", before, most)
	}
	for range n - 1 - before {
		_, err := recv(t, pull)
		must(t, err)
	}
	must(t, <-sent)
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

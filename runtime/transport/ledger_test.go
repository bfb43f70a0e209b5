package transport

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// slowLedger is the ledger's dumb twin: a mark for every message.
type slowLedger struct {
	state []byte // by number less one: 's' sent, 'a' acknowledged, 'l' reported as lost
}

func (l *slowLedger) open() (open []uint64) {
	for i, s := range l.state {
		if s == 's' {
			open = append(open, uint64(i+1))
		}
	}
	return open
}

func (l *slowLedger) mark(upTo uint64, as byte) {
	for i := range upTo {
		if l.state[i] == 's' {
			l.state[i] = as
		}
	}
}

// ackable: everything above it is open, it is not above what was sent, and not of an earlier connection.
func (l *slowLedger) ackable(seq uint64) bool {
	if seq > uint64(len(l.state)) || seq > 0 && l.state[seq-1] == 'l' || strings.IndexByte(string(l.state[seq:]), 'l') >= 0 {
		return false
	}
	return strings.IndexByte(string(l.state[seq:]), 'a') < 0
}

func TestLedgerAgainstTwin(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 21))
		var l ledger
		var twin slowLedger
		for step := range 60 {
			switch rng.IntN(5) {
			default:
				twin.state = append(twin.state, 's')
				if seq := l.accept(); seq != uint64(len(twin.state)) {
					t.Fatalf("seed %d step %d: number %d; want %d", seed, step, seq, len(twin.state))
				}
			case 3:
				seq := rng.Uint64N(uint64(len(twin.state)) + 2)
				ok := twin.ackable(seq)
				if err := l.ack(seq); (err == nil) != ok {
					t.Fatalf("seed %d step %d: ack %d of %q: %v; allowed %v", seed, step, seq, twin.state, err, ok)
				}
				if ok {
					twin.mark(seq, 'a')
				}
			case 4:
				if rng.IntN(4) > 0 {
					break
				}
				wantOpen(t, l.renew(), twin.open())
				for i := range twin.state { // acknowledged or not, they are of an earlier connection now
					twin.state[i] = 'l'
				}
			}
			wantOpen(t, l.open(), twin.open())
		}
	}
}

func wantOpen(t *testing.T, got Range, want []uint64) {
	t.Helper()
	if got.Len() != uint64(len(want)) || len(want) > 0 && (got.First != want[0] || got.Last != want[len(want)-1]) {
		t.Fatalf("range %v; want %d", got, want)
	}
	for _, seq := range want {
		if !got.Has(seq) {
			t.Fatalf("range %v has not %d", got, seq)
		}
	}
}

// paper is a Push that keeps what it was given, and breaks when told.
type paper struct {
	lines  []string
	broken error
	closed bool
}

func (p *paper) Send(frame []byte) error {
	if p.broken == nil {
		p.lines = append(p.lines, string(frame))
	}
	return p.broken
}

func (p *paper) Flush() error { return p.broken }

func (p *paper) Close() error {
	p.closed = true
	return p.broken
}

func TestCounted(t *testing.T) {
	ctx := context.Background()
	torn := errors.Join(ErrBroken, errors.New("torn"))
	var papers []*paper
	var refuse error
	c, err := NewCounted(ctx, func(context.Context) (Push, error) {
		if refuse != nil {
			return nil, refuse
		}
		papers = append(papers, &paper{})
		return papers[len(papers)-1], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	send := func(wanted uint64, frame string) {
		t.Helper()
		if seq, err := c.Send([]byte(frame)); err != nil || seq != wanted {
			t.Fatalf("Send gives %d, %v; want %d", seq, err, wanted)
		}
	}
	send(1, "a")
	send(2, "b")
	send(3, "c")
	if err := c.Ack(1); err != nil {
		t.Fatal(err)
	}
	papers[0].broken = torn
	if seq, err := c.Send([]byte("d")); !errors.Is(err, ErrBroken) || seq != 0 {
		t.Fatalf("a Send that fails: %d, %v", seq, err)
	}
	refuse = errors.New("nobody there")
	if lost, err := c.Reconnect(ctx); !errors.Is(err, refuse) || !errors.Is(err, ErrBroken) || lost.Len() != 0 {
		t.Fatalf("a Reconnect that fails: %v, %v", lost, err)
	}
	if _, err := c.Send(nil); !errors.Is(err, refuse) {
		t.Fatalf("without a connection: %v", err)
	}
	if open := c.Unacked(); open != (Range{2, 3}) {
		t.Fatalf("after a Reconnect that failed %v is open", open)
	}
	refuse = nil
	if lost, err := c.Reconnect(ctx); err != nil || lost != (Range{2, 3}) || !papers[0].closed {
		t.Fatalf("Reconnect gives %v, %v; want 2 to 3", lost, err)
	}
	send(4, "d")
	for seq, reason := range map[uint64]string{2: "it was not lost", 5: "the last one accepted is 4"} {
		if err := c.Ack(seq); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("Ack(%d): %v; want %q", seq, err, reason)
		}
	}
	var unacked *UnackedError
	if err := c.Close(); !errors.As(err, &unacked) || unacked.Range != (Range{4, 4}) {
		t.Fatalf("Close with 4 open: %v", err)
	}
	if got := strings.Join(papers[1].lines, ""); got != "d" {
		t.Fatalf("the second connection got %q; want only what was sent over it", got)
	}
	if _, err := c.Send(nil); !errors.Is(err, ErrClosed) {
		t.Fatalf("after Close: %v", err)
	}
}

package fanout

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

var _ Sender = transport.Push(nil)

// consumers are four HTTP workers' sockets.
type consumers struct {
	pulls  []transport.Pull
	poller transport.Poller
}

func listen(t *testing.T) *consumers {
	t.Helper()
	dir := t.TempDir()
	c := &consumers{}
	for i := range 4 {
		pull, err := transport.Bind("zmtp", "ipc://"+filepath.Join(dir, fmt.Sprint("h", i)), transport.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pull.Close() })
		c.pulls = append(c.pulls, pull)
	}
	var err error
	if c.poller, err = transport.NewPoller(c.pulls...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.poller.Close() })
	return c
}

// receive waits for n messages, and gives their rids by consumer. It must run
// while the strategy dials.
func (c *consumers) receive(t *testing.T, n int) [4][]string {
	t.Helper()
	// The deadline is for a message that never comes; nothing is timed.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got [4][]string
	for n > 0 {
		ready, err := c.poller.Wait(ctx, -1)
		if err != nil {
			t.Fatalf("waiting for %d more messages after %q: %v", n, got, err)
		}
		for _, i := range ready {
			for {
				frame, err := c.pulls[i].TryRecv()
				if err == transport.ErrEmpty {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				m, err := wire.DecodeStr(frame)
				if err != nil {
					t.Fatal(err)
				}
				got[i] = append(got[i], m.RIDs...)
				n--
			}
		}
	}
	return got
}

// runBatch makes a strategy over sockets and runs one batch beside the test.
func (c *consumers) runBatch(t *testing.T, name string, m *wire.BatchTokenIDOutput, open func(*wire.Opaque) (wire.Value, error)) (done chan error) {
	t.Helper()
	for i := range m.HTTPWorkerIPCs {
		m.HTTPWorkerIPCs[i] = wire.Some(c.pulls[i%4].Endpoint())
	}
	s, err := New(name, Config{
		Detokenizer: detokenizer.New(fixtureDecoder(t), detokenizer.Options{}),
		Open:        open,
		Dial: func(ipc string) (Sender, error) {
			push, err := transport.Connect(context.Background(), "zmtp", ipc, transport.Options{})
			if err == nil {
				t.Cleanup(func() { push.Close() })
			}
			return push, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	frame := encode(t, m)
	if p, ok := s.(Prepared); ok {
		if err := p.Prepare([][]byte{frame}); err != nil {
			t.Fatal(err)
		}
	}
	done = make(chan error, 1)
	go func() { done <- s.Batch(frame) }()
	return done
}

// TestOverSockets: every strategy, over real sockets, keeps each consumer's
// rows in order.
func TestOverSockets(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		c := listen(t)
		messages := 32
		if isGrouped(info.Name) {
			messages = 4
		}
		done := c.runBatch(t, info.Name, rich(t, 0, 32), nil)
		got := c.receive(t, messages)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if fmt.Sprint(got[i]) != fmt.Sprint(ridsOf(i, 32)) {
				t.Errorf("consumer %d got %q", i, got[i])
			}
		}
	})
}

// TestReuseSendsRowZeroFirst: the peer reads row 0 from its socket while the
// decode for the later rows is held up.
func TestReuseSendsRowZeroFirst(t *testing.T) {
	c := listen(t)
	blocked, release := make(chan struct{}), make(chan struct{})
	calls := 0
	done := c.runBatch(t, "reuse", rich(t, 0, 32), func(o *wire.Opaque) (wire.Value, error) {
		if calls++; calls == 3 { // two for row 0's columns
			close(blocked)
			<-release
		}
		return o.Open()
	})
	if got := c.receive(t, 1); len(got[0]) != 1 || got[0][0] != "rid-0" {
		t.Fatalf("got %q first, want rid-0", got)
	}
	<-blocked
	select {
	case err := <-done:
		t.Fatalf("the batch ended (%v) with the second decode held up", err)
	default:
	}
	close(release)
	if got := c.receive(t, 31); len(got[0]) != 7 || len(got[3]) != 8 {
		t.Errorf("got %q after the release, want the other 31 rows", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if calls != 4 {
		t.Errorf("%d decodes, want 4", calls)
	}
}

package transport_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

func counted(t *testing.T, push transport.Push) *transport.Counted {
	t.Helper()
	c, err := transport.NewCounted(background, func(context.Context) (transport.Push, error) { return push, nil })
	must(t, err)
	return c
}

func init() { readers["consumer"] = consume }

// consume is a consumer in a process of its own: at is engine, side and endpoint. Each message is a number
// and padding; the number goes to the control plane, which is standard output.
func consume(at string, control io.Writer) error {
	field := strings.SplitN(at, " ", 3)
	open := openers[field[0]].bind
	if field[1] == "connect" {
		open = openers[field[0]].connectPull
	}
	pull, err := open(nil, field[2], transport.Options{})
	if err != nil {
		return err
	}
	for {
		msg, err := pull.Recv(background)
		var dropped *transport.PeerError
		switch {
		case errors.Is(err, io.EOF):
			return pull.Close()
		case errors.As(err, &dropped): // the sender was ended, or a probe
			continue
		case err != nil:
			return err
		}
		number, _, _ := strings.Cut(string(msg), " ")
		if _, err := fmt.Fprintln(control, number); err != nil {
			return err
		}
	}
}

// consumer is such a process.
type consumer struct {
	cmd  *exec.Cmd
	said chan uint64 // closed at the end of its output
}

// consumerCommand is how to start one; pyzmq has its own.
var consumerCommand = map[string]func(side, endpoint string) *exec.Cmd{
	"zmtp": ourConsumer("zmtp"),
	"zmq4": ourConsumer("zmq4"),
}

func ourConsumer(engine string) func(side, endpoint string) *exec.Cmd {
	return func(side, endpoint string) *exec.Cmd {
		exe, err := os.Executable()
		if err != nil {
			exe = os.Args[0]
		}
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), readerEnv+"=consumer "+engine+" "+side+" "+endpoint)
		return cmd
	}
}

func startConsumer(t *testing.T, p pair, endpoint string) *consumer {
	t.Helper()
	side := "bind"
	if p.pushBinds {
		side = "connect"
	}
	c := &consumer{cmd: consumerCommand[p.pull](side, endpoint), said: make(chan uint64, 1<<20)} // never full: nobody waits for us
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	must(t, err)
	must(t, c.cmd.Start())
	go func() {
		defer close(c.said)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			seq, err := strconv.ParseUint(lines.Text(), 10, 64)
			if err != nil {
				t.Errorf("the consumer says %q", lines.Text())
				return
			}
			c.said <- seq
		}
	}()
	t.Cleanup(func() { c.kill() })
	return c
}

// kill gives what it said until its end and nobody had heard.
func (c *consumer) kill() (said []uint64) {
	_ = c.cmd.Process.Kill()
	for seq := range c.said { // to the end of its output, before Wait closes that
		said = append(said, seq)
	}
	_ = c.cmd.Wait()
	return said
}

// heard takes what it has said so far, and acknowledges it if c is not nil.
func (c *consumer) heard(t *testing.T, got []uint64, ack *transport.Counted) []uint64 {
	t.Helper()
	for {
		select {
		case seq, ok := <-c.said:
			if !ok {
				return got
			}
			got = append(got, seq)
			must(t, ack.Ack(seq))
		default:
			return got
		}
	}
}

// killed: a consumer dies by SIGKILL in mid-stream and is started again. The sender goes on over a new
// connection, and of all it was told were accepted nothing is missing or doubled outside of the range
// that Reconnect gives.
func killed(t *testing.T, p pair) {
	rng := rand.New(rand.NewPCG(uint64(len(p.String())), 31))
	e := endpoint(t)
	var now *consumer
	c, err := transport.NewCounted(background, func(context.Context) (transport.Push, error) {
		now = startConsumer(t, p, e)
		if p.pushBinds {
			return openers[p.push].bindPush(t, e, transport.Options{})
		}
		return openers[p.push].connect(t, e, transport.Options{})
	})
	must(t, err)
	first, dieAt := []uint64(nil), 100+rng.IntN(400)
	for dead := false; err == nil; {
		first = now.heard(t, first, c)
		if len(first) >= dieAt && !dead {
			dead = true
			must(t, now.cmd.Process.Kill())
		}
		err = sendSome(c, rng)
	}
	if !errors.Is(err, transport.ErrBroken) {
		t.Fatalf("the consumer was killed: %v; want ErrBroken", err)
	}
	// It is waited for: the listener of a process that is being ended may still take a connection, and
	// then resets it.
	first = append(first, now.kill()...)
	open := c.Unacked()
	lost, err := c.Reconnect(background)
	must(t, err)
	if lost != open {
		t.Fatalf("Reconnect says %v may be lost; %v was not acknowledged", lost, open)
	}
	for range 300 {
		must(t, sendSome(c, rng))
	}
	last := c.Unacked().Last
	second := finish(t, c, now, last)
	wantRun(t, "the first consumer", first, 1, uint64(len(first)))
	if k := uint64(len(first)); k+1 < lost.First || k > lost.Last {
		t.Fatalf("the first consumer got 1 to %d; said to be perhaps lost is %v", k, lost)
	}
	wantRun(t, "the second consumer", second, lost.Last+1, last)
	t.Logf("got 1 to %d; perhaps lost %v; then %d to %d", len(first), lost, lost.Last+1, last)
}

// sendSome sends a few messages and flushes. The next one's number stands in it.
func sendSome(c *transport.Counted, rng *rand.Rand) error {
	for range 1 + rng.IntN(5) {
		next := c.Unacked().Last + 1
		seq, err := c.Send(fmt.Appendf(nil, "%d %s", next, strings.Repeat("x", rng.IntN(3000))))
		if err != nil {
			return err
		}
		if seq != next {
			return fmt.Errorf("message %d got number %d", next, seq)
		}
	}
	return c.Flush()
}

// finish waits for the acknowledgement of the last message, and only then closes.
func finish(t *testing.T, c *transport.Counted, now *consumer, last uint64) (got []uint64) {
	t.Helper()
	for seq := range now.said {
		got = append(got, seq)
		must(t, c.Ack(seq))
		if seq == last {
			break
		}
	}
	must(t, c.Close())
	return append(got, now.kill()...)
}

func wantRun(t *testing.T, who string, got []uint64, first, last uint64) {
	t.Helper()
	if uint64(len(got)) != last-first+1 {
		t.Fatalf("%s got %d messages; want %d to %d", who, len(got), first, last)
	}
	for i, seq := range got {
		if seq != first+uint64(i) {
			t.Fatalf("%s got %d where %d should be", who, seq, first+uint64(i))
		}
	}
}

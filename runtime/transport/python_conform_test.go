//go:build python

package transport_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// TestConformanceWithPython holds our engines to the clauses with pyzmq on the other side.
func TestConformanceWithPython(t *testing.T) {
	openers[pyzmq] = opener{
		connect: func(t testing.TB, e string, _ transport.Options) (transport.Push, error) {
			return pyPush(t, "connect", e)
		},
		bindPush: func(t testing.TB, e string, _ transport.Options) (transport.Push, error) { return pyPush(t, "bind", e) },
		bind:     func(t testing.TB, e string, _ transport.Options) (transport.Pull, error) { return pyPull(t, "bind", e) },
		connectPull: func(t testing.TB, e string, _ transport.Options) (transport.Pull, error) {
			return pyPull(t, "connect", e)
		},
	}
	consumerCommand[pyzmq] = func(side, e string) *exec.Cmd {
		return exec.Command(interpreter(t), "testdata/pipe.py", "consumer", side, e)
	}
	engines := transport.Engines()
	conform(t, append(pairsOf(engines, []string{pyzmq}), pairsOf([]string{pyzmq}, engines)...))
}

func interpreter(t testing.TB) string {
	t.Helper()
	exe := os.Getenv("FANOUTBENCH_PYTHON")
	if exe == "" {
		t.Fatal("FANOUTBENCH_PYTHON is not set; it must name a Python that has pyzmq")
	}
	return exe
}

// pipe is a pyzmq socket in a process of its own, behind two pipes.
type pipe struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	w        *bufio.Writer
	r        *bufio.Reader
	endpoint string
	buf      []byte
	closed   bool
}

func startPipe(t testing.TB, mode, side, endpoint string) (*pipe, error) {
	cmd := exec.Command(interpreter(t), "testdata/pipe.py", mode, side, endpoint)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	p := &pipe{cmd: cmd, in: in, w: bufio.NewWriter(in), r: bufio.NewReaderSize(out, 1<<20), endpoint: endpoint}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	_, err = p.r.ReadByte() // it has bound, or begun to connect
	return p, err
}

type pyPusher struct{ *pipe }

func pyPush(t testing.TB, side, endpoint string) (transport.Push, error) {
	p, err := startPipe(t, "push", side, endpoint)
	return pyPusher{p}, err
}

func (p pyPusher) Send(frame []byte) error {
	if err := binary.Write(p.w, binary.BigEndian, uint32(len(frame))); err != nil {
		return err
	}
	_, err := p.w.Write(frame)
	return err
}

func (p pyPusher) Flush() error {
	if err := binary.Write(p.w, binary.BigEndian, uint32(0xffffffff)); err != nil {
		return err
	}
	if err := p.w.Flush(); err != nil {
		return err
	}
	_, err := p.r.ReadByte()
	return err
}

// Close waits until libzmq has sent everything.
func (p pyPusher) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	return errors.Join(p.w.Flush(), p.in.Close(), p.cmd.Wait())
}

type pyPuller struct{ *pipe }

func pyPull(t testing.TB, side, endpoint string) (transport.Pull, error) {
	p, err := startPipe(t, "pull", side, endpoint)
	return pyPuller{p}, err
}

func (p pyPuller) Recv(context.Context) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.r, head[:]); err != nil {
		return nil, err
	}
	p.buf = append(p.buf[:0], make([]byte, binary.BigEndian.Uint32(head[:]))...)
	_, err := io.ReadFull(p.r, p.buf)
	return p.buf, err
}

func (p pyPuller) TryRecv() ([]byte, error) {
	return nil, errors.New("pyzmq behind a pipe: no TryRecv")
}

func (p pyPuller) Endpoint() string { return p.endpoint }

func (p pyPuller) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	return p.in.Close()
}

// rest ends the process and gives what it still had.
func (p pyPuller) rest(t testing.TB) (messages [][]byte) {
	t.Helper()
	must(t, p.Close())
	for {
		msg, err := p.Recv(background)
		if err == io.EOF {
			must(t, p.cmd.Wait())
			return messages
		}
		must(t, err)
		messages = append(messages, append([]byte(nil), msg...))
	}
}

// A Push of ours that binds answers libzmq's heartbeats, and so does a Pull that connects.
func TestPythonHeartbeatsOtherWayRound(t *testing.T) {
	e := endpoint(t)
	lines := python(t, "push-heartbeat", e, "40", "bind")
	pull, err := transport.ConnectPull(background, "zmtp", e, transport.Options{})
	must(t, err)
	for i := range 40 {
		want(t, pull, fmt.Sprint(i))
	}
	if said := line(t, lines); said != "disconnects 0" {
		t.Fatal(said)
	}
	must(t, pull.Close())

	e = endpoint(t)
	lines = python(t, "pull-heartbeat", e, "40", "connect")
	push, err := transport.BindPush(background, "zmtp", e, transport.Options{})
	must(t, err)
	for i := range 40 {
		must(t, push.Send([]byte(fmt.Sprint(i))))
		must(t, push.Flush())
		if said := line(t, lines); said != fmt.Sprint("got ", i) {
			t.Fatal(said)
		}
	}
	if said := line(t, lines); said != "disconnects 0" {
		t.Fatal(said)
	}
	must(t, push.Close())
}

// The zmq4 engine's exception as libzmq sees it: a Push that answers no PING is dropped.
func TestPythonHeartbeatsDropZMQ4(t *testing.T) {
	e := endpoint(t)
	lines := python(t, "pull-heartbeat", e, "1")
	push, err := transport.Connect(background, "zmq4", e, transport.Options{})
	must(t, err)
	must(t, push.Send([]byte("0")))
	line(t, lines)
	line(t, lines)
	if said := line(t, lines); said != "dropped" {
		t.Fatalf("pyzmq says %q; the exception in doc.go is none any more", said)
	}
	_ = push.Close()
}

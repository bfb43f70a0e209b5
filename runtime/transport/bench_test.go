package transport_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

const (
	burstRows = 310
	rowBytes  = 500
)

// lane is one way to send a burst to a reader, which answers with a byte when it has all of it.
type lane struct {
	send   func() error
	answer io.Reader
}

func (l lane) burst(b *testing.B) time.Duration {
	var one [1]byte
	start := time.Now()
	must(b, l.send())
	_, err := io.ReadFull(l.answer, one[:])
	must(b, err)
	return time.Since(start)
}

// readerEnv turns the test binary into a reader: the kind of lane and the endpoint.
const readerEnv = "TRANSPORT_BENCH_READER"

var readers = map[string]func(at string, answer io.Writer) error{
	"zmtp": engineReader("zmtp"), "zmq4": engineReader("zmq4"), "raw": rawReader,
}

func TestMain(m *testing.M) {
	if kind, at, ok := strings.Cut(os.Getenv(readerEnv), " "); ok {
		if err := readers[kind](at, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, kind, "reader:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// reader starts one, in a process of its own or as a goroutine; it ends when its lane is closed.
type reader func(b *testing.B, kind, at string) (answer io.Reader)

func inProcess(b *testing.B, kind, at string) io.Reader {
	exe, err := os.Executable()
	must(b, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), readerEnv+"="+kind+" "+at)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(b, err)
	must(b, cmd.Start())
	b.Cleanup(func() { must(b, cmd.Wait()) })
	return out
}

func inGoroutine(b *testing.B, kind, at string) io.Reader {
	r, w, err := os.Pipe()
	must(b, err)
	done := make(chan error, 1)
	go func() { done <- readers[kind](at, w) }()
	b.Cleanup(func() { must(b, errors.Join(<-done, r.Close(), w.Close())) })
	return r
}

// receive answers each burst until one gives io.EOF.
func receive(answer io.Writer, one func() error) error {
	for {
		for range burstRows {
			if err := one(); err != nil {
				return err
			}
		}
		if _, err := answer.Write([]byte{1}); err != nil {
			return err
		}
	}
}

func engineReader(engine string) func(at string, answer io.Writer) error {
	return func(at string, answer io.Writer) error {
		pull, err := transport.Bind(engine, at, transport.Options{})
		if err != nil {
			return err
		}
		err = receive(answer, func() error {
			msg, err := pull.Recv(background)
			if err == nil && len(msg) == 0 {
				return io.EOF
			}
			return err
		})
		if err != io.EOF {
			return err
		}
		return pull.Close()
	}
}

func engineLane(b *testing.B, engine string, start reader, row []byte) lane {
	at := endpoint(b)
	l := lane{answer: start(b, engine, at)}
	push, err := transport.Connect(background, engine, at, transport.Options{})
	must(b, err)
	b.Cleanup(func() { must(b, errors.Join(push.Send(nil), push.Close())) })
	l.send = func() error {
		for range burstRows {
			if err := push.Send(row); err != nil {
				return err
			}
		}
		return push.Flush()
	}
	return l
}

// rawLane is the bar: a unix socket of package net, a length before each row, buffers on both sides.
func rawLane(b *testing.B, start reader, row []byte) lane {
	at := path(endpoint(b))
	l := lane{answer: start(b, "raw", at)}
	var ready [1]byte
	_, err := io.ReadFull(l.answer, ready[:])
	must(b, err)
	out, err := net.Dial("unix", at)
	must(b, err)
	b.Cleanup(func() { must(b, out.Close()) })
	w := bufio.NewWriterSize(out, 64<<10)
	var head [4]byte
	l.send = func() error {
		for range burstRows {
			binary.BigEndian.PutUint32(head[:], uint32(len(row)))
			if _, err := w.Write(head[:]); err != nil {
				return err
			}
			if _, err := w.Write(row); err != nil {
				return err
			}
		}
		return w.Flush()
	}
	return l
}

func rawReader(at string, answer io.Writer) error {
	listener, err := net.Listen("unix", at)
	if err != nil {
		return err
	}
	defer listener.Close()
	if _, err := answer.Write([]byte{1}); err != nil {
		return err
	}
	in, err := listener.Accept()
	if err != nil {
		return err
	}
	r, body := bufio.NewReaderSize(in, 256<<10), make([]byte, rowBytes)
	var head [4]byte
	err = receive(answer, func() error {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		_, err := io.ReadFull(r, body[:binary.BigEndian.Uint32(head[:])])
		return err
	})
	if err == io.EOF {
		return nil
	}
	return err
}

// BenchmarkBurst has the reader in a process of its own, as the harness has it.
func BenchmarkBurst(b *testing.B) { compareLanes(b, inProcess) }

// BenchmarkBurstOneProcess has it in this one: package net then hands over within a thread, poll(2) cannot.
func BenchmarkBurstOneProcess(b *testing.B) { compareLanes(b, inGoroutine) }

// compareLanes sends bursts by both ways in turn and reports the ratio of the times: of the sums, and
// the median of the ratios of neighbours, which a disturbance of one of them does not move.
func compareLanes(b *testing.B, start reader) {
	row := make([]byte, rowBytes)
	ours, bar := engineLane(b, "zmtp", start, row), rawLane(b, start, row)
	var sums [2]time.Duration
	ratios := make([]float64, 0, b.N)
	i := 0
	for b.Loop() {
		var d [2]time.Duration
		if i%2 == 0 {
			d[0], d[1] = ours.burst(b), bar.burst(b)
		} else {
			d[1], d[0] = bar.burst(b), ours.burst(b)
		}
		sums[0] += d[0]
		sums[1] += d[1]
		ratios = append(ratios, float64(d[0])/float64(d[1]))
		i++
	}
	slices.Sort(ratios)
	b.ReportMetric(float64(sums[0])/float64(i), "zmtp-ns/burst")
	b.ReportMetric(float64(sums[1])/float64(i), "raw-ns/burst")
	b.ReportMetric(float64(sums[0])/float64(sums[1]), "zmtp/raw")
	b.ReportMetric(ratios[len(ratios)/2], "zmtp/raw-median")
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cpuclock"
	"github.com/fanoutbench/fanoutbench/protocol"
)

// answerer answers one line with another.
type answerer func(protocol.Line) (any, error)

// answer says ready and answers lines until the input ends. An error is told to the other side too.
func answer(in io.Reader, out io.Writer, r ready, a answerer) error {
	conn := protocol.NewConn(in, out)
	if err := conn.Send(r); err != nil {
		return err
	}
	for {
		line, err := conn.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var said any
		if err == nil {
			said, err = a(line)
		}
		if err != nil {
			return errors.Join(err, conn.Send(protocol.Error{Type: protocol.TypeError, Message: err.Error()}))
		}
		if err := conn.Send(said); err != nil {
			return err
		}
	}
}

// serveModel answers generate lines.
func serveModel(in io.Reader, out io.Writer, d *decoder) error {
	return answer(in, out, d.ready, func(line protocol.Line) (any, error) {
		var g generate
		if err := line.Expect(typeGenerate, &g); err != nil {
			return nil, err
		}
		return d.generate(g)
	})
}

// serveRead answers pass lines.
func serveRead(in io.Reader, out io.Writer, bytes int64, threads int) error {
	r, err := newReader(bytes, threads)
	if err != nil {
		return err
	}
	return answer(in, out, ready{Type: typeReady, Arm: armRead, Version: runtime.Version(), Threads: threads}, func(line protocol.Line) (any, error) {
		var p pass
		if err := line.Expect(typePass, &p); err != nil {
			return nil, err
		}
		if p.Times < 1 {
			return nil, fmt.Errorf("%d times, expected at least 1", p.Times)
		}
		start := time.Now()
		var sum uint64
		for range p.Times {
			sum = r.pass()
		}
		return passed{Type: typePassed, Bytes: bytes, Seconds: time.Since(start).Seconds(), Sum: sum}, nil
	})
}

// cpuSeconds is what this process has used.
func cpuSeconds() (float64, error) {
	d, err := cpuclock.Process(os.Getpid())
	if err != nil {
		return 0, fmt.Errorf("CPU time of this process: %w", err)
	}
	return d.Seconds(), nil
}

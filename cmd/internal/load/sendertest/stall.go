package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
)

// stall is a server that answers each request after a time, and stands still once: what comes from after until
// after + lasts, counted from the first request on, is answered when that is over.
type stall struct {
	after, lasts, answer time.Duration

	once  sync.Once
	first time.Time
}

func (s *stall) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.once.Do(func() { s.first = time.Now() })
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		panic(http.ErrAbortHandler) // a failed request, which the client's figures have
	}
	time.Sleep(s.waits(time.Since(s.first)))
	_, _ = io.WriteString(w, "{}") // a client that went away has no answer
}

// waits is how long the answer to a request takes that came at a time after the first one.
func (s *stall) waits(at time.Duration) time.Duration {
	if end := s.after + s.lasts; at >= s.after && at < end {
		return end - at + s.answer
	}
	return s.answer
}

// stalling serves until in ends.
func stalling(set settings, in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &stall{after: set.after, lasts: set.lasts, answer: set.answer}, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	if _, err := fmt.Fprintln(out, "http://"+l.Addr().String()); err != nil {
		return errors.Join(err, server.Close())
	}
	_, err = io.Copy(io.Discard, in)
	err = errors.Join(err, server.Close())
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// open prints the latencies of an open loop, from the intended times.
func open(ctx context.Context, s settings, out io.Writer) error {
	_, r, err := s.run(ctx)
	if err != nil {
		return err
	}
	return latencies(out, r, s.slow)
}

// closed prints those of a client that sends the next request when the last has been answered.
func closed(ctx context.Context, s settings, out io.Writer) error {
	r, err := load.Sequential(ctx, s.requests, s.target(), s.bodies(), nil)
	if err != nil {
		return err
	}
	return latencies(out, r, s.slow)
}

func latencies(out io.Writer, r load.Result, slow time.Duration) error {
	var all []float64
	late, failed := 0, 0
	for _, x := range r.Sent {
		latency, ok := x.Latency()
		if !ok || x.Failed() {
			failed++
			continue
		}
		if latency > slow.Seconds() {
			late++
		}
		all = append(all, latency)
	}
	p := load.SpreadOf(all)
	_, err := fmt.Fprintf(out, "requests=%d failed=%d slow=%d p50_ms=%.4g p90_ms=%.4g p99_ms=%.4g max_ms=%.4g\n", len(r.Sent), failed, late, 1e3*p.P50, 1e3*p.P90, 1e3*p.P99, 1e3*p.Max)
	return err
}

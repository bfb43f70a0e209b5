package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// Config of a load.
type Config struct {
	Address  string // host:port
	Streams  int    // open at once
	Tokens   int    // of each stream
	Prompt   int    // tokens of each prompt, given as ids
	Duration time.Duration
	Rounds   int // streams of each connection; 0: until Duration is over
}

// Result of a load.
type Result struct {
	Streams int // that came to their end
	Tokens  int
	Events  int
	Seconds float64
	First   []time.Duration // from the request to the first event, ascending
	Gaps    []time.Duration // between two events of a stream, ascending
	clients []*client
}

// keepGaps bounds what is kept of gaps: of a long load every k-th.
const keepGaps = 1 << 20

func (c Config) check() error {
	for _, f := range []struct {
		name  string
		value int
	}{{"streams", c.Streams}, {"tokens", c.Tokens}, {"prompt tokens", c.Prompt}} {
		if f.value < 1 {
			return fmt.Errorf("streamload: %s is %d, expected at least 1", f.name, f.value)
		}
	}
	if c.Rounds < 1 && c.Duration <= 0 {
		return errors.New("streamload: neither rounds nor a duration")
	}
	return nil
}

// Run loads the server and checks what it sends, but for the text, which [Result.Compare] does. The first fault ends the load.
func Run(ctx context.Context, c Config) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clients := make([]*client, c.Streams)
	begin := time.Now()
	var group sync.WaitGroup
	for i := range clients {
		clients[i] = &client{config: c, seed: i + 1}
		group.Go(func() {
			if err := clients[i].run(ctx, begin.Add(c.Duration)); err != nil {
				cancel(fmt.Errorf("streamload: seed %d: %w", clients[i].seed, err))
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	return add(clients, time.Since(begin)), nil
}

// add sums up what the clients saw.
func add(clients []*client, took time.Duration) Result {
	r := Result{Seconds: took.Seconds(), clients: clients}
	for _, c := range clients {
		r.Streams += c.streams
		r.Tokens += c.tokens
		r.Events += c.events
		r.First = append(r.First, c.first...)
		r.Gaps = append(r.Gaps, c.gaps...)
	}
	slices.Sort(r.First)
	slices.Sort(r.Gaps)
	return r
}

// Compare asks for each seed's text once more, in one piece.
func (r Result) Compare(ctx context.Context, c Config) error {
	conn, err := dial(ctx, c.Address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // read to its end or failed
	for _, client := range r.clients {
		if client.streams == 0 {
			return fmt.Errorf("streamload: seed %d had no stream", client.seed)
		}
		want, err := conn.unary(client.request(false))
		if err != nil {
			return fmt.Errorf("streamload: seed %d, unary: %w", client.seed, err)
		}
		if want != client.text {
			return fmt.Errorf("streamload: seed %d: the stream's text is %q, a unary request's %q", client.seed, client.text, want)
		}
	}
	return nil
}

// Percentile by nearest rank of ascending values, in milliseconds; 0 of none.
func Percentile(sorted []time.Duration, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(float64(p*float64(len(sorted)))+0.999999) - 1
	return float64(sorted[min(max(rank, 0), len(sorted)-1)]) / float64(time.Millisecond)
}

func dial(ctx context.Context, address string) (*connection, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("streamload: %w", err)
	}
	return newConnection(conn), nil
}

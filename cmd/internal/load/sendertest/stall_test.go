package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

func TestStallWaits(t *testing.T) {
	s := stall{after: time.Second, lasts: 2 * time.Second, answer: time.Millisecond}
	for at, want := range map[time.Duration]time.Duration{
		0:                             time.Millisecond,
		time.Second - 1:               time.Millisecond,
		time.Second:                   2*time.Second + time.Millisecond,
		2500 * time.Millisecond:       501 * time.Millisecond,
		3*time.Second - 1:             time.Millisecond + 1,
		3 * time.Second:               time.Millisecond,
		time.Hour + time.Second + 100: time.Millisecond,
	} {
		if got := s.waits(at); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
}

// A real server that stands still for 600 ms: all requests that are due meanwhile are slow for the open loop, and one
// for the closed loop, whatever the machine does otherwise.
func TestStallIsSeen(t *testing.T) {
	for _, k := range []struct {
		args      []string
		low, most int // slow requests
	}{
		{[]string{"open", "--rps", "100", "--seconds", "1"}, 30, 100},
		{[]string{"closed", "--requests", "150"}, 1, 10}, // one, and what a busy machine adds
	} {
		in, stop := io.Pipe()
		lines, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- run(context.Background(), []string{"stalling", "--after", "100ms", "--lasts", "600ms"}, in, out)
		}()
		url, err := bufio.NewReader(lines).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		args := append(k.args, "--url", strings.TrimSpace(url), "--bytes", "10", "--slow", "250ms")
		if err := run(context.Background(), args, nil, &text); err != nil {
			t.Fatal(err)
		}
		if err := stop.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		var requests, failed, slow int
		if _, err := fmt.Sscanf(text.String(), "requests=%d failed=%d slow=%d ", &requests, &failed, &slow); err != nil {
			t.Fatalf("%q: %v", text.String(), err)
		}
		if failed > 0 || slow < k.low || slow > k.most {
			t.Errorf("%q: %s, want %d to %d slow ones", k.args, text.String(), k.low, k.most)
		}
	}
}

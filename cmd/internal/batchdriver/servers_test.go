package batchdriver

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// urls are two servers that run already.
func urls(reference, candidate string) *Config {
	arm := func(address string) servearm.Arm {
		return servearm.Arm{Spec: "url:" + address, Kind: servearm.KindURL, Name: address}
	}
	c := config()
	c.Arms = map[string]servearm.Arm{batchrun.Reference: arm(reference), batchrun.Candidate: arm(candidate)}
	return c
}

// Nothing is said to be started that runs already.
func TestAwaited(t *testing.T) {
	both, neither := config(), urls("http://a:1", "http://b:2")
	mixed := urls("http://a:1", "http://b:2")
	mixed.Arms[batchrun.Candidate] = both.Arms[batchrun.Candidate]
	reversed := urls("http://a:1", "http://b:2")
	reversed.Arms[batchrun.Reference] = both.Arms[batchrun.Reference]
	for want, c := range map[string]*Config{
		"starting both servers to see what they can be asked":                             both,
		"waiting for http://a:1 and http://b:2 to see what they can be asked":             neither,
		"starting the candidate and waiting for http://a:1 to see what they can be asked": mixed,
		"starting the reference and waiting for http://b:2 to see what they can be asked": reversed,
	} {
		if got := c.awaited(); got != want {
			t.Errorf("says %q, want %q", got, want)
		}
	}
}

// Whoever ends the wait for servers is told which are not there, and what they said.
func TestEndedWait(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // that never answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	mute := "http://" + listener.Addr().String()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("enough"))
	defer cancel()
	c := urls(mute, mute)
	c.ReadyTimeout = time.Hour
	_, err = startPair(ctx, c, map[string]io.Writer{}, 0)
	for _, want := range []string{"reference: servearm: url:" + mute + ": enough", "candidate: servearm: url:" + mute + ": enough"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

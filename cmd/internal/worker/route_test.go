package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/router"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// The protocol's rule, by which fences are made and shares counted, is the one
// that the router follows.
func TestRoutingIsTheRouters(t *testing.T) {
	for n := 2; n <= protocol.MaxDetokenizers; n++ {
		for i := range 50 {
			rid, ipc := fmt.Sprint("rid-", i), fmt.Sprint("ipc:///run/c", i)
			if got, want := (protocol.Routing{Detokenizers: n, Router: router.ByRID}).Target(rid, ipc), router.Target([]byte(rid), n); got != want {
				t.Errorf("by rid, of %d: %d, the router has %d", n, got, want)
			}
			if got, want := (protocol.Routing{Detokenizers: n, Router: router.ByIPC}).Target(rid, ipc), router.Target([]byte(ipc), n); got != want {
				t.Errorf("by ipc, of %d: %d, the router has %d", n, got, want)
			}
		}
	}
}

// A router worker sends every row to the target of its rid, and reports what it
// sent of the stream. What it cannot be is answered with error.
func TestRouterWorker(t *testing.T) {
	t.Parallel()
	p := open(t, t.Context())
	c := p.configure()
	c.Strategy, c.Router = "grouped-splice", router.ByRID
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var got []<-chan []byte // each target's messages
	for _, name := range []string{"d0", "d1"} {
		pull, err := transport.Bind(c.ZMQ, strings.TrimSuffix(p.input, "w")+name, transport.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, c.Targets = append(got, received(t, ctx, pull, 2)), append(c.Targets, pull.Endpoint())
	}
	p.ask(c, protocol.TypeReady, &protocol.Ready{}, "")
	p.ask(p.prepare("words"), protocol.TypePrepared, &protocol.Signal{}, "")
	push, err := transport.Connect(t.Context(), c.ZMQ, p.input, transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var rids []string
	for i := range 20 {
		rids = append(rids, fmt.Sprint("rid-", i))
	}
	frame, err := wire.Encode(nil, &wire.BatchTokenIDOutput{RIDs: rids})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the stream's one batch, and the fence's
		if err := errors.Join(push.Send(frame), push.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	for target, messages := range got {
		n := 0
		for part := range messages {
			n++
			m, err := wire.DecodeTokenID(part)
			if err != nil || m.Rows() == 0 {
				t.Fatalf("target %d got %+v, %v", target, m, err)
			}
			for _, rid := range m.RIDs {
				if router.Target([]byte(rid), 2) != target {
					t.Errorf("target %d got rid %s", target, rid)
				}
			}
		}
		if n != 2 {
			t.Errorf("target %d got %d messages, want 2", target, n)
		}
	}
	var r protocol.Report
	p.ask(protocol.Signal{Type: protocol.TypeReport}, protocol.TypeReport, &r, "")
	if r.Batches != 1 || len(r.Errors) != 0 || r.Counters[protocol.CounterMessages] != 2 || r.Counters[protocol.CounterBytes] < 100 {
		t.Errorf("report %+v, want two messages of one batch", r)
	}
	if err := errors.Join(push.Close(), p.close(), <-p.ended); err != nil {
		t.Error(err)
	}
}

// received takes n messages; a socket shakes hands only while somebody receives.
func received(t *testing.T, ctx context.Context, pull transport.Pull, n int) <-chan []byte {
	messages := make(chan []byte, n)
	t.Cleanup(func() { pull.Close() }) // after the router's end, which finds it there
	go func() {
		defer close(messages)
		for range n {
			frame, err := pull.Recv(ctx)
			if err != nil {
				t.Error(err)
				break
			}
			messages <- bytes.Clone(frame)
		}
	}()
	return messages
}

func TestRouterConfigureErrors(t *testing.T) {
	for wrong, change := range map[string]func(*protocol.Configure){
		`no strategy "per-line"`:              func(c *protocol.Configure) { c.Strategy = "per-line" },
		`no strategy "splice"`:                func(c *protocol.Configure) { c.Strategy = "splice" }, // of fanout only
		`router "rid" with 0 targets`:         func(c *protocol.Configure) { c.Targets = nil },
		`router "" with 1 targets, want both`: func(c *protocol.Configure) { c.Router = "" },
	} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			p := open(t, t.Context())
			c := p.configure()
			c.Strategy, c.Router, c.Targets, c.SendMS = "grouped", router.ByRID, []string{"ipc:///nosuch/d0"}, 1
			change(&c)
			p.ask(c, protocol.TypeReady, &protocol.Ready{}, wrong)
			if err := <-p.ended; err == nil || !strings.Contains(err.Error(), wrong) {
				t.Errorf("the worker ended with %v, want %q", err, wrong)
			}
		})
	}
}

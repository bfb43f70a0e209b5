package manager

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// TestOverSockets has a manager between a real PUSH and a real PULL, and an echo of
// the prompt, a byte a row, at their other ends.
func TestOverSockets(t *testing.T) {
	for _, engine := range transport.Engines() {
		t.Run(engine, func(t *testing.T) { overSockets(t, engine) })
	}
}

func overSockets(t *testing.T, engine string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	folder := t.TempDir()
	worker, router := "ipc://"+filepath.Join(folder, "w"), "ipc://"+filepath.Join(folder, "r")
	requests, err := transport.Bind(engine, router, transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, requests.Close)
	rows, err := transport.Bind(engine, worker, transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, rows.Close)
	echoed, ran := make(chan error, 1), make(chan error, 1)
	echoing, stopEcho := context.WithCancel(ctx)
	go func() { echoed <- echo(t, echoing, engine, requests, worker) }()
	push, err := transport.Connect(ctx, engine, router, transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, push.Close)
	k := start(t, func(c *Config) { c.IPC, c.Sender = worker, push })
	running, stop := context.WithCancel(ctx)
	go func() { ran <- k.Run(running, rows) }()
	if err := k.Register(ctx); err != nil {
		t.Fatal(err)
	}
	for n := range 20 {
		prompt := fmt.Sprintf("prompt %d", n)
		c := k.submit(1, item("", prompt), item("", strings.ToUpper(prompt)))
		got := make([]string, 2)
		for {
			u, err := tryNext(c)
			if err != nil {
				break
			}
			got[u.Index] += u.Text
		}
		if got[0] != prompt || got[1] != strings.ToUpper(prompt) {
			t.Errorf("got %q for the prompt %q", got, prompt)
		}
	}
	stop()
	if err := <-ran; err != nil {
		t.Errorf("Run: %v", err)
	}
	stopEcho()
	if err := <-echoed; err != nil {
		t.Error(err)
	}
	k.counts("rows_missing=0", "rows_doubled=0", "rows_dropped_unknown=0", "num_requests_total=40")
}

func shut(t *testing.T, closing func() error) {
	if err := closing(); err != nil {
		t.Error(err)
	}
}

// echo plays everything behind the router.
func echo(t *testing.T, ctx context.Context, engine string, from transport.Pull, worker string) error {
	var to transport.Push
	defer func() {
		if to != nil {
			shut(t, to.Close)
		}
	}()
	for {
		frame, err := from.Recv(ctx)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		m, err := request.Decode(frame)
		if err != nil {
			return err
		}
		switch m := m.(type) {
		case *request.TokenizerWorkerRegistrationReq:
			if to, err = transport.Connect(ctx, engine, worker, transport.Options{}); err == nil {
				err = to.Send(mustEncode(t, m))
			}
		case *request.TokenizedGenerateReqInput:
			for i, id := range m.InputIDs {
				r := row{rid: m.RID, number: int64(i), text: string(rune(id)), ids: []int64{id}}
				if i == len(m.InputIDs)-1 {
					r.finish = stopped()
				}
				err = errors.Join(err, to.Send(encode(t, batch(t, r))))
			}
		}
		if err == nil {
			err = to.Flush()
		}
		if err != nil {
			return err
		}
	}
}

package relay

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/server/parttest"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

var post = parttest.Post

// running is a router that runs beside the test.
type running struct {
	*parttest.Part
	t *testing.T
}

func start(t *testing.T, engine string) *running {
	t.Helper()
	return startIn(t, parttest.Folder(t), args.Args{ZMQ: engine, StartTimeout: parttest.Patience.Seconds()})
}

func startIn(t *testing.T, folder string, a args.Args) *running {
	t.Helper()
	return &running{parttest.Start(t, Run, part.Env{ID: part.ID{Kind: part.Router}, Args: a, Folder: folder}), t}
}

func (r *running) stop() {
	r.t.Helper()
	r.Stop(part.RouterInput, part.RouterAnswers)
}

func (r *running) bind(name string) *parttest.Inbox {
	r.t.Helper()
	return parttest.Bind(r.t, r.Env, name)
}

func encode(t testing.TB, m request.Message) []byte {
	t.Helper()
	frame, err := request.Encode(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// client is an HTTP worker: its own socket, and its PUSH to the router.
type client struct {
	*parttest.Inbox
	t    *testing.T
	push transport.Push
	ipc  string
}

func (r *running) client(i int) *client {
	r.t.Helper()
	name := part.ID{Kind: part.Worker, Index: i}.String()
	return &client{Inbox: r.bind(name), t: r.t, push: r.Connect(part.RouterInput), ipc: r.Env.Endpoint(name)}
}

// registered is a client that has had its registration back.
func (r *running) registered(i int) *client {
	r.t.Helper()
	c := r.client(i)
	c.register()
	return c
}

func (c *client) register() {
	c.t.Helper()
	frame := encode(c.t, &request.TokenizerWorkerRegistrationReq{RID: "r", HTTPWorkerIPC: c.ipc, WorkerIPCName: c.ipc})
	post(c.t, c.push, frame)
	if got := c.Next(); !bytes.Equal(got, frame) {
		c.t.Fatalf("%s: got %q, want its registration back", c.ipc, got)
	}
}

// flush is the answer number i to a flush that the client asked for.
func (c *client) flush(i int) *request.FlushCacheReqOutput {
	return &request.FlushCacheReqOutput{RID: fmt.Sprint("flush-", i), HTTPWorkerIPC: c.ipc, Success: true}
}

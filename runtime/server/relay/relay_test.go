package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/server/parttest"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// TestOrder: four workers send bursts of random size at once; the scheduler gets
// every frame as it was sent, and each worker's in its order. Answers to all four
// come back the same way.
func TestOrder(t *testing.T) {
	for _, engine := range transport.Engines() {
		t.Run(engine, func(t *testing.T) {
			r := start(t, engine)
			scheduler := r.bind(part.Scheduler)
			var clients []*client
			for i := range 4 {
				clients = append(clients, r.registered(i))
			}
			const each = 1500
			for i, c := range clients {
				go c.flood(i, each)
			}
			next := map[string]int{}
			for range len(clients) * each {
				frame := scheduler.Next()
				m, err := request.Decode(frame)
				if err != nil {
					t.Fatal(err)
				}
				ipc := m.(*request.AbortReq).HTTPWorkerIPC
				if want := encode(t, ask(ipc, next[ipc])); !bytes.Equal(frame, want) {
					t.Fatalf("frame %d of %s: got %q, want %q", next[ipc], ipc, frame, want)
				}
				next[ipc]++
			}
			r.AwaitCount("requests_forwarded", uint64(len(clients)*each))
			answers := r.Connect(part.RouterAnswers)
			for i := range each {
				for _, c := range clients {
					if err := answers.Send(encode(t, c.flush(i))); err != nil {
						t.Fatal(err)
					}
				}
			}
			post(t, answers)
			for _, c := range clients {
				for i := range each {
					if got, want := c.Next(), encode(t, c.flush(i)); !bytes.Equal(got, want) {
						t.Fatalf("answer %d: got %q, want %q", i, got, want)
					}
				}
			}
			r.AwaitCount("answers_forwarded", uint64(len(clients)*each))
			r.stop()
		})
	}
}

// ask is a worker's frame number i; some are long.
func ask(ipc string, i int) *request.AbortReq {
	return &request.AbortReq{RID: fmt.Sprint("rid-", i), HTTPWorkerIPC: ipc, AbortMessage: strings.Repeat("x", i%100*i%3000)}
}

func (c *client) flood(seed, n int) {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	for i := range n {
		if err := c.push.Send(encode(c.t, ask(c.ipc, i))); err != nil {
			c.t.Error(err)
			return
		}
		if rng.IntN(20) == 0 || i == n-1 {
			if err := c.push.Flush(); err != nil {
				c.t.Error(err)
				return
			}
		}
	}
}

// stuff sends until nothing more goes in.
func stuff(t *testing.T, r *running, name string, frame []byte) {
	t.Helper()
	push, err := transport.Connect(t.Context(), r.Env.Args.ZMQ, r.Env.Endpoint(name), transport.Options{SendTimeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		if err = push.Send(frame); err == nil {
			err = push.Flush()
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the way is not full but broken: %v", err)
	}
	push.Close()
}

// TestSchedulerTakesNothing: with a scheduler that does not receive, and its way
// full, answers still reach the workers, and workers still register.
func TestSchedulerTakesNothing(t *testing.T) {
	r := start(t, "zmtp")
	scheduler := r.bind(part.Scheduler)
	c := r.registered(0)
	r.AwaitReady()
	scheduler.Pause()
	stuff(t, r, part.RouterInput, encode(t, &request.AbortReq{RID: "r", AbortMessage: strings.Repeat("x", 10000)}))
	answers := r.Connect(part.RouterAnswers)
	for i := range 100 {
		frame := encode(t, c.flush(i))
		post(t, answers, frame)
		if got := c.Next(); !bytes.Equal(got, frame) {
			t.Fatalf("answer %d: got %q", i, got)
		}
	}
	scheduler.Receive() // or the router's end would wait for room
	r.stop()
}

// TestWorkerTakesNothing: with a worker that does not receive, and the way of the
// answers full, requests of another worker still reach the scheduler.
func TestWorkerTakesNothing(t *testing.T) {
	r := start(t, "zmtp")
	scheduler := r.bind(part.Scheduler)
	hung, other := r.registered(0), r.registered(1)
	hung.Pause()
	long := hung.flush(0)
	long.Message = strings.Repeat("x", 10000)
	stuff(t, r, part.RouterAnswers, encode(t, long))
	for i := range 100 {
		frame := encode(t, ask(other.ipc, i))
		post(t, other.push, frame)
		if got := scheduler.Next(); !bytes.Equal(got, frame) {
			t.Fatalf("request %d: got %q", i, got)
		}
	}
	hung.Receive()
	r.stop()
}

// TestBeforeTheScheduler: a worker registers, and sends, while there is no
// scheduler yet. The router is ready when it has one, and then nothing is lost.
func TestBeforeTheScheduler(t *testing.T) {
	r := start(t, "zmtp")
	c := r.registered(0)
	frame := encode(t, ask(c.ipc, 0))
	post(t, c.push, frame)
	if r.IsReady() {
		t.Error("ready without a scheduler")
	}
	scheduler := r.bind(part.Scheduler)
	if got := scheduler.Next(); !bytes.Equal(got, frame) {
		t.Errorf("got %q, want the request: the registration stays with the router", got)
	}
	r.AwaitReady()
	r.stop()
}

// TestRegistrationIsFirst: of all that a worker gets its registration is the first,
// however many answers are on their way, and it is what the worker sent, however
// much it sent behind it.
func TestRegistrationIsFirst(t *testing.T) {
	r := start(t, "zmtp")
	scheduler := r.bind(part.Scheduler)
	for i := range 20 {
		name := part.ID{Kind: part.Worker, Index: i}.String()
		c := &client{t: t, push: r.Connect(part.RouterInput), ipc: r.Env.Endpoint(name)}
		registration := encode(t, &request.TokenizerWorkerRegistrationReq{RID: name, WorkerIPCName: c.ipc})
		stopped, stop := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			c.answer(t, r.Connect(part.RouterAnswers), stop)
		}()
		post(t, c.push, registration)
		for range 100 {
			post(t, c.push, encode(t, &request.AbortReq{RID: "r", AbortMessage: strings.Repeat("x", 5000)}))
			scheduler.Next()
		}
		c.Inbox = r.bind(name)
		if got := c.Next(); !bytes.Equal(got, registration) {
			t.Fatalf("got %.80q, want the registration", got)
		}
		c.Next() // an answer
		close(stop)
		<-stopped
	}
	r.stop()
}

// answer sends answers to the client until it is told to stop.
func (c *client) answer(t *testing.T, push transport.Push, stop chan struct{}) {
	answer := encode(t, &request.FlushCacheReqOutput{HTTPWorkerIPC: c.ipc})
	for {
		select {
		case <-stop:
			return
		default:
			if err := errors.Join(push.Send(answer), push.Flush()); err != nil {
				t.Error(err)
				return
			}
		}
	}
}

// TestRegistersAgain: a worker whose socket is a new one registers under the same
// name; its answers come to the new one.
func TestRegistersAgain(t *testing.T) {
	r := start(t, "zmtp")
	r.bind(part.Scheduler)
	c := r.client(0)
	c.register()
	c.register() // over a live connection
	c.Close()
	c.Inbox = r.bind("worker-0")
	c.register()
	frame := encode(t, c.flush(0))
	post(t, r.Connect(part.RouterAnswers), frame)
	if got := c.Next(); !bytes.Equal(got, frame) {
		t.Errorf("got %q, want the answer", got)
	}
	r.AwaitCount("registrations", 3)
	r.stop()
}

// TestAbortHasARoute: the scheduler's refusal reaches the worker that asked, of
// two, with its status (sglang#33858: no route, the client hung; sglang#31802: the
// status became 200).
func TestAbortHasARoute(t *testing.T) {
	r := start(t, "zmtp")
	r.bind(part.Scheduler)
	first, second := r.registered(0), r.registered(1)
	frame := encode(t, &request.AbortReq{RID: "rid-0", HTTPWorkerIPC: second.ipc, FinishedReason: &request.FinishReason{
		Type: "abort", Message: "The request queue is full.", StatusCode: 503, ErrType: "ServiceUnavailable",
	}})
	answers := r.Connect(part.RouterAnswers)
	post(t, answers, frame, encode(t, first.flush(0)))
	if got := second.Next(); !bytes.Equal(got, frame) {
		t.Errorf("got %q, want the abort", got)
	}
	if got := first.Next(); !bytes.Equal(got, encode(t, first.flush(0))) {
		t.Errorf("the other worker got %q, want its own answer only", got)
	}
	r.stop()
}

// TestAbortAll: an abort of everything without a worker's name goes to all; an
// abort of one rid, whose name is empty, to nobody.
func TestAbortAll(t *testing.T) {
	r := start(t, "zmtp")
	r.bind(part.Scheduler)
	clients := []*client{r.registered(0), r.registered(1), r.registered(2)}
	answers := r.Connect(part.RouterAnswers)
	all := encode(t, &request.AbortReq{AbortAll: true})
	post(t, answers, encode(t, &request.AbortReq{RID: "rid-0"}), encode(t, &request.FlushCacheReqOutput{RID: "rid-0"}), all)
	for _, c := range clients {
		if got := c.Next(); !bytes.Equal(got, all) {
			t.Errorf("%s: got %q, want the abort of all", c.ipc, got)
		}
		c.Nothing()
	}
	r.AwaitCount("answers_forwarded", 3)
	r.AwaitCount("answers_dropped_unknown", 2)
	r.stop()
}

// TestBadAnswers: what cannot be read and what is for nobody is counted and
// logged, and the answer behind it arrives.
func TestBadAnswers(t *testing.T) {
	r := start(t, "zmtp")
	r.bind(part.Scheduler)
	c := r.registered(0)
	good := encode(t, c.flush(0))
	answers := r.Connect(part.RouterAnswers)
	post(t, answers,
		[]byte{}, []byte("garbage"), []byte("\x91\xa4Nope"), []byte("\xdd\xff\xff\xff\xff"), good[:25], // malformed
		[]byte("\x93\xa8AbortReq\xa1r\x05"),               // http_worker_ipc is a number
		encode(t, &request.AbortReq{AbortAll: true})[:12], // without a name, and cut short
		encode(t, &request.FlushCacheReqOutput{RID: "r", HTTPWorkerIPC: r.Env.Endpoint("worker-7")}),
		good)
	if got := c.Next(); !bytes.Equal(got, good) {
		t.Errorf("got %q, want the good answer", got)
	}
	r.AwaitCount("answers_forwarded", 1)
	r.AwaitCount("frames_malformed", 7)
	r.AwaitCount("answers_dropped_unknown", 1)
	for what, n := range map[string]int{"worker-7": 1, "an answer cannot be read": 7} {
		if got := strings.Count(r.Log.String(), what); got != n {
			t.Errorf("the log says %q %d times, want %d:\n%s", what, got, n, r.Log)
		}
	}
	r.stop()
}

// TestBadRequests: a registration that cannot be read is counted; every other
// frame is the scheduler's to judge, and arrives as it was sent.
func TestBadRequests(t *testing.T) {
	r := start(t, "zmtp")
	scheduler := r.bind(part.Scheduler)
	c := r.registered(0)
	whole := encode(t, &request.TokenizerWorkerRegistrationReq{WorkerIPCName: c.ipc})
	unparsed := [][]byte{[]byte("garbage"), {}, []byte("\xdd\xff\xff\xff\xff"), []byte("\x91\xa4Nope")}
	post(t, c.push, whole[:len(whole)-3], encode(t, &request.TokenizerWorkerRegistrationReq{RID: "r"}))
	post(t, c.push, unparsed...)
	for i, want := range unparsed {
		if got := scheduler.Next(); !bytes.Equal(got, want) {
			t.Errorf("frame %d: got %q, want %q", i, got, want)
		}
	}
	r.AwaitCount("frames_malformed", 2)
	r.AwaitCount("requests_forwarded", uint64(len(unparsed)))
	r.stop()
}

// TestWorkerDies: answers for a worker that has left are counted as dropped, every
// one of them, and the other worker gets all of its own.
func TestWorkerDies(t *testing.T) {
	r := start(t, "zmtp")
	r.bind(part.Scheduler)
	dying, other := r.registered(0), r.registered(1)
	answers := r.Connect(part.RouterAnswers)
	const before, after = 10, 300 // after is more than a burst
	for i := range before {
		post(t, answers, encode(t, dying.flush(i)))
		dying.Next()
	}
	r.AwaitCount("answers_forwarded", before)
	dying.Close()
	var frames [][]byte
	for i := range after {
		last := dying.flush(i)
		if i > after/3 {
			last.Message = strings.Repeat("x", i%50*100) // some go out before the burst's end
		}
		frames = append(frames, encode(t, last), encode(t, other.flush(i)))
	}
	post(t, answers, frames[:after/3]...)
	post(t, answers, frames[after/3:]...)
	for i := range after {
		if got := other.Next(); !bytes.Equal(got, encode(t, other.flush(i))) {
			t.Fatalf("answer %d: got %q", i, got)
		}
	}
	r.AwaitCount("answers_forwarded", before+after)
	r.AwaitCount("answers_dropped_unreachable", after)
	r.stop()
}

// TestHungWorker: a worker that lives and does not receive costs one time-out;
// then its answers are dropped, and the other worker's go on.
func TestHungWorker(t *testing.T) {
	life := func(ctx context.Context, e part.Env) error { return run(ctx, e, 20*time.Millisecond) }
	r := &running{parttest.Start(t, life, part.Env{ID: part.ID{Kind: part.Router}, Args: args.Args{ZMQ: "zmtp"}, Folder: parttest.Folder(t)}), t}
	r.bind(part.Scheduler)
	hung, other := r.registered(0), r.registered(1)
	hung.Pause()
	answers := r.Connect(part.RouterAnswers)
	long := hung.flush(0)
	long.Message = strings.Repeat("x", 10000)
	const n = 500 // more than a socket takes
	for i := range n {
		post(t, answers, encode(t, long), encode(t, other.flush(i)))
		if got := other.Next(); !bytes.Equal(got, encode(t, other.flush(i))) {
			t.Fatalf("answer %d: got %.80q", i, got)
		}
	}
	var forwarded, dropped uint64
	for deadline := time.Now().Add(parttest.Patience); forwarded+dropped != 2*n; time.Sleep(time.Millisecond) {
		forwarded, dropped = r.Read("answers_forwarded").Count, r.Read("answers_dropped_unreachable").Count
		if time.Now().After(deadline) {
			t.Fatalf("%d answers forwarded and %d dropped, want %d together", forwarded, dropped, 2*n)
		}
	}
	if dropped == 0 || dropped == n {
		t.Errorf("%d of the hung worker's %d answers dropped, want some", dropped, n)
	}
	r.stop()
}

// TestManyWorkers: workers that come all at once are all registered (sglang#10121:
// of ten workers one booted and died for ever).
func TestManyWorkers(t *testing.T) {
	r := start(t, "zmtp")
	r.bind(part.Scheduler)
	const n = 32
	var clients []*client
	var frames [][]byte
	for i := range n {
		c := r.client(i)
		clients = append(clients, c)
		frames = append(frames, encode(t, &request.TokenizerWorkerRegistrationReq{WorkerIPCName: c.ipc}))
	}
	for i, c := range clients {
		post(t, c.push, frames[i])
	}
	for i, c := range clients {
		if got := c.Next(); !bytes.Equal(got, frames[i]) {
			t.Errorf("%s: got %q, want its registration back", c.ipc, got)
		}
	}
	r.AwaitCount("registrations", n)
	r.stop()
}

// TestUnreachableRegistration: a worker that has no socket keeps nobody waiting.
func TestUnreachableRegistration(t *testing.T) {
	r := start(t, "zmtp")
	r.bind(part.Scheduler)
	post(t, r.Connect(part.RouterInput), encode(t, &request.TokenizerWorkerRegistrationReq{WorkerIPCName: "tcp://127.0.0.1:1"}))
	r.AwaitCount("registrations_failed", 1)
	absent := encode(t, &request.TokenizerWorkerRegistrationReq{WorkerIPCName: r.Env.Endpoint("worker-9")})
	post(t, r.Connect(part.RouterInput), absent)
	r.registered(0)
	r.stop() // the dial to worker-9, still waiting, does not keep the router
}

// TestEnds: what ends a router, and with which error.
func TestEnds(t *testing.T) {
	t.Run("the scheduler dies", func(t *testing.T) {
		r := start(t, "zmtp")
		scheduler := r.bind(part.Scheduler)
		c := r.registered(0)
		r.AwaitReady()
		scheduler.Close()
		post(t, c.push, encode(t, ask(c.ipc, 0)))
		if err := r.Result(); !errors.Is(err, transport.ErrBroken) || !strings.Contains(err.Error(), "router: requests") {
			t.Errorf("%v, want a broken connection of the requests", err)
		}
	})
	t.Run("no scheduler", func(t *testing.T) {
		r := startIn(t, parttest.Folder(t), args.Args{ZMQ: "zmtp", StartTimeout: 0.05})
		if err := r.Result(); !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "router: scheduler") {
			t.Errorf("%v, want that the scheduler does not answer", err)
		}
	})
	t.Run("ended while it starts", func(t *testing.T) {
		r := start(t, "zmtp")
		c := r.registered(0)
		post(t, c.push, encode(t, ask(c.ipc, 0))) // waits for the scheduler
		for r.Read("requests").State != counters.Busy {
			time.Sleep(time.Millisecond)
		}
		r.stop()
	})
	t.Run("a router is there already", func(t *testing.T) {
		r := start(t, "zmtp")
		r.registered(0)
		if err := startIn(t, r.Env.Folder, r.Env.Args).Result(); err == nil {
			t.Error("a second router in one folder started")
		}
		r.stop()
	})
}

package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/server/api"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
	"github.com/fanoutbench/fanoutbench/runtime/server/metrics"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

const (
	// answerGrace is how long clients have to read the error when the server fails.
	answerGrace = time.Second
	// drainGrace is longer than any Args.ShutdownTimeout, which ends the context.
	drainGrace = 48 * time.Hour
	// drainPoll is how often requests without a client are looked for.
	drainPoll = 5 * time.Millisecond
)

// worker is the part's state.
type worker struct {
	env     part.Env
	manager *manager.Manager
	state   atomic.Int32 // an api.State, as far as it is known here

	rows task // manager.Run
	http task // api.Serve

	endHTTP context.CancelFunc // takes nothing new
	cutHTTP chan struct{}      // closed: ends what runs
}

// task is a function that runs.
type task struct {
	done chan struct{} // closed at its end
	err  error         // valid then
}

func (t *task) start(f func() error) {
	t.done = make(chan struct{})
	go func() {
		t.err = f()
		close(t.done)
	}()
}

// Run is the part's life.
func Run(ctx context.Context, e part.Env) error {
	files, err := openFiles()
	var most int
	if err == nil {
		most, err = connections(e.Args, files)
	}
	if err != nil {
		return errors.Join(err, e.Listener.Close())
	}
	e.Listener = limit(e.Listener, most)
	return run(ctx, e)
}

func run(ctx context.Context, e part.Env) (err error) {
	defer func() { err = errors.Join(err, closed(e.Listener.Close())) }() // if api.Serve has not
	set, err := counters.Create(part.CountersPath(e.Folder, e.ID), manager.Specs())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	ipc := e.Endpoint(e.ID.String())
	pull, err := transport.Bind(e.Args.ZMQ, ipc, transport.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pull.Close()) }()
	push, err := transport.Connect(ctx, e.Args.ZMQ, e.Endpoint(part.RouterInput), transport.Options{DialTimeout: seconds(e.Args.StartTimeout)})
	if err != nil {
		return err
	}
	defer func() {
		if wrong := push.Close(); wrong != nil { // the router may have left before
			e.Log.Debug("the connection to the router did not close cleanly", "error", wrong)
		}
	}()
	w := &worker{env: e, cutHTTP: make(chan struct{})}
	handler, err := w.build(ipc, push, set)
	if err != nil {
		return err
	}
	return w.run(ctx, pull, handler)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// closed is the error of closing what may be closed already.
func closed(err error) error {
	if err != nil && errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// build makes the manager and the handler of its requests.
func (w *worker) build(ipc string, push transport.Push, set *counters.Set) (http.Handler, error) {
	a := w.env.Args
	tokenizer, err := backend.NewTokenizer(a)
	if err != nil {
		return nil, err
	}
	info, err := backend.Describe(a)
	if err != nil {
		return nil, err
	}
	template, err := backend.ChatTemplate(a)
	if err != nil {
		return nil, err
	}
	w.manager, err = manager.New(manager.Config{
		IPC: ipc, Sender: push, Tokenizer: tokenizer, Counters: set, Log: w.env.Log,
		Limits: model.Limits{VocabSize: info.VocabSize, ContextLength: info.ContextLength, EOS: info.EOS},
	}.Settings(a))
	if err != nil {
		return nil, err
	}
	var metered http.Handler
	if a.EnableMetrics {
		if metered, err = metrics.Handler(w.env, info.Name); err != nil {
			return nil, err
		}
	}
	c := api.Config{
		Service: w.manager, Tokenizer: tokenizer, Info: info, Args: a, Log: w.env.Log, Version: args.Version(),
		State: w.current, Stuck: w.stuck, Metrics: metered,
	}
	if template != nil { // or the interface would not be nil
		c.Template = template
	}
	return api.New(c), nil
}

// current is the server's state. While it starts each request looks how far it is.
func (w *worker) current() api.State {
	known := w.state.Load()
	if api.State(known) >= api.Serving {
		return api.State(known)
	}
	stage, err := part.Reached(w.env.Folder)
	if err != nil {
		w.env.Log.Warn("cannot tell whether the server serves", "error", err)
	}
	now := map[part.Stage]api.State{part.Starting: api.Starting, part.Warming: api.Warming, part.Serving: api.Serving}[stage]
	w.state.CompareAndSwap(known, int32(now)) // unless it ends meanwhile
	return api.State(w.state.Load())
}

// stuck names the parts that have not moved for half of the time that a health
// check waits: those that have waited for them as long are not busy.
func (w *worker) stuck() string {
	names, err := counters.Stuck(w.env.Folder, counters.Now(), seconds(w.env.Args.HealthTimeout)/2)
	if err != nil {
		w.env.Log.Warn("cannot tell which part is stuck", "error", err)
	}
	return strings.Join(names, ", ")
}

// run serves until ctx ends or something fails.
func (w *worker) run(ctx context.Context, pull transport.Pull, handler http.Handler) error {
	receiving, stop := context.WithCancel(context.Background())
	defer stop()
	w.rows.start(func() error { return w.manager.Run(receiving, pull) })
	serving, endHTTP := context.WithCancel(context.Background())
	defer endHTTP()
	w.endHTTP = endHTTP
	w.http.start(func() error {
		return api.Serve(serving, w.env.Listener, handler, api.ServeOptions{Grace: drainGrace, Cut: w.cutHTTP, Log: w.env.Log})
	})

	err := w.live(ctx)
	w.state.Store(int32(api.Ending))
	w.manager.Fail(err) // every client that waits gets it
	w.leaveHTTP()
	stop()
	<-w.rows.done
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// live is the part's work. What it returns is never nil: why the work has ended.
func (w *worker) live(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, seconds(w.env.Args.StartTimeout))
	defer cancel()
	if err := w.manager.Register(bounded); err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	w.env.Ready()
	select {
	case <-w.env.Ending:
		return w.drain(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.manager.Failed():
		return w.manager.Err()
	case <-w.http.done:
		return w.httpEnded()
	}
}

// httpEnded is the error of HTTP that nobody has ended.
func (w *worker) httpEnded() error {
	if w.http.err == nil {
		return errors.New("worker: HTTP has ended, which nobody had asked for")
	}
	return fmt.Errorf("worker: %w", w.http.err)
}

// drain finishes what there is and waits for the context's end.
func (w *worker) drain(ctx context.Context) error {
	w.state.Store(int32(api.Ending))
	w.endHTTP()
	poll := time.NewTicker(drainPoll)
	defer poll.Stop()
	answered, drained := w.http.done, false
	for {
		select {
		case <-answered:
			if w.http.err != nil {
				return w.httpEnded()
			}
			answered = nil
		case <-poll.C:
			if !drained && answered == nil && w.manager.InFlight() == 0 {
				drained = true
				w.env.Drained()
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.manager.Failed():
			return w.manager.Err()
		}
	}
}

// leaveHTTP waits until the clients have their answers, but not for those that do
// not read.
func (w *worker) leaveHTTP() {
	w.endHTTP()
	select {
	case <-w.http.done:
	case <-time.After(answerGrace):
		close(w.cutHTTP)
		<-w.http.done
	}
}

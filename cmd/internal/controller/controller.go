package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// Config says which worker to run.
type Config struct {
	Worker   []string // command line of the worker
	Consumer []string // of a consumer in a process of its own
	Strategy string
	Log      io.Writer // the worker's standard error
}

// Options of a builtin arm.
const (
	optionZMQ          = "zmq"
	optionDetokenizers = protocol.OptionDetokenizers
	optionRouter       = protocol.OptionRouter
	optionMethod       = "method" // of the worker's detokenizer, which alone knows which there are
)

type controller struct {
	conf    Config
	conn    *protocol.Conn
	hello   protocol.Hello
	options map[string]string
	inbox   consumers
	routing protocol.Routing
	loop    loop
	ends    []string // the consumers' endpoints
	crew    *crew
	push    transport.Push
	frame   []byte // buffer of outgoing frames
	vocab   vocabularyFile
	start   time.Time             // zero of this process's own clock
	now     func() (int64, error) // CLOCK_MONOTONIC
}

// Run serves one driver until it says stop or its input ends. What goes wrong
// is also told to the driver, in an error line.
func Run(ctx context.Context, in io.Reader, out io.Writer, conf Config) (err error) {
	c := &controller{conf: conf, conn: protocol.NewConn(in, out), start: time.Now(), now: monotonicNow}
	lines := make(chan lineOrError, 1) // one ahead, so that the input's end behind a line is seen at once
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go c.read(ctx, cancel, lines)
	err = c.serve(ctx, lines)
	if err != nil && !errors.Is(err, errInputEnded) {
		err = errors.Join(err, c.conn.Send(protocol.Error{Type: protocol.TypeError, Message: err.Error()}))
	}
	return errors.Join(err, c.close())
}

type lineOrError struct {
	line protocol.Line
	err  error
}

var errInputEnded = errors.New("controller: the driver's end of the pipe closed without a stop")

// read passes lines on. When the input ends, whatever runs is cancelled: the
// driver has died, and nothing of this arm may outlive it.
func (c *controller) read(ctx context.Context, cancel context.CancelCauseFunc, lines chan<- lineOrError) {
	for {
		line, err := c.conn.Receive()
		if errors.Is(err, io.EOF) {
			err = errInputEnded
		}
		if err != nil {
			cancel(err)
		}
		select {
		case lines <- lineOrError{line, err}:
		case <-ctx.Done():
		}
		if err != nil {
			return
		}
	}
}

func next(ctx context.Context, lines <-chan lineOrError) (protocol.Line, error) {
	select {
	case l := <-lines:
		return l.line, l.err
	case <-ctx.Done():
		return protocol.Line{}, context.Cause(ctx)
	}
}

func (c *controller) serve(ctx context.Context, lines <-chan lineOrError) error {
	line, err := next(ctx, lines)
	if err != nil {
		return err
	}
	receipt, err := c.open(ctx, line)
	if err != nil {
		return err
	}
	if err := c.conn.Send(receipt); err != nil {
		return err
	}
	for {
		line, err := next(ctx, lines)
		if err != nil {
			return err
		}
		switch line.Type {
		case protocol.TypeTrial:
			var t protocol.Trial
			if err := line.Decode(&t); err != nil {
				return err
			}
			result, err := c.trial(ctx, t)
			if err != nil {
				return err
			}
			if err := c.conn.Send(result); err != nil {
				return err
			}
		case protocol.TypeStop:
			if err := c.leave(ctx); err != nil {
				return err
			}
			return c.conn.Send(protocol.Signal{Type: protocol.TypeStopped})
		default:
			return fmt.Errorf("controller: a line of type %q, want %q or %q", line.Type, protocol.TypeTrial, protocol.TypeStop)
		}
	}
}

// open checks hello and brings the arm up.
func (c *controller) open(ctx context.Context, line protocol.Line) (protocol.Receipt, error) {
	var r protocol.Receipt
	if err := line.Expect(protocol.TypeHello, &c.hello); err != nil {
		return r, err
	}
	if err := c.check(); err != nil {
		return r, err
	}
	var err error
	if c.inbox, err = c.openConsumers(ctx); err != nil {
		return r, err
	}
	wait := time.Duration(c.hello.WaitMS) * time.Millisecond
	crew, err := c.startCrew(ctx)
	if err != nil {
		return r, err
	}
	c.crew = crew
	// A worker that takes no more bytes blocks a write of this process; without
	// it the write fails at once.
	context.AfterFunc(ctx, func() { _ = crew.stop() }) // close returns the same error
	c.push, err = transport.Connect(ctx, c.options[optionZMQ], c.endpoint(inputName), transport.Options{DialTimeout: wait, SendTimeout: wait})
	if err != nil {
		return r, err
	}
	return c.receipt()
}

func (c *controller) check() error {
	h := c.hello
	switch {
	case h.Version != protocol.Version:
		return fmt.Errorf("controller: protocol version %d, this controller speaks %d", h.Version, protocol.Version)
	case !slices.Contains(transports, h.Transport):
		return fmt.Errorf("controller: transport %q, a builtin arm has %s", h.Transport, strings.Join(transports, " and "))
	case h.HTTPWorkers < 1:
		return fmt.Errorf("controller: http_workers is %d, want at least 1", h.HTTPWorkers)
	case h.Consumer != protocol.ConsumerDecode && h.Consumer != protocol.ConsumerRaw:
		return fmt.Errorf("controller: consumer %q, want %q or %q", h.Consumer, protocol.ConsumerDecode, protocol.ConsumerRaw)
	case h.WaitMS < 1:
		return fmt.Errorf("controller: wait_ms is %d, want at least 1", h.WaitMS)
	}
	if _, err := protocol.ParsePace(h.Pace); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	if err := c.checkConsumers(); err != nil {
		return err
	}
	if err := c.setOptions(); err != nil {
		return err
	}
	return c.setLoop()
}

// setOptions checks the options of hello and writes the defaults of others out.
func (c *controller) setOptions() (err error) {
	h := c.hello
	c.options = map[string]string{optionZMQ: transport.Engines()[0], optionDetokenizers: "", optionRouter: "", optionMethod: protocol.MethodOffset}
	for _, name := range slices.Sorted(maps.Keys(h.Options)) {
		if _, ok := c.options[name]; !ok && name != protocol.OptionDelay {
			return fmt.Errorf("controller: option %q is not one of a builtin arm's: %s", name, strings.Join(slices.Sorted(maps.Keys(c.options)), ", "))
		}
		c.options[name] = h.Options[name]
	}
	if c.routing, err = protocol.ParseRouting(h.Options); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	if _, err = protocol.ParseDelay(h.Options); err != nil {
		return fmt.Errorf("controller: %w", err)
	}
	c.options[optionDetokenizers] = strconv.Itoa(c.routing.Detokenizers)
	c.options[optionRouter] = c.routing.Router
	return nil
}

var transports = []string{protocol.TransportMsgpack, protocol.TransportNative}

func (c *controller) endpoint(name string) string { return "ipc://" + filepath.Join(c.hello.Dir, name) }

func (c *controller) receipt() (protocol.Receipt, error) {
	binaries, err := c.binaries()
	if err != nil {
		return protocol.Receipt{}, err
	}
	return protocol.Receipt{
		Type:           protocol.TypeReceipt,
		Version:        protocol.Version,
		Runtime:        "fanoutbench",
		RuntimeVersion: c.crew.ready().Version,
		Transports:     transports,
		Transport:      c.hello.Transport,
		Strategy:       c.crew.ready().Strategy,
		Options:        c.options,
		PIDs:           c.crew.pids(),
		Packages:       c.crew.ready().Packages,
		Sources:        []protocol.Source{}, // the driver hashes a Go tree's files itself
		BinarySHA256:   binaries,
		Counters:       c.crew.counters(),
		Endpoints:      c.ends,
		Router:         c.options[optionRouter],
		Detokenizers:   c.routing.Detokenizers,
		Consumers:      c.hello.Consumers,
		Messages:       messageLayouts(c.loop.class),
	}, nil
}

func (c *controller) trial(ctx context.Context, t protocol.Trial) (protocol.Result, error) {
	var w protocol.Work
	if err := protocol.ReadFile(t.Work, &w); err != nil {
		return protocol.Result{}, err
	}
	r, err := c.play(ctx, t, w)
	if err != nil {
		return r, fmt.Errorf("controller: trial %s: %w", t.ID, c.crew.explain(ctx, err))
	}
	return r, nil
}

// play runs one trial: untimed preparation, the timed stream, the fence, the
// quiet period, the report.
func (c *controller) play(ctx context.Context, t protocol.Trial, w protocol.Work) (protocol.Result, error) {
	ctx, cancel := c.crew.watch(ctx)
	defer cancel()
	stream, err := c.outgoing(w.Stream)
	if err != nil {
		return protocol.Result{}, err
	}
	fence, err := c.outgoing(w.Fence)
	if err != nil {
		return protocol.Result{}, err
	}
	all := append(slices.Clone(stream), fence...)
	if t.Profile != "" {
		err := c.replay(ctx, t, w, stream)
		if err != nil && !unprofiled(err) {
			return protocol.Result{}, err
		}
		if err != nil {
			t.Profile = "" // the driver says that there is none
		}
	}
	if err := c.prepare(ctx, t, w, all); err != nil {
		return protocol.Result{}, err
	}
	if err := c.checkSchedule(len(w.Stream)); err != nil {
		return protocol.Result{}, err
	}
	run := newRun(c, w)
	runtime.GC()
	percent := debug.SetGCPercent(-1)
	metrics, err := run.measure(ctx, stream, fence)
	debug.SetGCPercent(percent)
	if err != nil {
		return protocol.Result{}, err
	}
	counters, err := c.crew.report(ctx, len(w.Stream))
	if err != nil {
		return protocol.Result{}, err
	}
	delivery, err := c.inbox.collect(ctx)
	if err != nil {
		return protocol.Result{}, err
	}
	rows, err := protocol.WriteFile(filepath.Join(c.hello.Dir, "rows.json"), delivery)
	return protocol.Result{
		Type:     protocol.TypeResult,
		ID:       t.ID,
		Metrics:  metrics,
		Counters: counters,
		Rows:     rows,
		Stalled:  run.stalled,
	}, err
}

// offset is what to add to a time of this process's own clock, in seconds, to
// get the shared clock.
func (c *controller) offset() float64 {
	now := time.Now()
	return float64(now.UnixNano())/1e9 - now.Sub(c.start).Seconds()
}

// leave ends the arm in good order. A row that comes after the last trial's
// quiet period is found here, once the worker has sent all it will.
func (c *controller) leave(ctx context.Context) error {
	err := c.closeWorker()
	if err == nil {
		err = c.inbox.surplus(ctx)
	}
	return errors.Join(err, c.close())
}

func (c *controller) closeWorker() error {
	var errs []error
	if c.push != nil {
		errs = append(errs, c.push.Close())
		c.push = nil
	}
	if c.crew != nil {
		errs = append(errs, c.crew.stop())
		c.crew = nil
	}
	return errors.Join(errs...)
}

func (c *controller) close() error {
	err := c.closeWorker()
	if c.inbox != nil {
		err = errors.Join(err, c.inbox.close())
		c.inbox = nil
	}
	return err
}

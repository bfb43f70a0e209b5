package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/fanout"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// Hooks change a worker for tests of the harness. The zero value changes
// nothing.
type Hooks struct {
	// Sender stands between the strategy and the PUSH to one HTTP worker.
	Sender func(ipc string, s fanout.Sender) fanout.Sender
	// Open opens an opaque column, see fanout.Config.
	Open func(*wire.Opaque) (wire.Value, error)
}

// maxErrors bounds what a report lists of the failures since prepare.
const maxErrors = 16

type worker struct {
	hooks Hooks
	conn  *protocol.Conn
	conf  protocol.Configure

	mu       sync.Mutex // held by the loop while it handles a batch, and by the control pipe
	strategy strategy
	routing  *routing // of a router only
	vocab    string   // the hash of the strategy's vocabulary
	senders  map[string]transport.Push
	counters fanout.Counters
	tally    tally
	failures []string
	profile  profiler
}

// strategy is what the loop hands batches to, a fanout strategy or a router's.
type strategy interface{ Batch(frame []byte) error }

// Run serves one controller until its input ends or ctx is done. It fails if
// the control pipe breaks its contract; what fails on the measured plane is
// reported, and the loop goes on.
func Run(ctx context.Context, in io.Reader, out io.Writer, hooks Hooks) (err error) {
	w := &worker{hooks: hooks, conn: protocol.NewConn(in, out), senders: map[string]transport.Push{}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pull, err := w.configure()
	if err != nil {
		return errors.Join(err, w.conn.Send(protocol.Error{Type: protocol.TypeError, Message: err.Error()}))
	}
	defer func() { err = errors.Join(err, pull.Close(), w.closeSenders(), w.endProfile()) }()
	control := make(chan error, 1)
	go func() {
		markControl(ctx)
		control <- w.control()
		cancel()
	}()
	loopErr := w.loop(ctx, pull)
	select {
	case err := <-control:
		return err
	default:
		return loopErr // a cancelled ctx, or a socket that failed
	}
}

func (w *worker) configure() (transport.Pull, error) {
	line, err := w.conn.Receive()
	if err != nil {
		return nil, err
	}
	if err := line.Expect(protocol.TypeConfigure, &w.conf); err != nil {
		return nil, err
	}
	if w.conf.WireVersion != protocol.WireVersion {
		return nil, fmt.Errorf("worker: the controller speaks wire version %d, this worker %d", w.conf.WireVersion, protocol.WireVersion)
	}
	info, err := w.describe()
	if err != nil {
		return nil, err
	}
	if w.routing, err = w.route(); err != nil {
		return nil, err
	}
	if err := w.checkMethod(); err != nil {
		return nil, err
	}
	if d := w.conf.DelayUS; d < 0 || d > protocol.MaxDelayUS || d > 0 && w.routing != nil {
		return nil, fmt.Errorf("worker: delay_us is %d, want 0 to %d, and none of a router", d, protocol.MaxDelayUS)
	}
	pull, err := transport.Bind(w.conf.ZMQ, w.conf.Endpoint, transport.Options{})
	if err != nil {
		return nil, err
	}
	return pull, w.conn.Send(protocol.Ready{
		Type:          protocol.TypeReady,
		WireVersion:   protocol.WireVersion,
		Version:       version(),
		Strategy:      info.Name,
		NeedsPrepared: info.NeedsPrepared,
		Packages:      packages(),
		Counters:      counterNames(),
	})
}

// loop is the detokenizer loop. A cancelled ctx is a normal end.
func (w *worker) loop(ctx context.Context, pull transport.Pull) error {
	for {
		frame, err := pull.Recv(ctx)
		var peer *transport.PeerError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &peer):
			w.fail(err)
			continue
		case err != nil:
			return err
		}
		w.batch(frame)
	}
}

func (w *worker) batch(frame []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tally.begin(w.counters)
	if w.strategy == nil {
		w.note(errors.New("worker: a batch came before prepare"))
		return
	}
	busyFor(time.Duration(w.conf.DelayUS) * time.Microsecond)
	if err := w.strategy.Batch(frame); err != nil {
		w.note(err)
	}
	if w.routing != nil {
		w.counters = fanout.Counters(w.routing.counters)
	}
}

func (w *worker) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(err)
}

func (w *worker) note(err error) {
	if len(w.failures) < maxErrors {
		w.failures = append(w.failures, err.Error())
	}
}

// control answers lines until the input ends, which is nil.
func (w *worker) control() error {
	for {
		line, err := w.conn.Receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer, err := w.answer(line)
		if err != nil {
			answer = protocol.Error{Type: protocol.TypeError, Message: err.Error()}
		}
		if err := w.conn.Send(answer); err != nil {
			return err
		}
	}
}

func (w *worker) answer(line protocol.Line) (any, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch line.Type {
	case protocol.TypePrepare:
		var p protocol.Prepare
		if err := line.Decode(&p); err != nil {
			return nil, err
		}
		return protocol.Signal{Type: protocol.TypePrepared}, w.prepare(p)
	case protocol.TypeReport:
		r := w.tally.report(w.counters)
		r.Errors = w.failures
		return r, nil
	}
	return nil, fmt.Errorf("worker: a line of type %q, want %q or %q", line.Type, protocol.TypePrepare, protocol.TypeReport)
}

func (w *worker) prepare(p protocol.Prepare) error {
	if p.Batches < 0 {
		return fmt.Errorf("worker: prepare for %d batches, want at least 0", p.Batches)
	}
	if w.strategy == nil || w.vocab != p.Vocabulary.SHA256 {
		if err := w.build(p.Vocabulary); err != nil {
			return err
		}
	}
	if s, ok := w.strategy.(fanout.Prepared); ok {
		if p.Frames == nil {
			return fmt.Errorf("worker: strategy %s needs the stream's frames in prepare", w.conf.Strategy)
		}
		var f protocol.Frames
		if err := protocol.ReadFile(*p.Frames, &f); err != nil {
			return err
		}
		if err := s.Prepare(f.Frames); err != nil {
			return err
		}
	}
	w.failures = nil
	err := w.profile.follow(p.Profile)
	w.tally = newTally(p.Batches, w.counters)
	return err
}

func (w *worker) build(f protocol.File) (err error) {
	if w.routing != nil {
		w.vocab = f.SHA256
		w.strategy, err = w.routing.strategy(w.conf)
		return err
	}
	var v protocol.Vocabulary
	if err := protocol.ReadFile(f, &v); err != nil {
		return err
	}
	detok, err := w.detokenizer(v)
	if err != nil {
		return err
	}
	w.strategy, err = fanout.New(w.conf.Strategy, fanout.Config{
		Detokenizer: detok,
		Dial:        w.dial,
		Counters:    &w.counters,
		Open:        w.hooks.Open,
	})
	w.vocab = f.SHA256
	return err
}

// dial opens the PUSH to an HTTP worker on its first row, as SGLang does, and
// keeps it.
func (w *worker) dial(ipc string) (fanout.Sender, error) {
	push, err := w.connect(ipc)
	if err == nil && w.hooks.Sender != nil {
		return w.hooks.Sender(ipc, push), nil
	}
	return push, err
}

func (w *worker) connect(ipc string) (transport.Push, error) {
	push, ok := w.senders[ipc]
	if !ok {
		var err error
		opt := transport.Options{SendTimeout: time.Duration(w.conf.SendMS) * time.Millisecond}
		if push, err = transport.Connect(context.Background(), w.conf.ZMQ, ipc, opt); err != nil {
			return nil, err
		}
		w.senders[ipc] = push
	}
	return push, nil
}

func (w *worker) closeSenders() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for ipc, push := range w.senders {
		if err := push.Close(); err != nil {
			errs = append(errs, fmt.Errorf("worker: close %s: %w", ipc, err))
		}
	}
	return errors.Join(errs...)
}

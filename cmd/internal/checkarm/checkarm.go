// Package checkarm plays the arm protocol with an arm, one clause after the
// other, as a driver would and as a careless one might. An author of an arm
// runs it before the arm is measured.
//
// Each clause has a process of its own, so that a fault in one does not hide
// the next; of an arm whose controller can be used again, one that this controller
// starts, until a clause ends it. Rows are judged by the same oracle as in a run.
package checkarm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/oracle"
	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
)

// Time-outs where none are given: of a trial and of an arm's start.
const (
	DefaultTimeout      = 30 * time.Second
	DefaultStartTimeout = 10 * time.Second
)

// Config is an arm to check.
type Config struct {
	Arm                   arm.Arm
	Transport             string
	Timeout, StartTimeout time.Duration
	Log                   io.Writer
}

// Clause is one thing an arm must do. Err says how it failed to, or is nil.
type Clause struct {
	Name string
	Err  error
}

const consumers = 4

// seed and the ordinals of the streams are fixed, so that a failure repeats.
const seed = 1

type checker struct {
	conf Config
	dir  string
	n    int

	answered bool         // hello, at least once
	again    bool         // its receipt offers to be used again
	resting  *arm.Session // a controller for the next clause
}

// Run plays the clauses in order.
func Run(ctx context.Context, conf Config) iter.Seq[Clause] {
	return func(yield func(Clause) bool) {
		dir, err := arm.PrivateDir()
		if err != nil {
			yield(Clause{"a private folder", err})
			return
		}
		c := &checker{conf: conf, dir: dir}
		defer func() {
			if c.resting != nil {
				c.resting.Close()
			}
		}()
		for _, k := range []struct {
			name string
			play func(context.Context) error
		}{
			{"handshake: the receipt answers hello", c.handshake},
			{"fields: the message has every field of the streams that goes through", c.fields},
			{"trial: plain and rich streams are delivered, decoded on receipt", c.trials(protocol.ConsumerDecode, protocol.PaceArrived)},
			{"trial: the same with a raw consumer, sent without waiting", c.trials(protocol.ConsumerRaw, protocol.PaceNone)},
			{"rows: a single consumer gets everything", c.single},
			{"full: each field of the arm's message is the row's own, in every row", c.full},
			{"mixed: bytes, stop strings and tokens, requests that end at different steps", c.mixed},
			{"again: after stopped another hello is answered, as the first, from fresh processes", c.usedAgain},
			{"version: a hello of another version is answered with error", c.wrongVersion},
			{"transport: a hello for an unknown transport is answered with error", c.wrongTransport},
			{"bulk: a work file with another hash is answered with error", c.wrongHash},
			{"end of input: the arm leaves within its time, no socket file left", c.endOfInput},
			{"stop: stopped, exit status 0, no socket file left", c.stop},
		} {
			if strings.HasPrefix(k.name, "again:") && !c.again {
				continue // it does not offer it
			}
			err := k.play(ctx)
			if !yield(Clause{k.name, err}) {
				_ = os.RemoveAll(dir) // nobody listens any more
				return
			}
			if !c.answered {
				break // the other clauses would say the same
			}
		}
		if err := os.RemoveAll(dir); err != nil {
			yield(Clause{"a private folder", err})
		}
	}
}

// start brings the arm up with a folder of its own; change edits the hello.
func (c *checker) start(ctx context.Context, change func(*protocol.Hello)) (*arm.Session, string, error) {
	c.n++
	dir := filepath.Join(c.dir, fmt.Sprintf("clause-%d", c.n))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, dir, err
	}
	h := protocol.Hello{
		Version: protocol.Version, Transport: c.conf.Transport, HTTPWorkers: consumers,
		Consumer: protocol.ConsumerDecode, Pace: protocol.PaceArrived, Dir: dir,
		WaitMS: max(1, int(c.conf.Timeout.Milliseconds())*2/3),
	}
	if change != nil {
		change(&h)
	}
	conf := arm.StartConfig{Name: "arm", Hello: h, Timeout: c.conf.StartTimeout, Log: c.conf.Log}
	if s := c.resting; s != nil {
		c.resting = nil
		return s, dir, s.Wake(ctx, conf)
	}
	s, err := arm.Start(ctx, c.conf.Arm, conf)
	return s, dir, err
}

// done ends what a clause began; a controller that can be used again is kept.
func (c *checker) done(ctx context.Context, s *arm.Session) error {
	if !s.Receipt.Again || s.Faulty() {
		return s.Stop(ctx)
	}
	err := s.Rest(ctx)
	if err == nil {
		c.resting = s
	}
	return err
}

func (c *checker) handshake(ctx context.Context) error {
	s, _, err := c.start(ctx, nil)
	if err != nil {
		return err
	}
	c.answered, c.again = true, s.Receipt.Again
	r := s.Receipt
	switch {
	case r.Runtime == "":
		err = errors.New("receipt: runtime is empty")
	case r.Strategy == "":
		err = errors.New("receipt: strategy is empty")
	case len(r.BinarySHA256) == 0 && len(r.Sources) == 0:
		err = errors.New("receipt: neither sources nor binary_sha256 say what runs")
	case r.Router == "":
		err = errors.New("receipt: router is empty, want how a detokenizer is chosen, or none")
	}
	return errors.Join(err, c.done(ctx, s))
}

// fields wants what the streams set, and what a worker makes, in the receipt.
func (c *checker) fields(ctx context.Context) error {
	s, _, err := c.start(ctx, nil)
	if err != nil {
		return err
	}
	data, err := stream.Seed(seed, stream.Place{Cell: protocol.Cell{Count: 1, Metadata: stream.Rich}}, consumers)
	if err != nil {
		return errors.Join(err, c.done(ctx, s))
	}
	want, err := oracle.New(data, consumers)
	if err != nil {
		return errors.Join(err, c.done(ctx, s))
	}
	missing := want.Unjudged(layout(s.Receipt))
	if len(missing) > 0 {
		err = fmt.Errorf("receipt: message %s lacks %s", s.Receipt.Messages[0].Name, strings.Join(missing, ", "))
	}
	return errors.Join(err, c.done(ctx, s))
}

func (c *checker) trials(consumer, pace string) func(context.Context) error {
	return func(ctx context.Context) error {
		s, dir, err := c.start(ctx, func(h *protocol.Hello) { h.Consumer, h.Pace = consumer, pace })
		if err != nil {
			return err
		}
		for i, cell := range []protocol.Cell{{Count: 1, Metadata: stream.Plain}, {Count: 1, Metadata: stream.Rich}, {Count: 7, Metadata: stream.Plain}, {Count: 33, Metadata: stream.Rich}} {
			if err := c.trial(ctx, s, dir, i, cell, consumers); err != nil {
				return errors.Join(fmt.Errorf("count %d, metadata %s: %w", cell.Count, cell.Metadata, err), c.done(ctx, s))
			}
		}
		return c.done(ctx, s)
	}
}

func (c *checker) single(ctx context.Context) error {
	s, dir, err := c.start(ctx, func(h *protocol.Hello) { h.HTTPWorkers = 1 })
	if err != nil {
		return err
	}
	return errors.Join(c.trial(ctx, s, dir, 0, protocol.Cell{Count: 5, Metadata: stream.Rich}, 1), c.done(ctx, s))
}

// trial plays one stream and has its rows judged.
func (c *checker) trial(ctx context.Context, s *arm.Session, dir string, ordinal int, cell protocol.Cell, workers int) error {
	data, file, err := c.work(dir, ordinal, cell, workers)
	if err != nil {
		return err
	}
	return c.judge(ctx, s, data, ordinal, cell, file)
}

// judge plays a stream that is in a file and has its rows judged.
func (c *checker) judge(ctx context.Context, s *arm.Session, data protocol.Work, ordinal int, cell protocol.Cell, file protocol.File) error {
	want, err := oracle.New(data, len(s.Receipt.Endpoints))
	if err != nil {
		return err
	}
	t := protocol.Trial{ID: fmt.Sprint(ordinal), Cell: cell, Work: file}
	r, outer, err := s.Trial(ctx, t, c.conf.Timeout)
	if err != nil {
		return err
	}
	var d protocol.Delivery
	if err := protocol.ReadFile(r.Rows, &d); err != nil {
		return err
	}
	if err := want.Check(layout(s.Receipt), d.Rows); err != nil {
		return err
	}
	return checkMetrics(r.Metrics, float64(outer.Nanoseconds())/1e6)
}

// checkMetrics: no part takes longer than the whole.
func checkMetrics(m protocol.Metrics, outerMS float64) error {
	if m.CompleteMS <= 0 || m.CompleteMS > outerMS {
		return fmt.Errorf("complete_ms is %v, want more than 0 and at most the %v ms that the whole trial took", m.CompleteMS, outerMS)
	}
	for _, part := range []struct {
		name string
		ms   *float64
	}{{"first_ms", m.FirstMS}, {"first_all_ms", m.FirstAllMS}, {"spread_ms", m.SpreadMS}} {
		if part.ms != nil && (*part.ms < 0 || *part.ms > m.CompleteMS) {
			return fmt.Errorf("%s is %v, want 0 to complete_ms, %v", part.name, *part.ms, m.CompleteMS)
		}
	}
	return nil
}

func (c *checker) work(dir string, ordinal int, cell protocol.Cell, workers int) (protocol.Work, protocol.File, error) {
	data, err := stream.Seed(seed, stream.Place{Cell: cell, Ordinal: uint32(ordinal)}, workers)
	if err != nil {
		return data, protocol.File{}, err
	}
	return c.write(dir, ordinal, data)
}

// write puts a stream into a file, with the fence that the arm needs.
func (c *checker) write(dir string, ordinal int, data protocol.Work) (protocol.Work, protocol.File, error) {
	routing, err := protocol.ParseRouting(c.conf.Arm.Options)
	if err != nil {
		return data, protocol.File{}, err
	}
	if data.Fence, err = stream.FencePaths(routing).Widen(data.Fence); err != nil {
		return data, protocol.File{}, err
	}
	file, err := protocol.WriteFile(filepath.Join(dir, fmt.Sprintf("work-%d.json", ordinal)), data)
	return data, file, err
}

// layout judges an arm by its own message: every field of it counts.
func layout(r protocol.Receipt) oracle.Layout {
	l := oracle.Layout{Endpoints: r.Endpoints, Detokenizers: r.Detokenizers, Defaults: map[string]json.RawMessage{}}
	for _, f := range r.Messages[0].Fields {
		l.Defaults[f.Name] = f.Default
	}
	return l
}

// refused wants err to be the arm's own word, not a silence or a crash.
func refused(err error) error {
	var peer *protocol.PeerError
	switch {
	case err == nil:
		return errors.New("it went on as if nothing was wrong")
	case errors.As(err, &peer):
		return nil
	}
	return fmt.Errorf("want an error line, got: %w", err)
}

func (c *checker) refusedStart(ctx context.Context, change func(*protocol.Hello)) error {
	s, _, err := c.start(ctx, change)
	if err == nil {
		return errors.Join(refused(nil), s.Stop(ctx))
	}
	return refused(err)
}

func (c *checker) wrongVersion(ctx context.Context) error {
	return c.refusedStart(ctx, func(h *protocol.Hello) { h.Version = protocol.Version + 1000 })
}

func (c *checker) wrongTransport(ctx context.Context) error {
	return c.refusedStart(ctx, func(h *protocol.Hello) { h.Transport = "no-such-transport" })
}

func (c *checker) wrongHash(ctx context.Context) error {
	s, dir, err := c.start(ctx, nil)
	if err != nil {
		return err
	}
	cell := protocol.Cell{Count: 1, Metadata: stream.Plain}
	_, file, err := c.work(dir, 0, cell, consumers)
	if err != nil {
		return errors.Join(err, s.Stop(ctx))
	}
	file.SHA256 = strings.Repeat("0", len(file.SHA256))
	_, _, err = s.Trial(ctx, protocol.Trial{ID: "0", Cell: cell, Work: file}, c.conf.Timeout)
	if err == nil {
		return errors.Join(refused(nil), s.Stop(ctx))
	}
	return refused(err)
}

// endOfInput, without a stop before it, is played with a controller that nothing
// was said to before.
func (c *checker) endOfInput(ctx context.Context) error {
	if err := c.endResting(ctx); err != nil {
		return err
	}
	s, dir, err := c.start(ctx, nil)
	if err != nil {
		return err
	}
	if err := s.CloseInput(); err != nil {
		return err
	}
	return noSockets(dir)
}

func (c *checker) stop(ctx context.Context) error {
	s, dir, err := c.start(ctx, nil)
	if err != nil {
		return err
	}
	if err := s.Stop(ctx); err != nil {
		return err
	}
	return noSockets(dir)
}

func noSockets(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&os.ModeSocket != 0 {
			return fmt.Errorf("the socket file %s is left", e.Name())
		}
	}
	return nil
}

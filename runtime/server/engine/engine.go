package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// engine is the state of the loop. One goroutine has it.
type engine struct {
	env       part.Env
	log       *slog.Logger
	model     model.Model
	limits    model.Limits
	scheduler *scheduler.Scheduler
	metrics   *metrics

	requests transport.Pull
	backlog  [][]byte       // received while dialling
	rows     transport.Push // to the detokenizer side
	answers  transport.Push // to the router; nil: there was none
	replies  []request.Message
	flushes  []flush
	frame    []byte // to encode into
}

// Run is the part's life.
func Run(ctx context.Context, e part.Env) error {
	g := &engine{env: e, log: e.Log}
	err := g.run(ctx)
	err = errors.Join(err, g.close())
	if ctx.Err() == nil {
		return err
	}
	if err != nil && !errors.Is(err, ctx.Err()) {
		// The parts around this one end too, in any order.
		e.Log.Debug("An error while the scheduler ended", "error", err)
	}
	return nil
}

func (g *engine) run(ctx context.Context) error {
	var err error
	if g.requests, err = transport.Bind(g.env.Args.ZMQ, g.env.Endpoint(part.Scheduler), transport.Options{}); err != nil {
		return err
	}
	if g.metrics, err = newMetrics(part.CountersPath(g.env.Folder, g.env.ID), g.env.Args.MaxRunningRequests); err != nil {
		return err
	}
	if err := g.build(ctx); err != nil {
		return err
	}
	to := part.ID{Kind: part.Detokenizer}
	if g.env.Args.DetokenizerWorkerNum > 1 {
		to = part.ID{Kind: part.DetokenizerRouter}
	}
	if g.rows, err = g.connect(ctx, to.String(), g.env.Args.StartTimeout); err != nil {
		return err
	}
	g.env.Ready()
	return g.loop(ctx)
}

// build makes the model and the scheduler.
func (g *engine) build(ctx context.Context) error {
	a := g.env.Args
	slots, err := backend.Slots(a)
	if err != nil {
		return err
	}
	if g.model, err = backend.NewModel(ctx, a, slots); err != nil {
		return err
	}
	return g.newScheduler(slots)
}

func (g *engine) newScheduler(slots int) error {
	a := g.env.Args
	g.limits = g.model.Limits()
	tokenizer, err := backend.NewTokenizer(a)
	if err != nil {
		return err
	}
	g.scheduler, err = scheduler.New(scheduler.Config{
		MaxTotalTokens:     slots,
		MaxRunningRequests: a.MaxRunningRequests,
		MaxQueuedRequests:  a.MaxQueuedRequests,
		MaxPrefillTokens:   a.MaxPrefillTokens,
		ChunkedPrefillSize: a.ChunkedPrefillSize,
		SchedulePolicy:     scheduler.Policy(a.SchedulePolicy),
		DisableRadixCache:  a.DisableRadixCache,
		EnableMixedChunk:   a.EnableMixedChunk,
		StreamInterval:     a.StreamInterval,
		PageSize:           a.PageSize,
		DecodeLogInterval:  a.DecodeLogInterval,
		Records:            a.AdmissionRecords,
		Decoder:            tokenizer,
		Check:              g.check,
	}, g.limits)
	return err
}

// connect dials an endpoint of the server while it receives, so that whoever
// dials this part meanwhile is not kept waiting. 0 seconds are the transport's
// own time-out.
func (g *engine) connect(ctx context.Context, name string, timeout float64) (transport.Push, error) {
	type dialled struct {
		push transport.Push
		err  error
	}
	receiving, dialledNow := context.WithCancel(ctx)
	done := make(chan dialled, 1)
	go func() {
		defer dialledNow()
		push, err := transport.Connect(ctx, g.env.Args.ZMQ, g.env.Endpoint(name), transport.Options{DialTimeout: time.Duration(timeout * 1e9)})
		done <- dialled{push, err}
	}()
	var failed error
	for receiving.Err() == nil {
		frame, err := g.requests.Recv(receiving)
		if err == nil {
			g.backlog = append(g.backlog, bytes.Clone(frame))
			continue
		}
		if receiving.Err() == nil && !g.peerLeft(err) {
			failed = err
			break
		}
	}
	d := <-done
	if failed == nil {
		failed = d.err
	} else if d.push != nil {
		failed = errors.Join(failed, d.push.Close())
	}
	if failed != nil {
		return nil, failed
	}
	return d.push, nil
}

// loop runs until the context ends or something cannot be mended.
func (g *engine) loop(ctx context.Context) error {
	idle := false
	for ctx.Err() == nil {
		if err := g.receive(ctx, idle && len(g.backlog) == 0); err != nil {
			return err
		}
		computed, err := g.step(ctx)
		if err != nil {
			return err
		}
		idle = !computed
	}
	return nil
}

// step computes one batch, and says whether there was one.
func (g *engine) step(ctx context.Context) (bool, error) {
	batch := g.scheduler.Schedule(counters.Now())
	if err := g.deliver(ctx); err != nil {
		return false, err
	}
	if batch != nil {
		if err := g.compute(ctx, batch); err != nil {
			return false, err
		}
	}
	g.answerFlushes(counters.Now())
	return batch != nil, g.deliver(ctx)
}

func (g *engine) compute(ctx context.Context, batch *model.Batch) error {
	out, err := g.model.Forward(batch)
	if err == nil {
		return g.scheduler.Finish(counters.Now(), out.Chosen)
	}
	if ctx.Err() != nil {
		return err
	}
	g.metrics.modelErrors.Add(1)
	g.log.Error("The model failed; the requests of its batch end", "requests", len(batch.Work), "error", err)
	g.scheduler.Fail(counters.Now(), fmt.Sprintf("the model failed: %v", err))
	if errors.Is(err, model.ErrLost) {
		g.log.Error("The device is lost; the server ends", "error", err) // here too: the parts around this one may be first to say that they end
		return errors.Join(fmt.Errorf("the model can compute no more: %w", err), g.deliver(ctx))
	}
	return nil
}

// deliver sends whatever there is to send. Everything is counted before.
func (g *engine) deliver(ctx context.Context) error {
	out := g.scheduler.Take()
	g.metrics.observe(g.scheduler.Stats(), g.model)
	for _, line := range out.Log {
		g.log.Info(line)
	}
	for i := range out.Aborts {
		g.replies = append(g.replies, abortReply(&out.Aborts[i]))
	}
	if out.Rows != nil {
		if err := g.sendRows(out.Rows); err != nil {
			return err
		}
	}
	return g.sendReplies(ctx)
}

func (g *engine) sendRows(rows *scheduler.BatchTokenIDOutput) error {
	g.metrics.built(rows)
	if err := g.sendPart(rows); err != nil {
		return err
	}
	return g.rows.Flush()
}

// maxRowsFrame is half of what a transport sends, since a detokenizer adds texts.
const maxRowsFrame = 32 << 20

// sendPart sends rows as one message, or where it would be too large as several: rows
// with log-probabilities may be. One row fits: package manager has seen to it.
func (g *engine) sendPart(rows *scheduler.BatchTokenIDOutput) error {
	frame, err := encodeRows(g.frame[:0], rows)
	if err != nil {
		return err
	}
	g.frame = frame
	n := len(rows.RIDs)
	if len(frame) <= maxRowsFrame || n == 1 {
		return g.rows.Send(frame)
	}
	if err := g.sendPart(between(rows, 0, n/2)); err != nil {
		return err
	}
	return g.sendPart(between(rows, n/2, n))
}

func (g *engine) sendReplies(ctx context.Context) error {
	if len(g.replies) == 0 {
		return nil
	}
	if g.answers == nil {
		var err error
		if g.answers, err = g.connect(ctx, part.RouterAnswers, 0); err != nil {
			return err
		}
	}
	for _, reply := range g.replies {
		frame, err := request.Encode(g.frame[:0], reply)
		if err != nil {
			return err
		}
		g.frame = frame
		if err := g.answers.Send(frame); err != nil {
			return err
		}
	}
	clear(g.replies)
	g.replies = g.replies[:0]
	return g.answers.Flush()
}

// close closes what there is.
func (g *engine) close() error {
	var errs []error
	for _, push := range []transport.Push{g.rows, g.answers} {
		if push != nil {
			errs = append(errs, push.Close())
		}
	}
	if g.requests != nil {
		errs = append(errs, g.requests.Close())
	}
	if g.metrics != nil {
		errs = append(errs, g.metrics.set.Close())
	}
	if m, ok := g.model.(io.Closer); ok {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

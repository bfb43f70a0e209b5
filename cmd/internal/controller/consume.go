package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cpuclock"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// received is one message as a consumer got it: decoded, or raw until later.
type received struct {
	raw    []byte
	msg    wire.Message
	opened map[string]wire.Value
}

// inbox is all consumers of an arm, served by one thread; or, in a process of
// its own, one of them.
type inbox struct {
	number    int // of the first consumer
	endpoints []string
	pulls     []transport.Pull
	poller    transport.Poller
	decode    bool
	read      func(frame []byte) (wire.Message, error) // the consumers' message

	messages [][]received // by consumer, since reset
	rows     int
	most     int         // rows above this end the trial: they are wrong, and may have no end
	firsts   []time.Time // when each consumer's first message was wholly decoded
	lasts    []time.Time
}

func newInbox(engine string, endpoints []string, consumer string, read func([]byte) (wire.Message, error)) (*inbox, error) {
	b := &inbox{endpoints: endpoints, decode: consumer == protocol.ConsumerDecode, read: read}
	for _, e := range endpoints {
		p, err := transport.Bind(engine, e, transport.Options{})
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		b.pulls = append(b.pulls, p)
	}
	var err error
	if b.poller, err = transport.NewPoller(b.pulls...); err != nil {
		return nil, errors.Join(err, b.close())
	}
	b.reset(0)
	return b, nil
}

// reset forgets what has come. Of what comes now, rows rows are right.
func (b *inbox) reset(rows int) {
	b.rows = 0
	b.most = 2*rows + surplusKept
	b.messages = make([][]received, len(b.pulls))
	b.firsts = make([]time.Time, len(b.pulls))
	b.lasts = make([]time.Time, len(b.pulls))
}

// receive serves the consumers until so many rows have come since reset.
func (b *inbox) receive(ctx context.Context, rows int) error {
	for b.rows < rows {
		ready, err := b.poller.Wait(ctx, -1)
		if err != nil {
			return err
		}
		if err := b.drain(ready); err != nil {
			return err
		}
	}
	return nil
}

// quiet serves the consumers until nothing has come for the given time.
func (b *inbox) quiet(ctx context.Context, d time.Duration) error {
	for {
		ready, err := b.poller.Wait(ctx, d)
		if err != nil || len(ready) == 0 {
			return err
		}
		if err := b.drain(ready); err != nil {
			return err
		}
	}
}

// surplus is an error if anything is there to receive.
func (b *inbox) surplus(ctx context.Context) error {
	b.reset(0)
	if err := b.quiet(ctx, 0); err != nil {
		return err
	}
	if b.rows == 0 {
		return nil
	}
	d, err := b.delivery()
	if err != nil {
		return err
	}
	return tooLate(d)
}

func (b *inbox) drain(ready []int) error {
	for _, i := range ready {
		for {
			frame, err := b.pulls[i].TryRecv()
			if errors.Is(err, transport.ErrEmpty) {
				break
			}
			if err != nil {
				return fmt.Errorf("consumer %d: %w", b.number+i, err)
			}
			if err := b.take(i, frame); err != nil {
				return fmt.Errorf("consumer %d, message %d: %w", b.number+i, len(b.messages[i]), err)
			}
		}
	}
	return nil
}

func (b *inbox) take(i int, frame []byte) error {
	var r received
	var err error
	rows := 0
	if b.decode {
		r, err = b.open(frame)
		if err == nil {
			rows = r.msg.Rows()
		}
	} else {
		r.raw = bytes.Clone(frame)
		rows, err = wire.CountRows(frame)
	}
	if err != nil {
		return err
	}
	now := time.Now()
	if len(b.messages[i]) == 0 {
		b.firsts[i] = now
	}
	b.lasts[i] = now
	if b.rows <= b.most {
		b.messages[i] = append(b.messages[i], r)
	}
	b.rows += rows
	return nil
}

// open decodes a message with its opaque metadata.
func (b *inbox) open(frame []byte) (received, error) {
	msg, err := b.read(frame)
	if err != nil {
		return received{}, err
	}
	r := received{msg: msg, opened: map[string]wire.Value{}}
	for name, o := range opaque(msg) {
		if o == nil {
			continue
		}
		if r.opened[name], err = o.Open(); err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
	}
	return r, nil
}

func (b *inbox) close() error {
	var errs []error
	if b.poller != nil {
		errs = append(errs, b.poller.Close())
	}
	for _, p := range b.pulls {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// run is one trial in progress.
type run struct {
	c       *controller
	first   []int // consumers with a row in batch 0
	all     []int // consumers with a row in any batch
	sizes   []int // rows of each batch
	fence   int
	stalled string
}

func newRun(c *controller, w protocol.Work) *run {
	r := &run{c: c, first: consumersOf(w.Stream[:1]), all: consumersOf(w.Stream)}
	for _, b := range w.Stream {
		r.sizes = append(r.sizes, len(b.Consumers))
	}
	for _, b := range w.Fence {
		r.fence += len(b.Consumers)
	}
	return r
}

func consumersOf(batches []protocol.Batch) []int {
	seen := map[int]bool{}
	var out []int
	for _, b := range batches {
		for _, c := range b.Consumers {
			if !seen[c] {
				seen[c] = true
				out = append(out, c)
			}
		}
	}
	return out
}

// measure plays the stream with the clock running, then the fence, then waits
// for quiet. Rows that do not come in time end it, as a stalled run.
func (r *run) measure(ctx context.Context, stream, fence []*outgoing) (protocol.Metrics, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	wait := time.Duration(r.c.hello.WaitMS) * time.Millisecond
	limited, cancel := context.WithTimeoutCause(ctx, wait, errStalled)
	defer cancel()
	b := r.c.inbox
	if err := b.begin(ctx, r.rows()+r.fence); err != nil {
		return protocol.Metrics{}, err
	}
	pids := r.c.crew.pids()
	cpuBefore, cpuErr := cpuclock.Sum(pids)
	start := time.Now()
	err := r.send(limited, stream, r.c.hello.Pace, start)
	metrics := r.times(start)
	if err == nil {
		err = r.send(limited, fence, protocol.PaceArrived, start)
	}
	if cpuAfter, err := cpuclock.Sum(pids); err == nil && cpuErr == nil {
		ms := milliseconds(cpuAfter - cpuBefore)
		metrics.WorkerCPUMS = &ms
	}
	if errors.Is(err, errStalled) {
		r.stalled = fmt.Sprintf("%d rows came within %v, want %d", b.count(), wait, r.rows()+r.fence)
		err = nil
	}
	if err != nil {
		return metrics, err
	}
	return metrics, b.quiet(ctx, protocol.QuietMS*time.Millisecond)
}

var errStalled = errors.New("rows are missing")

// surplusKept is how many rows too many are kept, beside as many as were sent.
const surplusKept = 100

func (r *run) rows() int {
	n := 0
	for _, s := range r.sizes {
		n += s
	}
	return n
}

// send sends batches at the given pace and receives all their rows.
func (r *run) send(ctx context.Context, batches []*outgoing, pace string, start time.Time) error {
	want := r.c.inbox.count()
	if pace == protocol.PaceArrived {
		for _, o := range batches {
			if err := r.c.sendBatch(o); err != nil {
				return err
			}
			want += o.rows()
			if err := r.c.inbox.receive(ctx, want); err != nil {
				return cause(ctx, err)
			}
		}
		return nil
	}
	rate, err := protocol.ParsePace(pace)
	if err != nil {
		return err
	}
	for _, o := range batches {
		want += o.rows()
	}
	sending, give := context.WithCancel(ctx)
	defer give()
	sent := make(chan error, 1)
	go func() { sent <- r.c.sendAll(sending, batches, rate, start) }()
	err = r.c.inbox.receive(ctx, want)
	if err != nil {
		give() // what is not due yet is not sent any more
	}
	return errors.Join(cause(ctx, err), <-sent)
}

// checkSchedule refuses a pace at which a stream cannot end in time.
func (c *controller) checkSchedule(batches int) error {
	rate, err := protocol.ParsePace(c.hello.Pace)
	if err != nil || rate == 0 {
		return err
	}
	last := protocol.Intended(rate, batches-1)
	if wait := time.Duration(c.hello.WaitMS) * time.Millisecond; last >= wait {
		return fmt.Errorf("pace %s: the last of %d batches is due after %v, want less than the %v that rows may take", c.hello.Pace, batches, last, wait)
	}
	return nil
}

// sendAll sends batches without waiting for their rows: at once, or at a rate
// batch s so long after start, or when it can if that is past. A wait that ctx
// cuts short is no error of the sender's.
func (c *controller) sendAll(ctx context.Context, batches []*outgoing, rate float64, start time.Time) error {
	for s, o := range batches {
		if rate > 0 {
			if !wait(ctx, time.Until(start.Add(protocol.Intended(rate, s)))) {
				return nil
			}
		}
		if err := c.sendBatch(o); err != nil {
			return err
		}
	}
	return nil
}

// wait reports whether so much time passed before ctx was done.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// cause replaces a context's own error by what ended it.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (c *controller) sendBatch(o *outgoing) error {
	frame, err := o.encode(c.frame[:0])
	if err != nil {
		return err
	}
	c.frame = frame
	if err := c.push.Send(frame); err != nil {
		return err
	}
	return c.push.Flush()
}

// times makes the metrics of what has come since the clock started.
func (r *run) times(start time.Time) protocol.Metrics {
	firsts, lasts := r.c.inbox.times()
	first, firstAll := span(firsts, r.first)
	firstEnd, lastEnd := span(lasts, r.all)
	m := protocol.Metrics{
		CompleteMS: milliseconds(lastEnd.Sub(start)),
		FirstMS:    sinceStart(start, first),
		FirstAllMS: sinceStart(start, firstAll),
	}
	if len(r.all) > 1 {
		spread := milliseconds(lastEnd.Sub(firstEnd))
		m.SpreadMS = &spread
	}
	return m
}

// span is the earliest and the latest of the given consumers' times.
func span(at []time.Time, consumers []int) (earliest, latest time.Time) {
	for _, c := range consumers {
		if earliest.IsZero() || at[c].Before(earliest) {
			earliest = at[c]
		}
		if at[c].After(latest) {
			latest = at[c]
		}
	}
	return earliest, latest
}

func sinceStart(start, at time.Time) *float64 {
	ms := milliseconds(at.Sub(start))
	return &ms
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

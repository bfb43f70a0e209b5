package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/process"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

const (
	// leaveGrace is how long a worker has to leave after its input has ended,
	// and termGrace how long after SIGTERM. Their sum is below what a driver
	// gives a controller.
	leaveGrace = 2 * time.Second
	termGrace  = 500 * time.Millisecond
	// obituaryGrace is how long a failed trial waits to learn that its worker's
	// death is why.
	obituaryGrace = 300 * time.Millisecond
)

// workerProcess is the worker and its input's socket.
type workerProcess struct {
	child  *process.Child
	socket string
	ready  protocol.Ready

	once    sync.Once
	stopErr error
	told    atomic.Bool // its end is in an error already
}

// startWorker runs the worker and takes it through configure.
func startWorker(ctx context.Context, conf Config, configure protocol.Configure) (*workerProcess, error) {
	child, err := process.Start(conf.Worker, process.DieWithParent, conf.Log)
	if err != nil {
		return nil, fmt.Errorf("controller: worker: %w", err)
	}
	w := &workerProcess{child: child, socket: strings.TrimPrefix(configure.Endpoint, "ipc://")}
	if err := w.handshake(ctx, configure); err != nil {
		return nil, errors.Join(err, w.stop())
	}
	return w, nil
}

func (w *workerProcess) handshake(ctx context.Context, configure protocol.Configure) error {
	if err := w.child.Ask(ctx, configure, protocol.TypeReady, &w.ready); err != nil {
		return fmt.Errorf("controller: configure worker: %w", err)
	}
	if w.ready.WireVersion != protocol.WireVersion {
		return fmt.Errorf("controller: the worker speaks wire version %d, this controller %d", w.ready.WireVersion, protocol.WireVersion)
	}
	return nil
}

func (w *workerProcess) report(ctx context.Context) (protocol.Report, error) {
	var r protocol.Report
	err := w.child.Ask(ctx, protocol.Signal{Type: protocol.TypeReport}, protocol.TypeReport, &r)
	return r, err
}

// errWorkerEnded is the cause of a trial cut short by its worker's death.
var errWorkerEnded = errors.New("the worker's process ended")

// watch derives a context that is cancelled when the worker ends, so that a
// wait for rows does not outlast the process that should send them.
func (w *workerProcess) watch(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		select {
		case <-w.child.Ended():
			cancel(errWorkerEnded)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// explain adds to a trial's error that the worker is dead, and how it died. A
// failed write may be seen before the death that is behind it, hence the wait.
func (w *workerProcess) explain(ctx context.Context, err error) error {
	grace := obituaryGrace
	if ctx.Err() != nil {
		grace = 0 // this arm is being ended, its worker's end is no news
	}
	if why := w.child.Obituary(grace); why != nil {
		w.told.Store(true)
		return fmt.Errorf("%w; worker: %w", err, why)
	}
	return err
}

// stop ends the worker and removes its socket, should it have left it. It may
// be called more than once and while a trial runs: the trial then fails.
func (w *workerProcess) stop() error {
	w.once.Do(func() {
		killed := w.child.End(leaveGrace, termGrace)
		switch err := w.child.Exit(); {
		case killed:
			w.stopErr = fmt.Errorf("controller: the worker did not leave within %v of its input's end, nor of SIGTERM", leaveGrace+termGrace)
		case err != nil && !w.told.Load():
			w.stopErr = fmt.Errorf("controller: worker: %w", w.child.Obituary(0))
		}
		if err := os.Remove(w.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			w.stopErr = errors.Join(w.stopErr, fmt.Errorf("controller: the worker's socket: %w", err))
		}
	})
	return w.stopErr
}

func (w *workerProcess) pid() int { return w.child.PID() }

// prepare tells the worker what comes, with the frames themselves if its
// strategy asks for them.
func (c *controller) prepare(ctx context.Context, w protocol.Work, all []*outgoing) error {
	p := protocol.Prepare{Type: protocol.TypePrepare, Vocabulary: w.Vocabulary, Batches: len(w.Stream)}
	if c.worker.ready.NeedsPrepared {
		var frames protocol.Frames
		for _, o := range all {
			frame, err := o.encode(nil)
			if err != nil {
				return err
			}
			frames.Frames = append(frames.Frames, bytes.Clone(frame))
		}
		f, err := protocol.WriteFile(filepath.Join(c.hello.Dir, "frames.json"), frames)
		if err != nil {
			return err
		}
		p.Frames = &f
	}
	var done protocol.Signal
	return c.worker.child.Ask(ctx, p, protocol.TypePrepared, &done)
}

// binaries are the hashes of the executables that run: this process's and its
// worker's, one if they are the same file.
func (c *controller) binaries() ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	sum, err := results.HashFile(self)
	if err != nil || c.conf.Worker[0] == self {
		return []string{sum}, err
	}
	other, err := results.HashFile(c.conf.Worker[0])
	return []string{sum, other}, err
}

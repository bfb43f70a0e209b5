package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/process"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// stopGrace is how long a worker has to leave after its input has ended.
const stopGrace = 2 * time.Second

type workerProcess struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	conn  *protocol.Conn
	ready protocol.Ready
	log   *process.Tail

	ended   chan struct{} // closed when the process has been waited for
	waitErr error         // valid once ended is closed
	lines   chan lineOrError
}

// startWorker runs the worker and takes it through configure.
func startWorker(ctx context.Context, conf Config, configure protocol.Configure) (*workerProcess, error) {
	w := &workerProcess{
		cmd:   exec.Command(conf.Worker[0], conf.Worker[1:]...),
		log:   process.NewTail(conf.Log),
		ended: make(chan struct{}),
		lines: make(chan lineOrError, 1),
	}
	w.cmd.Stderr = w.log
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("controller: %w", err)
	}
	if err := process.Start(w.cmd, process.DieWithParent); err != nil {
		return nil, fmt.Errorf("controller: start worker %s: %w", conf.Worker[0], err)
	}
	w.in = in
	w.conn = protocol.NewConn(out, in)
	go w.read()
	if err := w.handshake(ctx, configure); err != nil {
		return nil, errors.Join(err, w.obituary(), w.stop())
	}
	return w, nil
}

// read passes the worker's lines on, then waits for it. Wait may be called only
// when the output has been read to its end.
func (w *workerProcess) read() {
	for {
		line, err := w.conn.Receive()
		w.lines <- lineOrError{line, err}
		if err != nil {
			break
		}
	}
	w.waitErr = w.cmd.Wait()
	close(w.ended)
}

func (w *workerProcess) handshake(ctx context.Context, configure protocol.Configure) error {
	if err := w.ask(ctx, configure, protocol.TypeReady, &w.ready); err != nil {
		return fmt.Errorf("controller: configure worker: %w", err)
	}
	if w.ready.WireVersion != protocol.WireVersion {
		return fmt.Errorf("controller: the worker speaks wire version %d, this controller %d", w.ready.WireVersion, protocol.WireVersion)
	}
	return nil
}

// ask sends one line and waits for its answer.
func (w *workerProcess) ask(ctx context.Context, question any, wantType string, answer any) error {
	if err := w.conn.Send(question); err != nil {
		return err
	}
	select {
	case l := <-w.lines:
		if l.err != nil {
			return fmt.Errorf("the worker's output ended: %w", l.err)
		}
		return l.line.Expect(wantType, answer)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *workerProcess) report(ctx context.Context) (protocol.Report, error) {
	var r protocol.Report
	err := w.ask(ctx, protocol.Signal{Type: protocol.TypeReport}, protocol.TypeReport, &r)
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
		case <-w.ended:
			cancel(errWorkerEnded)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// obituary says how the worker ended and the last it wrote, or nil if it lives.
func (w *workerProcess) obituary() error {
	select {
	case <-w.ended:
		status := "status 0"
		if w.waitErr != nil {
			status = w.waitErr.Error()
		}
		return fmt.Errorf("the worker's process ended: %s; its last lines: %s", status, w.log.Quote())
	default:
		return nil
	}
}

// stop closes the worker's input, which ends it, and kills it if it stays.
func (w *workerProcess) stop() error {
	err := w.in.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	go w.drain()
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-w.ended:
	case <-timer.C:
		err = errors.Join(err, w.cmd.Process.Kill())
		<-w.ended
		return errors.Join(err, fmt.Errorf("controller: the worker did not leave within %v of its input's end", stopGrace))
	}
	if w.waitErr != nil {
		err = errors.Join(err, w.obituary())
	}
	return err
}

func (w *workerProcess) drain() {
	for {
		select {
		case <-w.lines:
		case <-w.ended:
			return
		}
	}
}

func (w *workerProcess) pid() int { return w.cmd.Process.Pid }

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
	return c.worker.ask(ctx, p, protocol.TypePrepared, &done)
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

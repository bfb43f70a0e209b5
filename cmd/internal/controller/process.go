package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// workerProcess is one process of the worker and its input's socket.
type workerProcess struct {
	name   string // worker, router or detokenizer N
	child  *process.Child
	socket string
	ready  protocol.Ready

	once    sync.Once
	stopErr error
	told    atomic.Bool // its end is in an error already
}

func spawn(conf Config, name, endpoint string) (*workerProcess, error) {
	child, err := process.Start(conf.Worker, process.DieWithParent, conf.Log)
	if err != nil {
		return nil, fmt.Errorf("controller: %s: %w", name, err)
	}
	return &workerProcess{name: name, child: child, socket: strings.TrimPrefix(endpoint, "ipc://")}, nil
}

// handshake takes a process through configure.
func (w *workerProcess) handshake(ctx context.Context, configure protocol.Configure) error {
	if err := w.child.Ask(ctx, configure, protocol.TypeReady, &w.ready); err != nil {
		return fmt.Errorf("controller: configure %s: %w", w.name, err)
	}
	if w.ready.WireVersion != protocol.WireVersion {
		return fmt.Errorf("controller: the %s speaks wire version %d, this controller %d", w.name, w.ready.WireVersion, protocol.WireVersion)
	}
	return nil
}

func (w *workerProcess) report(ctx context.Context) (protocol.Report, error) {
	var r protocol.Report
	if err := w.child.Ask(ctx, protocol.Signal{Type: protocol.TypeReport}, protocol.TypeReport, &r); err != nil {
		return r, fmt.Errorf("the %s's report: %w", w.name, err)
	}
	return r, nil
}

// stop ends the process and removes its socket, should it have left it. It may
// be called more than once and while a trial runs: the trial then fails.
func (w *workerProcess) stop() error {
	w.once.Do(func() {
		killed := w.child.End(leaveGrace, termGrace)
		switch err := w.child.Exit(); {
		case killed:
			w.stopErr = fmt.Errorf("controller: the %s did not leave within %v of its input's end, nor of SIGTERM", w.name, leaveGrace+termGrace)
		case err != nil && !w.told.Load():
			w.stopErr = fmt.Errorf("controller: %s: %w", w.name, w.child.Obituary(0))
		}
		if err := os.Remove(w.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			w.stopErr = errors.Join(w.stopErr, fmt.Errorf("controller: the %s's socket: %w", w.name, err))
		}
	})
	return w.stopErr
}

func (w *workerProcess) pid() int { return w.child.PID() }

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

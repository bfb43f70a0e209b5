package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// profiler keeps one CPU profile going over all trials that name the same file.
// Starting and ending one takes a fifth of a second, so it does not end with each.
type profiler struct{ file *os.File }

// follow makes path, or nothing if it is empty, what is profiled from now on.
func (p *profiler) follow(path string) error {
	if p.file != nil && p.file.Name() == path {
		return nil
	}
	if err := p.end(); err != nil || path == "" {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("worker: profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return fmt.Errorf("worker: profile: %w", errors.Join(err, f.Close()))
	}
	p.file = f
	return nil
}

// end writes the profile out. Without one it does nothing.
func (p *profiler) end() error {
	if p.file == nil {
		return nil
	}
	pprof.StopCPUProfile()
	f := p.file
	p.file = nil
	if err := f.Close(); err != nil {
		return fmt.Errorf("worker: profile: %w", err)
	}
	return nil
}

// markControl labels the calling goroutine's samples as the control pipe's. What
// it does for a trial is not the measured plane's work.
func markControl(ctx context.Context) {
	pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels(protocol.ProfilePlane, protocol.ProfileControl)))
}

func (w *worker) endProfile() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.profile.end()
}

package intake

import (
	"log/slog"
	"sync"
	"time"
)

// Of faults at most this many are logged in one span.
const (
	faultsLogged = 10
	faultsSpan   = time.Second
)

// Faults logs faults of single messages: the first few of each second, and with
// the next one how many were left out (as left_out). Counting them is the
// caller's matter. Any goroutine may use it.
type Faults struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	start   time.Time // of the span
	logged  int       // in it
	leftOut int       // since a line was last logged
}

// NewFaults logs to log, as errors.
func NewFaults(log *slog.Logger) *Faults { return &Faults{log: log, now: time.Now} }

// Log is one fault.
func (f *Faults) Log(message string, attrs ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); now.Sub(f.start) >= faultsSpan {
		f.start, f.logged = now, 0
	}
	if f.logged == faultsLogged {
		f.leftOut++
		return
	}
	f.logged++
	if f.leftOut > 0 {
		attrs = append(attrs[:len(attrs):len(attrs)], "left_out", f.leftOut)
		f.leftOut = 0
	}
	f.log.Error(message, attrs...)
}

// Close says how many faults were left out since the last line, if any.
func (f *Faults) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.leftOut > 0 {
		f.log.Error("faults left out of the log", "left_out", f.leftOut)
		f.leftOut = 0
	}
}

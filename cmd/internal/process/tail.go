package process

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// tailBytes is how much of a log is kept for a message.
const tailBytes = 2048

// Tail passes what is written on to a log and keeps its end.
type Tail struct {
	mu   sync.Mutex
	log  io.Writer
	last []byte
}

// NewTail writes through to log.
func NewTail(log io.Writer) *Tail { return &Tail{log: log} }

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if n := len(t.last) - tailBytes; n > 0 {
		t.last = append(t.last[:0], t.last[n:]...)
	}
	return t.log.Write(p)
}

// Quote returns the last lines, at most five, on one line.
func (t *Tail) Quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.last)), "\n")
	if n := len(lines) - 5; n > 0 {
		lines = lines[n:]
	}
	if len(lines) == 1 && lines[0] == "" {
		return "none"
	}
	return fmt.Sprintf("%q", strings.Join(lines, " | "))
}

package process

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
)

// tailBytes is how much of a log is kept for a message.
const tailBytes = 2048

// cause is the line in which Go's runtime says why it ends a program. The stacks
// behind it are longer than what is kept.
var cause = regexp.MustCompile(`(?m)^(?:fatal error|panic): .*\n`)

// Tail passes what is written on to a log and keeps its end, and the first line
// that is a cause.
type Tail struct {
	mu    sync.Mutex
	log   io.Writer
	last  []byte
	cause string
}

// NewTail writes through to log.
func NewTail(log io.Writer) *Tail { return &Tail{log: log} }

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p...)
	if n := len(t.last) - tailBytes; n > 0 {
		if t.cause == "" {
			t.cause = string(bytes.TrimSpace(cause.Find(t.last)))
		}
		t.last = append(t.last[:0], t.last[n:]...)
	}
	return t.log.Write(p)
}

// Quote returns the last lines, at most five, on one line; before them a cause
// that is not among what is kept.
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
	if t.cause != "" {
		lines = append([]string{t.cause, "..."}, lines...)
	}
	return fmt.Sprintf("%q", strings.Join(lines, " | "))
}

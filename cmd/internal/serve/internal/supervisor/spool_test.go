package supervisor

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// paused is a reader that takes nothing until it is let go on.
type paused struct {
	on   chan struct{}
	mu   sync.Mutex
	text strings.Builder
}

func (p *paused) Write(b []byte) (int, error) {
	<-p.on
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// A log that is not read holds nobody up, and says what it lacks when it is read again.
func TestSpoolOfAPausedReader(t *testing.T) {
	p := &paused{on: make(chan struct{})}
	s := newSpool(p, 1000)
	const lines = 1000
	for i := range lines { // would hang for ever
		if n, err := fmt.Fprintf(s, "line %03d\n", i); n != 9 || err != nil {
			t.Fatal(n, err)
		}
	}
	close(p.on)
	if err := s.close(time.Minute); err != nil {
		t.Fatal(err)
	}
	next, notes := 0, 0
	for line := range strings.Lines(p.text.String()) {
		var leftOut int
		if _, note, ok := strings.Cut(line, "WARNING: "); ok {
			if _, err := fmt.Sscanf(note, "%d writes to this log were left out", &leftOut); err != nil || leftOut == 0 {
				t.Errorf("a note %q: %v", line, err)
			}
			next, notes = next+leftOut, notes+1
			continue
		}
		if want := fmt.Sprintf("line %03d\n", next); line != want {
			t.Fatalf("got %q, want %q", line, want)
		}
		next++
	}
	if next != lines || notes == 0 {
		t.Errorf("%d lines are there or left out, in %d notes, want %d", next, notes, lines)
	}
}

// The end does not wait for a reader either, and is an error.
func TestSpoolEnds(t *testing.T) {
	s := newSpool(&paused{on: make(chan struct{})}, 1000)
	if _, err := io.WriteString(s, "line\n"); err != nil {
		t.Fatal(err)
	}
	if err := s.close(time.Millisecond); err == nil || !strings.Contains(err.Error(), "nobody reads it") {
		t.Errorf("got %v", err)
	}
	if err := newSpool(&paused{}, 1).close(time.Minute); err != nil {
		t.Errorf("an empty log: %v", err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// A log that cannot be written is an error, of later writes and of the end.
func TestSpoolFails(t *testing.T) {
	s := newSpool(broken{}, 1000)
	for {
		if _, err := io.WriteString(s, "line\n"); err != nil {
			if !errors.Is(err, errBroken) {
				t.Error(err)
			}
			break
		}
	}
	if err := s.close(time.Minute); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

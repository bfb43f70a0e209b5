package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// maxHeld is how much of a line without an end a Log holds back.
const maxHeld = 1 << 16

// Log is a file of logs/, to which processes of an arm write in turn or at once.
// Folders of this machine are written by name, see Portable. For that a line is
// written when it ends, or with Close, or when it is longer than 64 KiB; of a
// program that is killed the last line is lost if it had no end.
type Log struct {
	mu    sync.Mutex
	file  io.WriteCloser
	known placeList
	held  []byte // of a line that goes on
}

// OpenLog makes logs/NAME.log, which must not be there yet.
func (r *Run) OpenLog(name string) (*Log, error) {
	return NewLog(filepath.Join(r.dir, LogFolder, name+".log"))
}

// NewLog makes a log's file, which must not be there yet.
func NewLog(path string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	return &Log{file: f, known: places()}, nil
}

// Write takes all of p, or tells why what it had to write was not written.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = append(l.held, p...)
	whole := bytes.LastIndexByte(l.held, '\n') + 1
	if len(l.held)-whole > maxHeld {
		whole = len(l.held)
	}
	if err := l.flush(whole); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes the first n bytes of what is held.
func (l *Log) flush(n int) error {
	if n == 0 {
		return nil
	}
	_, err := io.WriteString(l.file, l.known.portable(string(l.held[:n])))
	l.held = append(l.held[:0], l.held[n:]...)
	return err
}

// Close writes what is held and closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.flush(len(l.held)), l.file.Close())
}

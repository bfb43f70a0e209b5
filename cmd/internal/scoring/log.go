package scoring

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// LogBatch is a line of a server's log about a prefill batch.
type LogBatch struct {
	Line         int    // of what was read, from 1
	Time         string // as the line has it, of no stated zone; empty: none
	NewSeqs      int
	NewTokens    int
	CachedTokens int
	Running      int // requests
	Queue        int
}

// LogFault is a line that begins as one about a prefill batch and goes on as none.
type LogFault struct {
	Line int
	Err  error
}

// prefillLine is how SGLang begins such a line, in its older form, its newer one,
// and with the number of the forward pass; before it a logger puts its own, which
// has no quotes: a text in the log of requests is not taken for a line of its own.
var prefillLine = regexp.MustCompile(`^([^"']{0,200}?)Prefill batch(?: \[\d+\])?[.,] (#new-seq: .*)$`)

// timeOfDay is what a logger puts before.
var timeOfDay = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?`)

// fields are where the numbers go that are read; the line may have others.
func (b *LogBatch) fields() map[string]*int {
	return map[string]*int{
		"#new-seq": &b.NewSeqs, "#new-token": &b.NewTokens, "#cached-token": &b.CachedTokens,
		"#running-req": &b.Running, "#queue-req": &b.Queue,
	}
}

// ParseLogLine reads a line of a log; ok is false of one about something else.
func ParseLogLine(line string) (b LogBatch, ok bool, err error) {
	found := prefillLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	if found == nil {
		return LogBatch{}, false, nil
	}
	b.Time = timeOfDay.FindString(found[1])
	left := b.fields()
	for field := range strings.SplitSeq(strings.TrimRight(found[2], ", "), ", ") {
		name, value, has := strings.Cut(field, ": ")
		if !has {
			return LogBatch{}, true, fmt.Errorf("%q, expected NAME: VALUE", field)
		}
		to, wanted := left[name]
		if !wanted {
			if _, twice := b.fields()[name]; twice {
				return LogBatch{}, true, fmt.Errorf("%s is there twice", name)
			}
			continue
		}
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return LogBatch{}, true, fmt.Errorf("%s is %q, expected a number", name, value)
		}
		*to = int(n)
		delete(left, name)
	}
	for _, name := range []string{"#new-seq", "#new-token", "#cached-token", "#running-req", "#queue-req"} {
		if _, missing := left[name]; missing {
			return LogBatch{}, true, fmt.Errorf("no %s", name)
		}
	}
	return b, true, nil
}

// maxLine is where a line of a log is cut off; no line about a batch is as long.
const maxLine = 1 << 14

// ReadLog reads all lines about prefill batches. A last line without its end is
// not read: the server is still writing it. used is how many bytes were.
func ReadLog(r io.Reader) (batches []LogBatch, faults []LogFault, used int64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for number := 1; ; number++ {
		line, n, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return batches, faults, used, nil
		}
		if err != nil {
			return batches, faults, used, fmt.Errorf("scoring: the server's log: %w", err)
		}
		used += n
		b, ok, err := ParseLogLine(line)
		switch {
		case err != nil:
			faults = append(faults, LogFault{number, err})
		case ok:
			b.Line = number
			batches = append(batches, b)
		}
	}
}

// readLine reads a line with its end, of which it returns the beginning.
func readLine(in *bufio.Reader) (line string, n int64, err error) {
	var kept []byte
	for {
		piece, err := in.ReadSlice('\n')
		n += int64(len(piece))
		kept = append(kept, piece[:min(len(piece), maxLine-len(kept))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return string(kept), n, err
		}
	}
}

// LogFile is a server's log, read as it grows.
type LogFile struct {
	path string
	at   int64
}

// OpenLog takes a log whose lines so far are of no interest.
func OpenLog(path string) (*LogFile, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("scoring: the server's log: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("scoring: the server's log %s is no regular file", path)
	}
	return &LogFile{path, st.Size()}, nil
}

// New reads what came since the last time. A log that has become shorter was
// replaced, and what it had is lost: an error.
func (l *LogFile) New() (batches []LogBatch, faults []LogFault, err error) {
	f, err := os.Open(l.path)
	if err != nil {
		return nil, nil, fmt.Errorf("scoring: the server's log: %w", err)
	}
	defer func() { _ = f.Close() }() // read only
	st, err := f.Stat()
	if err == nil && st.Size() < l.at {
		err = fmt.Errorf("%s has %d bytes, expected at least the %d that it had", l.path, st.Size(), l.at)
	}
	if err == nil {
		_, err = f.Seek(l.at, io.SeekStart)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("scoring: the server's log: %w", err)
	}
	batches, faults, used, err := ReadLog(f)
	l.at += used
	return batches, faults, err
}

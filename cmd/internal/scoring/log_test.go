package scoring

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// told is what was read of a log, a line each.
func told(batches []LogBatch, faults []LogFault) string {
	var b strings.Builder
	for _, l := range batches {
		fmt.Fprintf(&b, "%d %q seqs %d new %d cached %d running %d queue %d\n", l.Line, l.Time, l.NewSeqs, l.NewTokens, l.CachedTokens, l.Running, l.Queue)
	}
	for _, f := range faults {
		fmt.Fprintf(&b, "%d %v\n", f.Line, f.Err)
	}
	return b.String()
}

// Both forms; other lines are passed by, damaged ones are told with their number.
func TestLogs(t *testing.T) {
	for name, want := range map[string]string{
		"old.log": `2 "2025-06-20 10:21:04" seqs 10 new 10 cached 2990 running 0 queue 0
3 "2025-06-20 10:21:04" seqs 40 new 40 cached 11960 running 0 queue 3
4 "2025-06-20 10:21:05" seqs 100 new 100 cached 29900 running 2 queue 0
6 "" seqs 1 new 2 cached 3 running 4 queue 5
8 no #running-req
`,
		"new.log": `1 "2026-01-11 09:00:00" seqs 1 new 6 cached 0 running 0 queue 0
2 "2026-01-11 09:00:01.250" seqs 50 new 8192 cached 0 running 0 queue 23
5 #new-token is "x", expected a number
6 #new-token is there twice
`,
	} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		batches, faults, used, err := ReadLog(strings.NewReader(string(data)))
		if got := told(batches, faults); got != want || err != nil {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
		if whole := strings.LastIndex(string(data), "\n") + 1; used != int64(whole) {
			t.Errorf("%s: %d bytes used, want the %d of whole lines", name, used, whole)
		}
	}
}

// A log is read as it grows, whole lines only, each once.
func TestLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	line := func(n int) string {
		return fmt.Sprintf("Prefill batch. #new-seq: %d, #new-token: 0, #cached-token: 0, #running-req: 0, #queue-req: 0, \n", n)
	}
	write(line(1))
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	want := func(seqs ...int) {
		t.Helper()
		batches, faults, err := l.New()
		var got []int
		for _, b := range batches {
			got = append(got, b.NewSeqs)
		}
		if err != nil || len(faults) > 0 || fmt.Sprint(got) != fmt.Sprint(seqs) {
			t.Errorf("got %v, %v, %v, want %v", got, faults, err, seqs)
		}
	}
	want()
	write(line(2) + line(3)[:20])
	want(2)
	want()
	write(line(3)[20:] + strings.Repeat("x", 3*maxLine) + "\n" + line(4))
	want(3, 4)
	if err := os.WriteFile(path, []byte(line(5)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.New(); err == nil || !strings.Contains(err.Error(), "expected at least the") {
		t.Errorf("a log that was replaced: %v", err)
	}
	if _, err := OpenLog(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := OpenLog(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is taken")
	}
}

// slow is the reader's twin: one expression for a whole line.
var slow = regexp.MustCompile(`Prefill batch(?: \[[0-9]+\])?[.,] #new-seq: ([0-9]+), #new-token: ([0-9]+), #cached-token: ([0-9]+), .*#running-req: ([0-9]+), #queue-req: ([0-9]+)`)

// What is read of a line is what stands there.
func FuzzLogLine(f *testing.F) {
	for _, name := range []string{"old.log", "new.log"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		b, ok, err := ParseLogLine(line)
		if !ok || err != nil {
			if b != (LogBatch{}) || err != nil && !ok {
				t.Errorf("%q gives %+v, %v, %v", line, b, ok, err)
			}
			return
		}
		if !strings.Contains(line, "Prefill batch") {
			t.Errorf("%q is read as %+v", line, b)
		}
		again := fmt.Sprintf("Prefill batch, #new-seq: %d, #new-token: %d, #cached-token: %d, token usage: 0.00, #running-req: %d, #queue-req: %d", b.NewSeqs, b.NewTokens, b.CachedTokens, b.Running, b.Queue)
		c, ok, err := ParseLogLine(again)
		if c.Time = b.Time; c != b || !ok || err != nil {
			t.Errorf("%q gives %+v, and that gives %+v, %v", line, b, c, err)
		}
		if m := slow.FindStringSubmatch(again); m == nil || fmt.Sprint(m[1:]) != fmt.Sprint([]int{b.NewSeqs, b.NewTokens, b.CachedTokens, b.Running, b.Queue}) {
			t.Errorf("%q: the twin reads %q", again, m)
		}
	})
}

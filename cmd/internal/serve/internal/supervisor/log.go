package supervisor

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// NewLogger writes lines of SGLang's form, which names a process within the
// brackets as SGLang names a rank:
//
//	[2026-12-01 09:30:00 scheduler] Prefill batch. #new-seq: 1, ...
//	[2026-12-01 09:30:00 router] WARNING: a frame of 3 bytes is no request path=router-input
//
// Each line is one write. level is one of Args.LogLevel.
func NewLogger(w io.Writer, name, level string) *slog.Logger {
	return (&sink{w: w}).logger(name, level)
}

const timeForm = "2006-01-02 15:04:05"

// sink is a log that several write to.
type sink struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sink) logger(name, level string) *slog.Logger {
	least := map[string]slog.Level{"debug": slog.LevelDebug, "warning": slog.LevelWarn, "error": slog.LevelError}[level]
	return slog.New(&handler{out: s, name: name, least: least})
}

func (s *sink) write(line string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.WriteString(s.w, line)
	return err
}

type handler struct {
	out    *sink
	name   string
	least  slog.Level
	attrs  string // of WithAttrs, written out
	groups string // of WithGroup, each with a dot behind
}

func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.least }

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	fmt.Fprintf(&line, "[%s %s] ", r.Time.Format(timeForm), h.name)
	switch {
	case r.Level >= slog.LevelError:
		line.WriteString("ERROR: ")
	case r.Level >= slog.LevelWarn:
		line.WriteString("WARNING: ")
	case r.Level < slog.LevelInfo:
		line.WriteString("DEBUG: ")
	}
	line.WriteString(oneLine(r.Message))
	line.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		writeAttr(&line, h.groups, a)
		return true
	})
	line.WriteByte('\n')
	return h.out.write(line.String())
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var more strings.Builder
	for _, a := range attrs {
		writeAttr(&more, h.groups, a)
	}
	with := *h
	with.attrs += more.String()
	return &with
}

func (h *handler) WithGroup(name string) slog.Handler {
	with := *h
	if name != "" {
		with.groups += name + "."
	}
	return &with
}

func writeAttr(line *strings.Builder, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range v.Group() {
			writeAttr(line, prefix, inner)
		}
		return
	}
	if a.Key == "" {
		return
	}
	text := v.String()
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || !unicode.IsPrint(r) }) {
		text = strconv.Quote(text)
	}
	fmt.Fprintf(line, " %s%s=%s", prefix, a.Key, text)
}

// oneLine keeps a client's text from writing lines of its own.
func oneLine(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// lines passes whole lines on, so that those of several children do not mix. What
// stands before the end without a line end is passed on by flush.
type lines struct {
	out  *sink
	rest []byte
}

// lineLimit is how much of a line without an end is kept.
const lineLimit = 64 << 10

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	end := strings.LastIndexByte(string(l.rest), '\n') + 1
	if end == 0 && len(l.rest) > lineLimit {
		end = len(l.rest)
	}
	if end > 0 {
		whole := string(l.rest[:end])
		l.rest = append(l.rest[:0], l.rest[end:]...)
		if err := l.out.write(whole); err != nil {
			return len(p), err
		}
	}
	return len(p), nil
}

func (l *lines) flush() error {
	if len(l.rest) == 0 {
		return nil
	}
	text := string(l.rest) + "\n"
	l.rest = nil
	return l.out.write(text)
}

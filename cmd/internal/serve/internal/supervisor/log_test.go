package supervisor

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"
)

func TestLogger(t *testing.T) {
	out := &log{}
	l := NewLogger(out, "scheduler", "info")
	l.Debug("not this")
	l.Info("Prefill batch. #new-seq: 1, #queue-req: 0, ")
	l.Warn("odd", "path", "router-input", "n", 3, "text", `a "b"`, "none", "")
	l.With("rid", "r-0").WithGroup("sub").Error("bad", "why", "x", slog.Group("in", "k", 1))
	l.Info("forged\n[2026-01-01 00:00:00 router] line")
	NewLogger(out, "router", "debug").Debug("small")
	NewLogger(out, "router", "error").Warn("not this")
	got := regexp.MustCompile(`(?m)^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d `).ReplaceAllString(out.String(), "[T ")
	want := strings.Join([]string{
		`[T scheduler] Prefill batch. #new-seq: 1, #queue-req: 0, `,
		`[T scheduler] WARNING: odd path=router-input n=3 text="a \"b\"" none=""`,
		`[T scheduler] ERROR: bad rid=r-0 sub.why=x sub.in.k=1`,
		`[T scheduler] forged\n[2026-01-01 00:00:00 router] line`,
		`[T router] DEBUG: small`,
		"",
	}, "\n")
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Lines of several children come out whole, however they were written.
func TestLines(t *testing.T) {
	out := &log{}
	s := &sink{w: out}
	a, b := &lines{out: s}, &lines{out: s}
	for _, w := range []struct {
		l    *lines
		text string
	}{{a, "one "}, {b, "two\nthr"}, {a, "line\n"}, {b, "ee\nend"}, {a, ""}} {
		if n, err := w.l.Write([]byte(w.text)); n != len(w.text) || err != nil {
			t.Fatal(n, err)
		}
	}
	for range 2 {
		if err := b.flush(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.String(), "two\none line\nthree\nend\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := strings.Repeat("x", lineLimit+1)
	if _, err := a.Write([]byte(long)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), long) {
		t.Error("a line without an end is kept without a limit")
	}
}

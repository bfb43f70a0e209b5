package results

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// However the bytes come in, the log has each line once and in order, and each
// folder of this machine by name, also where a write ends in the middle of one.
func TestLog(t *testing.T) {
	home := filepath.Join(t.TempDir(), "somebody")
	t.Setenv("HOME", home)
	text := strings.Repeat("open "+home+"/run/x: no such file\n\n\x00\xff kept\n", 50) + "panic in " + home
	want := strings.ReplaceAll(text, home, "$HOME")
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 0))
		r := create(t, examplePlan())
		l, err := r.OpenLog(Reference)
		if err != nil {
			t.Fatal(err)
		}
		for rest := []byte(text); len(rest) > 0; {
			n := 1 + rng.IntN(min(len(rest), 200))
			if got, err := l.Write(rest[:n]); got != n || err != nil {
				t.Fatalf("wrote %d of %d bytes, %v", got, n, err)
			}
			rest = rest[n:]
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if got := content(t, r.Dir(), LogFolder+"/reference.log"); got != want {
			t.Fatalf("seed %d: the log is %q, want %q", seed, got, want)
		}
		if _, err := l.Write([]byte("late\n")); err == nil {
			t.Error("a line after Close was taken")
		}
	}
}

// A line is on disk when it has ended; one that does not end is not held forever.
func TestLogLines(t *testing.T) {
	r := create(t, examplePlan())
	l, err := r.OpenLog(Candidate)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, s := range []struct{ write, adds string }{
		{"one\ntw", "one\n"}, {"o\n", "two\n"}, {"", ""}, {strings.Repeat("x", maxHeld), ""}, {"yz", strings.Repeat("x", maxHeld) + "yz"}, {"\n", "\n"},
	} {
		if _, err := l.Write([]byte(s.write)); err != nil {
			t.Fatal(err)
		}
		want += s.adds
		if got := content(t, r.Dir(), LogFolder+"/candidate.log"); got != want {
			t.Fatalf("after %.20q the log has %d bytes, want %d", s.write, len(got), len(want))
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.OpenLog(Candidate); !os.IsExist(err) && (err == nil || !strings.Contains(err.Error(), "exists")) {
		t.Errorf("a log that is there was opened: %v", err)
	}
}

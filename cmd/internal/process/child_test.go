package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// The child processes are this test binary: envRole says what it does.
const envRole = "FANOUTBENCH_TEST_CHILD"

var roles = map[string]func(){
	"echo": func() { // answers every line with itself
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			fmt.Println(lines.Text())
		}
	},
	"exit":  func() { fmt.Fprintln(os.Stderr, "going"); os.Exit(5) },
	"half":  func() { fmt.Print(`{"type":`) },
	"mute":  func() { _, _ = io.Copy(io.Discard, os.Stdin) },
	"close": func() { os.Stdout.Close(); _, _ = io.Copy(io.Discard, os.Stdin) },
	"deaf": func() { // to all but SIGKILL
		signal.Ignore(syscall.SIGTERM)
		fmt.Println(`{"type":"deaf"}`)
		forever()
	},
	"term": func() { // to the end of its input
		fmt.Println(`{"type":"up"}`)
		forever()
	},
	"parent": func() { // leaves a child that holds its output and its log
		self, err := os.Executable()
		if err != nil {
			os.Exit(1)
		}
		c := exec.Command(self)
		c.Env = append(os.Environ(), envRole+"=deaf")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if c.Start() != nil {
			os.Exit(1)
		}
	},
	"reader":    func() { _, _ = io.Copy(os.Stdout, os.NewFile(3, "inherited")) },
	"last word": func() { fmt.Println(`{"type":"error","message":"no memory"}`) },
	"chatty": func() {
		for i := range 100_000 {
			fmt.Printf("{\"type\":\"line\",\"n\":%d}\n", i)
		}
	},
}

// forever waits for what never comes.
func forever() {
	r, w, err := os.Pipe()
	if err != nil {
		os.Exit(1)
	}
	defer w.Close()
	_, _ = io.Copy(io.Discard, r)
}

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(envRole)]; ok {
		role()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func start(t *testing.T, role string, d Death) *Child {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Start([]string{"env", envRole + "=" + role, "GORACE=atexit_sleep_ms=0", self}, d, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.End(0, 0) })
	return c
}

// soon bounds what must not happen; no test waits for it to pass.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestAsk(t *testing.T) {
	t.Parallel()
	c := start(t, "echo", DieWithParent)
	for i := range 3 {
		want := protocol.Error{Type: "say", Message: fmt.Sprint(i)}
		var got protocol.Error
		if err := c.Ask(soon(t), want, "say", &got); err != nil || got != want {
			t.Fatalf("answer %+v, %v; want %+v", got, err, want)
		}
	}
	var peer *protocol.PeerError
	if err := c.Ask(soon(t), protocol.Error{Type: protocol.TypeError, Message: "no"}, "say", nil); !errors.As(err, &peer) || peer.Message != "no" {
		t.Errorf("an error line gives %v", err)
	}
	done, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if err := c.Ask(done, protocol.Signal{Type: "say"}, "say", nil); err == nil || err.Error() != "enough" {
		t.Errorf("Ask after the context's end: %v, want its cause", err)
	}
	if c.Obituary(0) != nil {
		t.Error("an obituary of a living process")
	}
	if killed := c.End(time.Minute, time.Minute); killed || c.Exit() != nil {
		t.Errorf("killed %v, exit %v; want an end by itself", killed, c.Exit())
	}
	c.End(time.Minute, time.Minute) // again does nothing
}

// What a child does in place of an answer is told with the way it ended.
func TestBrokenAnswers(t *testing.T) {
	for role, want := range map[string]string{
		"exit":   "the process ended (exit status 5) without an answer: ",
		"half":   `the process ended (exit status 0) without an answer: protocol: input ended inside the line`,
		"close":  "it closed its end of the pipe: EOF",
		"parent": "the process ended (exit status 0",
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			c := start(t, role, TermWithParent)
			var err error
			for range 3 { // the parent's child says a line
				if err = c.Ask(soon(t), protocol.Signal{Type: "go"}, "deaf", &struct{ Type string }{}); err != nil {
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), want) && role != "parent" {
				t.Errorf("got %v, want %q", err, want)
			}
			if err := c.Ask(soon(t), protocol.Signal{Type: "go"}, "deaf", nil); err == nil {
				t.Error("a second question is answered")
			}
			if role == "exit" {
				if o := c.Obituary(0); o == nil || !strings.Contains(o.Error(), `exit status 5; last lines of its log: "going"`) {
					t.Errorf("obituary %v", o)
				}
			}
		})
	}
}

// A child that has gone is not listened to less: its error line is the answer
// to a question that can no longer be asked.
func TestLastWord(t *testing.T) {
	t.Parallel()
	c := start(t, "last word", DieWithParent)
	<-c.Ended()
	var peer *protocol.PeerError
	if err := c.Ask(soon(t), protocol.Signal{Type: "go"}, "gone", nil); !errors.As(err, &peer) || peer.Message != "no memory" {
		t.Errorf("got %v, want the error line", err)
	}
}

// Each step of ending is taken only if the one before did not do.
func TestEnd(t *testing.T) {
	for _, k := range []struct {
		role        string
		leave, term time.Duration
		killed      bool
		exit        string
	}{
		{"mute", time.Minute, time.Minute, false, ""},
		{"chatty", time.Minute, time.Minute, false, ""}, // its output is read on
		{"term", time.Millisecond, time.Minute, false, "signal: terminated"},
		{"deaf", time.Millisecond, time.Millisecond, true, "signal: killed"},
	} {
		for _, d := range []Death{DieWithParent, TermWithParent} {
			t.Run(fmt.Sprint(k.role, " ", d), func(t *testing.T) {
				t.Parallel()
				c := start(t, k.role, d)
				if k.role == "term" || k.role == "deaf" {
					if _, err := c.Next(soon(t)); err != nil {
						t.Fatal(err)
					}
				}
				killed := c.End(k.leave, k.term)
				exit := ""
				if err := c.Exit(); err != nil {
					exit = err.Error()
				}
				if killed != k.killed || exit != k.exit {
					t.Errorf("killed %v, exit %q; want %v, %q", killed, exit, k.killed, k.exit)
				}
			})
		}
	}
}

// A child has the files that it is given, and the parent keeps its own.
func TestFiles(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Start([]string{"env", envRole + "=reader", "GORACE=atexit_sleep_ms=0", self}, DieWithParent, io.Discard, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.End(0, 0) })
	if _, err := io.WriteString(w, `{"type":"read"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := c.Next(soon(t)); err != nil || line.Type != "read" {
		t.Errorf("got %v, %v, want the file's line", line, err)
	}
	if err := errors.Join(w.Close(), r.Close()); err != nil {
		t.Errorf("the parent's ends: %v", err)
	}
}

// A child that is not spoken with may write what it likes, as much as it likes, on
// either output; it is ended as any other.
func TestStartLogged(t *testing.T) {
	for role, want := range map[string]string{"half": `{"type":`, "exit": "going\n", "chatty": "\"n\":99999}\n"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			c, err := StartLogged([]string{"env", envRole + "=" + role, "GORACE=atexit_sleep_ms=0", self}, TermWithParent, &log)
			if err != nil {
				t.Fatal(err)
			}
			<-c.Ended()
			if !strings.HasSuffix(log.String(), want) {
				t.Errorf("the log ends with %s, want %q", c.Log(), want)
			}
			if exit := c.Exit(); (exit != nil) != (role == "exit") {
				t.Errorf("exit %v", exit)
			}
			if c.End(0, 0) {
				t.Error("killed after its end")
			}
		})
	}
	if _, err := StartLogged([]string{"/nonexistent/program"}, TermWithParent, io.Discard); err == nil || !strings.Contains(err.Error(), "/nonexistent/program") {
		t.Errorf("got %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := StartLogged([]string{"env", envRole + "=mute", self}, TermWithParent, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c.End(time.Minute, time.Minute) || c.Exit() != nil {
		t.Errorf("a child that ends with its input: %v", c.Exit())
	}
}

func TestStartOfNothing(t *testing.T) {
	t.Parallel()
	_, err := Start([]string{"/nonexistent/program"}, DieWithParent, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "/nonexistent/program") {
		t.Errorf("got %v", err)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	tail := NewTail(&log)
	if q := tail.Quote(); q != "none" {
		t.Errorf("an empty log is %s", q)
	}
	var all strings.Builder
	for i := range 1000 {
		line := fmt.Sprintf("line %d\n", i)
		all.WriteString(line)
		if n, err := tail.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if log.String() != all.String() {
		t.Error("the log is not what was written")
	}
	if q, want := tail.Quote(), `"line 995 | line 996 | line 997 | line 998 | line 999"`; q != want {
		t.Errorf("got %s, want %s", q, want)
	}
	crash := "fatal error: out of memory\npanic: not the first\n" + strings.Repeat("\tstack.go:1\n", 1000)
	for len(crash) > 0 { // the runtime writes in small pieces
		n := min(len(crash), 7)
		if _, err := tail.Write([]byte(crash[:n])); err != nil {
			t.Fatal(err)
		}
		crash = crash[n:]
	}
	if q, want := tail.Quote(), `"fatal error: out of memory | ... | `; !strings.HasPrefix(q, want) {
		t.Errorf("got %s, want %s first", q, want)
	}
}

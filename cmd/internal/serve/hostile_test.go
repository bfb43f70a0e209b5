package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// refusedStart is what the program says when it must not start.
func refusedStart(t *testing.T, env []string, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"--port", "0"}, argv...)...)
	dir := t.TempDir()
	cmd.Env = append(append(os.Environ(), programVar+"=1", "TMPDIR="+dir), env...)
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Errorf("it ended without an error; the log:\n%s", out)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return string(out)
}

// Too little memory for the cache asked for is said first and alone, with the sizes.
func TestTooLittleMemory(t *testing.T) {
	got := refusedStart(t, nil, "--max-total-tokens", "2000000000")
	if want := "fanoutserve: too little memory for the cache asked for: max_total_tokens 2000000000 need "; !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 {
		t.Errorf("got %s, want one line %q", got, want)
	}
}

// A log that nobody reads any more neither stops the server nor keeps its end.
func TestUnreadLog(t *testing.T) {
	t.Parallel()
	s := &server{t: t, dir: t.TempDir(), log: &record{}, cmd: exec.Command(os.Args[0], append([]string{"--port", "0", "--enable-metrics", "--log-level", "debug"}, small...)...)}
	s.cmd.Env = append(os.Environ(), programVar+"=1", "TMPDIR="+s.dir)
	pipe, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = in
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // fails if it has ended, as it should
	for lines := bufio.NewReaderSize(pipe, 16); !strings.Contains(s.log.String(), "ready to roll!"); {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err, s.log)
		}
		_, _ = s.log.Write([]byte(line)) // a buffer
	}
	s.url = "http://" + strings.TrimSpace(between(s.log.String(), "listening at http://", "\n"))
	go func() {
		for err := error(nil); err == nil; { // until the pipe is full, and then for ever
			_, err = in.Write(make([]byte, 512))
		}
	}()
	for turn := range 5 {
		l := s.load(30, 40)
		for range l.n {
			if r := <-l.results; !r.whole() {
				t.Fatalf("turn %d: a stream of %d events ended with %v", turn, len(r.events), r.err)
			}
		}
	}
	s.signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case err := <-ended:
		if code := s.cmd.ProcessState.ExitCode(); code != exitFail {
			t.Errorf("status %d, %v, want %d: the end of the log is lost", code, err, exitFail)
		}
	case <-time.After(patience):
		t.Fatal("the server has not ended")
	}
	if err := pipe.Close(); err != nil {
		t.Error(err)
	}
}

func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}

// A part that stands still for a while loses nothing, and /health_generate names it and no other meanwhile
// (sglang#26482, sglang#22511).
func TestStoppedPart(t *testing.T) {
	for _, name := range []string{"router", "scheduler", "detokenizer-router", "detokenizer-0", "worker-1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := launch(t, append([]string{"--health-timeout", "4"}, small...)...)
			l := s.load(30, 600)
			if err := syscall.Kill(s.pids()[name], syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			s.waitFor(name+" to be named", func() bool {
				client := http.Client{Timeout: 10 * time.Second} // the worker that stands still may have got it
				response, err := client.Get(s.url + "/health_generate")
				if err != nil {
					return false
				}
				text, err := io.ReadAll(response.Body)
				_ = response.Body.Close() // read only
				return err == nil && response.StatusCode == 503 && strings.Contains(string(text), "standing still: "+name+`"`)
			})
			if err := syscall.Kill(s.pids()[name], syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			for range l.n {
				if r := <-l.results; !r.whole() {
					t.Errorf("a stream of %d events ended with %v", len(r.events), r.err)
				}
			}
			s.term()
		})
	}
}

// More clients than a process may have files: some wait, and the parts can still reach each other.
func TestFewFiles(t *testing.T) {
	by := exec.Command("sh", "-c", `ulimit -n 64; exec "$0" "$@"`, os.Args[0])
	s := launchBy(t, by, small...)
	host := strings.TrimPrefix(s.url, "http://")
	var conns []net.Conn
	for range 300 {
		conn, err := net.DialTimeout("tcp", host, patience)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	// None of the detokenizers has connected to a worker for this yet.
	body := `{"text":"hello","sampling_params":{"max_new_tokens":5,"ignore_eos":true}}`
	answered := 0
	for _, conn := range conns[:90] { // those first in each worker's turn
		if _, err := fmt.Fprintf(conn, "POST /generate HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			t.Fatal(err)
		}
	}
	for _, conn := range conns[:90] {
		if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, 15)
		if _, err := io.ReadFull(conn, answer); err == nil {
			if string(answer) != "HTTP/1.1 200 OK" {
				t.Errorf("got %q", answer)
			}
			answered++
		}
	}
	if answered == 0 {
		t.Error("nobody was answered")
	}
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	if r, err := s.stream(20, func() {}); err != nil || len(r) == 0 {
		t.Errorf("afterwards: %v, %v", r, err)
	}
	s.term()
}

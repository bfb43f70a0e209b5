package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// programVar makes the test binary the program itself; so do the arguments of a
// part, which the program gives its children.
const programVar = "FANOUTSERVE_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVar) != "" {
		os.Exit(Main(nil, os.Args[1:]))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // these tests mostly wait
		panic(err)
	}
	os.Exit(m.Run())
}

// patience bounds what must not happen; no test waits for it to pass.
const patience = 2 * time.Minute

// server is the program, with its parts, under test.
type server struct {
	t   *testing.T
	cmd *exec.Cmd
	dir string // of temporary files
	log *record
	url string
}

// record is what the program wrote.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// launch starts the program on any free port, and waits until it serves.
func launch(t *testing.T, argv ...string) *server {
	t.Helper()
	return launchBy(t, exec.Command(os.Args[0]), argv...)
}

// launchBy is launch with a command that runs the program with more arguments.
func launchBy(t *testing.T, by *exec.Cmd, argv ...string) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "fs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &server{t: t, dir: dir, log: &record{}, cmd: by}
	s.cmd.Args = append(append(s.cmd.Args, "--port", "0", "--enable-metrics"), argv...)
	s.cmd.Env = append(os.Environ(), programVar+"=1", "TMPDIR="+dir, "GORACE=atexit_sleep_ms=0")
	s.cmd.Stderr = s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // fails if it has ended, as it should
	s.waitFor("the server to serve", func() bool { return strings.Contains(s.log.String(), "ready to roll!") })
	s.url = regexp.MustCompile(`listening at (http://\S+)`).FindStringSubmatch(s.log.String())[1]
	return s
}

func (s *server) waitFor(what string, done func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("waited too long for %s; the log:\n%s", what, s.log)
		}
	}
}

// pids of the parts, by name.
func (s *server) pids() map[string]int {
	pids := map[string]int{}
	for _, m := range regexp.MustCompile(`supervisor\] (\S+): pid (\d+)\n`).FindAllStringSubmatch(s.log.String(), -1) {
		pid, err := strconv.Atoi(m[2])
		if err != nil {
			s.t.Fatal(err)
		}
		pids[m[1]] = pid
	}
	return pids
}

// end waits for the program's end, of which nothing is left, and gives its status.
func (s *server) end() int {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			s.t.Fatal(err)
		}
	case <-time.After(patience):
		s.t.Fatalf("the server has not ended; its log:\n%s", s.log)
	}
	for name, pid := range s.pids() {
		s.waitFor(name+" to be gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
	left, err := os.ReadDir(s.dir)
	if err != nil || len(left) > 0 {
		s.t.Errorf("left behind: %v, %v", left, err)
	}
	s.waitFor("the port to be free", func() bool { // another test may have got it meanwhile
		l, err := net.Listen("tcp", strings.TrimPrefix(s.url, "http://"))
		return err == nil && l.Close() == nil
	})
	return s.cmd.ProcessState.ExitCode()
}

func (s *server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// term ends the server as an operator does; it must find nothing to complain of.
func (s *server) term() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if code := s.end(); code != exitOK {
		s.t.Errorf("status %d, want %d; the log:\n%s", code, exitOK, s.log)
	}
}

// stream asks for n tokens as a stream and reads it to its end. started is called
// when the first event is there.
func (s *server) stream(n int, started func()) (events []string, err error) {
	body := fmt.Sprintf(`{"text":"hello","stream":true,"sampling_params":{"max_new_tokens":%d,"ignore_eos":true}}`, n)
	answer, err := http.Post(s.url+"/generate", "", strings.NewReader(body))
	if err != nil {
		started()
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		started()
		text, _ := io.ReadAll(answer.Body)
		return nil, fmt.Errorf("status %d: %s", answer.StatusCode, text)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if event, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if len(events) == 0 {
				started()
			}
			events = append(events, event)
		}
	}
	return events, lines.Err()
}

// load is streams that run.
type load struct {
	results chan result
	n       int
}

type result struct {
	events []string
	err    error
}

// load starts n streams of so many tokens, and returns when each has begun.
func (s *server) load(n, tokens int) *load {
	l := &load{results: make(chan result, n), n: n}
	var begun sync.WaitGroup
	for range n {
		begun.Add(1)
		go func() {
			var once sync.Once
			events, err := s.stream(tokens, func() { once.Do(begun.Done) })
			once.Do(begun.Done)
			l.results <- result{events, err}
		}()
	}
	begun.Wait()
	return l
}

// whole says whether a stream has its finish and its end.
func (r result) whole() bool {
	n := len(r.events)
	return r.err == nil && n >= 2 && r.events[n-1] == "[DONE]" && strings.Contains(r.events[n-2], `"finish_reason":{"type":"length"`)
}

// told says whether a client was told of an error, in its stream.
func (r result) told() bool {
	for _, e := range r.events {
		var event struct{ Error *struct{ Message string } }
		if json.Unmarshal([]byte(e), &event) == nil && event.Error != nil && event.Error.Message != "" {
			return true
		}
	}
	return false
}

// slow is a device whose long requests outlive a test.
var slow = []string{"--device", "sim", "--sim-step-base", "0.01"}

var small = []string{"--tokenizer-worker-num", "3", "--detokenizer-worker-num", "2", "--device", "sim", "--sim-step-base", "0.002"}

// What runs is finished after SIGTERM, and every row is accounted for, also those
// of clients that left.
func TestTermUnderLoad(t *testing.T) {
	for _, mode := range [][]string{nil, {"--in-process"}} {
		t.Run(strings.Join(mode, ""), func(t *testing.T) {
			t.Parallel()
			s := launch(t, append(mode, small...)...)
			l := s.load(30, 300)
			leaving, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			body := `{"text":"hello","stream":true,"sampling_params":{"max_new_tokens":100000}}`
			if _, err := fmt.Fprintf(leaving, "POST /generate HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
				t.Fatal(err)
			}
			if _, err := leaving.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			_ = leaving.Close()
			s.signal(syscall.SIGTERM)
			for range l.n {
				if r := <-l.results; !r.whole() {
					t.Errorf("a stream of %d events ended with %v", len(r.events), r.err)
				}
			}
			if code := s.end(); code != exitOK {
				t.Errorf("status %d, want %d; the log:\n%s", code, exitOK, s.log)
			}
			m := regexp.MustCompile(`ledger: built (\d+) = delivered (\d+) .* in flight 0; missing 0, doubled 0, reordered 0`).FindStringSubmatch(s.log.String())
			if m == nil {
				t.Fatalf("no ledger in the log:\n%s", s.log)
			}
			if built, err := strconv.Atoi(m[1]); err != nil || built < 30*300 {
				t.Errorf("%d rows built, want those of all streams: %s", built, m[0])
			}
		})
	}
}

// vllm#39863, vllm PR 21728: whichever part is killed under load, every client is
// told or cut off at once, the program ends with status 1, and nothing is left.
func TestKillUnderLoad(t *testing.T) {
	for _, name := range []string{"scheduler", "router", "detokenizer-router", "detokenizer-0", "worker-1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := launch(t, small...)
			l := s.load(30, 1_000_000)
			if err := syscall.Kill(s.pids()[name], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			told := 0
			for range l.n {
				r := <-l.results
				if r.whole() {
					t.Error("a stream ended as if it were whole")
				}
				if r.told() {
					told++
					if last := strings.Join(r.events[max(0, len(r.events)-2):], " "); strings.Contains(last, "(pid ") || strings.Contains(last, "its log") || strings.Count(last, "the server ends") > 1 {
						t.Errorf("a client was told %s, want neither processes nor logs", last)
					}
				} else if !strings.HasPrefix(name, "worker") {
					t.Errorf("a client was not told: %d events, %v", len(r.events), r.err)
				}
			}
			if code := s.end(); code != exitFail {
				t.Errorf("status %d, want %d", code, exitFail)
			}
			if want := "fanoutserve: " + name + " (pid "; !strings.Contains(s.log.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, s.log)
			}
			if !regexp.MustCompile(`\] ledger: built [1-9]\d* = delivered [1-9]`).MatchString(s.log.String()) {
				t.Errorf("no ledger in the log:\n%s", s.log)
			}
			if told == 0 {
				t.Error("no client was told")
			}
		})
	}
}

// A second signal does not wait for requests, but one that comes twice is not a second.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	s := launch(t, small...)
	l := s.load(3, 1_000_000)
	s.signal(syscall.SIGINT)
	s.waitFor("the log to tell", func() bool { return strings.Contains(s.log.String(), "the server ends") })
	s.signal(syscall.SIGINT)
	time.Sleep(sameSignal)
	select {
	case r := <-l.results:
		t.Errorf("a stream ended after %d events, before the second signal: %v", len(r.events), r.err)
		l.n--
	default:
	}
	s.signal(syscall.SIGINT)
	for range l.n {
		if r := <-l.results; r.whole() {
			t.Error("a stream ended as if it were whole")
		}
	}
	if code := s.end(); code != exitFail || !strings.Contains(s.log.String(), "ended at once") {
		t.Errorf("status %d, want %d, and the reason:\n%s", code, exitFail, s.log)
	}
}

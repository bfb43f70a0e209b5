package supervisor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

// The children are this test binary: as a part, or as a whole server.
const (
	partCommand   = "__part"
	serverCommand = "__server"
	// envFault makes fake parts misbehave: "scheduler=panic".
	envFault = "FANOUTSERVE_TEST_FAULT"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == partCommand {
		if RunPart(os.Stdin, os.Stdout, os.Stderr, fakes(os.Getenv(envFault))) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == serverCommand {
		os.Exit(serverMain())
	}
	os.Exit(m.Run())
}

// serverMain is a server of fake parts whose Config is the second argument.
func serverMain() int {
	var c Config
	if err := json.Unmarshal([]byte(os.Args[2]), &c.Args); err != nil {
		return 3
	}
	c.TempDir, c.Log, c.Ledger, c.Command = os.Args[3], os.Stderr, balanced, []string{os.Args[0], partCommand}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := Run(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func balanced(string) (counters.Ledger, error) { return counters.Ledger{}, nil }

// fakes are parts that do nothing but what a supervisor sees: each has a socket in
// the folder and ends with an error when somebody connects to it. A worker serves
// /health_generate and /wait, which is answered when the test says so.
func fakes(fault string) map[string]part.Run {
	name, what, _ := strings.Cut(fault, "=")
	run := func(ctx context.Context, e part.Env) error {
		if e.ID.String() == name {
			return misbehave(ctx, e, what)
		}
		return fake(ctx, e)
	}
	table := map[string]part.Run{}
	for _, kind := range []string{part.Worker, part.Router, part.Scheduler, part.DetokenizerRouter, part.Detokenizer} {
		table[kind] = run
	}
	return table
}

func misbehave(ctx context.Context, e part.Env, what string) error {
	switch what {
	case "error":
		e.Log.Error("no memory for me")
		return errors.New("too little memory")
	case "panic":
		panic("a broken part")
	case "exit":
		os.Exit(0)
	case "processors":
		return fmt.Errorf("it runs on %d", runtime.GOMAXPROCS(0))
	case "return":
		return nil
	case "mute":
		e.Log.Info("thinking")
		<-ctx.Done()
		return context.Cause(ctx)
	case "deaf":
		e.Ready()
		select {}
	case "late":
		for _, err := os.Stat(filepath.Join(e.Folder, "loaded")); err != nil; _, err = os.Stat(filepath.Join(e.Folder, "loaded")) {
			time.Sleep(2 * time.Millisecond)
		}
		return fake(ctx, e)
	case "nonsense":
		fmt.Println("hello")
		select {}
	}
	return fmt.Errorf("no fault %q", what)
}

func fake(ctx context.Context, e part.Env) error {
	l, err := net.Listen("unix", filepath.Join(e.Folder, e.ID.String()))
	if err != nil {
		return err
	}
	defer l.Close()
	broken := make(chan error, 1)
	go func() {
		if _, err := l.Accept(); err == nil {
			broken <- errors.New("somebody touched me")
		}
	}()
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	if e.Listener != nil {
		defer serve(ctx, e)()
	}
	e.Ready()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-broken:
		abandon()
		return err
	}
}

// serve serves until stop, which waits for the answers to be written.
func serve(ctx context.Context, e part.Env) (stop func()) {
	var open sync.WaitGroup
	mux := http.NewServeMux()
	mux.HandleFunc("/health_generate", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+e.Args.APIKey && e.Args.APIKey != "" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		if stage, err := part.Reached(e.Folder); stage != part.Warming {
			http.Error(w, fmt.Sprintf("stage %d, %v", stage, err), http.StatusInternalServerError)
		}
	})
	mux.HandleFunc("/wait", func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Done()
		w.WriteHeader(http.StatusOK)
		_, _ = fmt.Fprintln(w, "started")
		w.(http.Flusher).Flush()
		for {
			select {
			case <-ctx.Done():
				_, _ = fmt.Fprintln(w, "error:", context.Cause(ctx))
				return
			case <-time.After(5 * time.Millisecond):
				if _, err := os.Stat(filepath.Join(e.Folder, "release")); err == nil {
					_, _ = fmt.Fprintln(w, "done")
					return
				}
			}
		}
	})
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(e.Listener) }()
	go func() {
		<-e.Ending
		_ = e.Listener.Close()
		open.Wait()
		e.Drained()
	}()
	return func() {
		_ = e.Listener.Close() // Serve may not have come so far; again does nothing
		bounded, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = server.Shutdown(bounded) // a client that does not read is cut off
	}
}

// running is a server under test.
type running struct {
	t      *testing.T
	dir    string
	log    *log
	cancel context.CancelFunc
	now    chan struct{}
	result chan error
}

// log is what the server wrote.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// patience bounds what must not happen; no test waits for it to pass.
const patience = time.Minute

// shortDir is a folder with a path that is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func settings(inProcess bool) args.Args {
	a := args.Default().Complete()
	a.Port, a.TokenizerWorkerNum, a.DetokenizerWorkerNum, a.InProcess = 0, 3, 2, inProcess
	return a
}

// start runs a server of fake parts in this process, and its parts as children
// unless the settings say otherwise.
func start(t *testing.T, a args.Args, fault string, change ...func(*Config)) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, dir: shortDir(t), log: &log{}, cancel: cancel, now: make(chan struct{}), result: make(chan error, 1)}
	c := Config{
		Args: a, Parts: fakes(fault), Ledger: balanced, Log: r.log, TempDir: r.dir, Now: r.now,
		Command: []string{"env", envFault + "=" + fault, "GORACE=atexit_sleep_ms=0", os.Args[0], partCommand},
	}
	for _, f := range change {
		f(&c)
	}
	go func() { r.result <- Run(ctx, c) }()
	t.Cleanup(cancel)
	return r
}

// end waits for the server's end.
func (r *running) end() error {
	r.t.Helper()
	select {
	case err := <-r.result:
		r.nothingLeft()
		return err
	case <-time.After(patience):
		r.t.Fatalf("the server has not ended; its log:\n%s", r.log)
		return nil
	}
}

// serving waits until the server serves and says where.
func (r *running) serving() (url string) {
	r.t.Helper()
	waitFor(r.t, "the server to serve: "+r.dir, func() bool {
		select {
		case err := <-r.result:
			r.t.Fatalf("the server ended: %v; its log:\n%s", err, r.log)
		default:
		}
		return strings.Contains(r.log.String(), "The server is fired up and ready to roll!\n")
	})
	return findURL(r.t, r.log.String())
}

func findURL(t *testing.T, log string) string {
	t.Helper()
	found := regexp.MustCompile(`listening at (http://\S+)`).FindStringSubmatch(log)
	if found == nil {
		t.Fatalf("the log has no address:\n%s", log)
	}
	return found[1]
}

// pids of the parts, by name.
func (r *running) pids() map[string]int { return findPIDs(r.log.String()) }

func findPIDs(log string) map[string]int {
	pids := map[string]int{}
	for _, m := range regexp.MustCompile(`supervisor\] (\S+): pid (\d+)\n`).FindAllStringSubmatch(log, -1) {
		var pid int
		_, _ = fmt.Sscan(m[2], &pid) // digits
		pids[m[1]] = pid
	}
	return pids
}

func (r *running) folder() string {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.dir, "fanoutserve-*"))
	if err != nil || len(found) != 1 {
		r.t.Fatalf("folders %q, %v; want one", found, err)
	}
	return found[0]
}

// nothingLeft: no process, no file, and the port is free (sglang#15165, vllm PR 11115).
func (r *running) nothingLeft() {
	r.t.Helper()
	nothingLeft(r.t, r.log.String(), r.dir)
}

func nothingLeft(t *testing.T, log, dir string) {
	t.Helper()
	for name, pid := range findPIDs(log) {
		if pid != os.Getpid() {
			waitFor(t, name+" to be gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
		}
	}
	waitFor(t, "the folder to be gone", func() bool {
		left, err := os.ReadDir(dir)
		return err == nil && len(left) == 0
	})
	if m := regexp.MustCompile(`listening at http://(\S+)`).FindStringSubmatch(log); m != nil {
		// A child of another test has a copy of the listener between fork and exec.
		waitFor(t, "the port to be free", func() bool {
			l, err := net.Listen("tcp", m[1])
			return err == nil && l.Close() == nil
		})
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

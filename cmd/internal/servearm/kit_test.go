package servearm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/serve"
)

// serverWord makes the test binary the server of builtin arms; roleVar makes it one
// of the servers below, at the address that is its first argument.
const (
	serverWord = "__serve"
	roleVar    = "SERVEARM_TEST_ROLE"
)

var roles = map[string]func(address string){
	"healthy": func(a string) { listen(a, http.StatusOK); wait() },
	"sick": func(a string) { // and says when it is asked again
		var asked atomic.Int32
		l, err := net.Listen("tcp", a)
		if err != nil {
			os.Exit(1)
		}
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // ends with the process
			if asked.Add(1) == 2 {
				fmt.Println("again")
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
	},
	"mute": func(string) { wait() },
	"ends": func(string) { fmt.Fprintln(os.Stderr, "no memory"); os.Exit(3) },
	"ends well": func(string) {
		fmt.Println("nothing to do")
	},
	"dies": func(a string) { // when it has been asked for its death
		http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { fmt.Println("oh"); os.Exit(4) })
		listen(a, http.StatusOK)
		wait()
	},
	"deaf": func(a string) { signal.Ignore(syscall.SIGTERM); listen(a, http.StatusOK); wait() },
	"bad end": func(a string) {
		onTerm(func() { os.Exit(9) })
		listen(a, http.StatusOK)
		wait()
	},
	"shell end": func(a string) {
		onTerm(func() { os.Exit(143) })
		listen(a, http.StatusOK)
		wait()
	},
	"kills itself": func(a string) {
		onTerm(func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }) // cannot fail
		listen(a, http.StatusOK)
		wait()
	},
	"parent": func(a string) { // of a child that outlives it
		c := exec.Command(os.Args[0], "127.0.0.1:0")
		c.Env = append(os.Environ(), roleVar+"=deaf")
		if err := c.Start(); err != nil {
			os.Exit(1)
		}
		fmt.Println("child", c.Process.Pid)
		listen(a, http.StatusOK)
		wait()
	},
}

func onTerm(end func()) {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGTERM)
	go func() { <-got; end() }()
}

func listen(address string, status int) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	http.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
	go func() { _ = http.Serve(l, nil) }() // ends with the process
}

// wait waits for what never comes: a signal ends the process.
func wait() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR1)
	<-never
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serverWord {
		os.Exit(serve.Main(os.Args[1:2], os.Args[2:]))
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "__") {
		fmt.Fprintf(os.Stderr, "started as %q, which must not run the tests\n", os.Args[1:])
		os.Exit(2)
	}
	if role, ok := roles[os.Getenv(roleVar)]; ok {
		role(os.Args[1])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// patience bounds what must not happen; no test waits for it to pass.
const patience = 2 * time.Minute

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// record is what a server wrote.
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

func resolver(t *testing.T) Resolver {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Resolver{Server: []string{self, serverWord}, Repo: ".", Cache: t.TempDir()}
}

func resolve(t *testing.T, spec string) Arm {
	t.Helper()
	a, err := resolver(t).Resolve(within(t), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// role is the spec of one of the servers above.
func role(t *testing.T, name string) Arm {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return resolve(t, fmt.Sprintf("launch:env %s='%s' GORACE=atexit_sleep_ms=0 '%s' 127.0.0.1:{port}", roleVar, name, self))
}

// gone waits until a process is no more, or nobody's zombie.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(stat), ") ")
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || err == nil && strings.HasPrefix(state, "Z") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}

// checkout is a repository of this module, as small as one can be, whose
// fanoutserve says its flags and serves nothing but its health.
func checkout(t *testing.T) (dir, commit string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "ein Baum")
	for name, text := range map[string]string{
		"go.mod":                  "module github.com/fanoutbench/fanoutbench\n\ngo 1.26\n",
		"cmd/fanoutbench/main.go": "package main\n\nfunc main() {}\n",
		"cmd/fanoutserve/main.go": smallServer,
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("add", "--all")
	git("commit", "-q", "-m", "one")
	return dir, git("rev-parse", "HEAD")
}

const smallServer = `package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	for _, a := range os.Args[1:] {
		if strings.HasPrefix(a, "--no-such") {
			fmt.Fprintln(os.Stderr, "unknown flag "+a)
			os.Exit(2)
		}
	}
	if slices.Contains(os.Args, "--help") {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("flags %q\n", os.Args[1:])
	fmt.Printf("listening at http://%s\n", l.Addr())
	http.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	go http.Serve(l, nil)
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGTERM)
	fmt.Println("The server is fired up and ready to roll!")
	<-got
}
`

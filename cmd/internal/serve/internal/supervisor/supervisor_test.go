package supervisor

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

// eachWay runs a test with parts as processes and as goroutines.
func eachWay(t *testing.T, f func(t *testing.T, inProcess bool)) {
	for name, inProcess := range map[string]bool{"processes": false, "goroutines": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, inProcess)
		})
	}
}

// get asks and has read the first line of the answer.
func get(t *testing.T, url string) (*bufio.Reader, string) {
	t.Helper()
	answer, err := http.Get(url) //nolint:bodyclose // by the cleanup
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	r := bufio.NewReader(answer.Body)
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return r, line
}

func rest(r io.Reader) string {
	text, err := io.ReadAll(r)
	if err != nil {
		return string(text) + " and " + err.Error()
	}
	return string(text)
}

func TestServesAndEnds(t *testing.T) {
	eachWay(t, func(t *testing.T, inProcess bool) {
		a := settings(inProcess)
		a.APIKey = "secret"
		r := start(t, a, "")
		url := r.serving()
		var names []string
		for name, pid := range r.pids() {
			names = append(names, name)
			if own := pid == os.Getpid(); own != inProcess {
				t.Errorf("%s has pid %d, this process is %d", name, pid, os.Getpid())
			}
		}
		var want []string
		for _, id := range part.All(a) {
			want = append(want, id.String())
		}
		slices.Sort(names)
		slices.Sort(want)
		if !slices.Equal(names, want) {
			t.Errorf("the log names %q, want %q", names, want)
		}
		if info, err := os.Stat(r.folder()); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder: %v, %v; want mode 0700", info, err)
		}
		asked, _ := get(t, url+"/wait")
		if err := os.WriteFile(filepath.Join(r.folder(), "release"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := rest(asked); got != "done\n" {
			t.Errorf("answer %q", got)
		}
		r.cancel()
		if err := r.end(); err != nil {
			t.Errorf("the end: %v", err)
		}
		if !strings.Contains(r.log.String(), "ledger: built 0 = delivered 0 + dropped 0 + in flight 0; missing 0, doubled 0, reordered 0\n") {
			t.Errorf("no ledger in the log:\n%s", r.log)
		}
	})
}

// No worker is told that the server serves before the last of its parts can, and its
// own first request (whose answer says so, in the kit) has been answered.
func TestServesWhenAllAreReady(t *testing.T) {
	eachWay(t, func(t *testing.T, inProcess bool) {
		for _, name := range []string{"detokenizer-0", "detokenizer-router", "scheduler", "router", "worker-1"} {
			r := start(t, settings(inProcess), name+"=late")
			waitFor(t, "the other parts", func() bool {
				found, err := filepath.Glob(filepath.Join(r.dir, "fanoutserve-*", "*-*"))
				return err == nil && len(found) >= 4
			})
			if stage, err := part.Reached(r.folder()); err != nil || stage != part.Starting {
				t.Errorf("while %s starts: stage %d, %v", name, stage, err)
			}
			if err := os.WriteFile(filepath.Join(r.folder(), "loaded"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			r.serving()
			if stage, err := part.Reached(r.folder()); err != nil || stage != part.Serving {
				t.Errorf("when %s had started: stage %d, %v", name, stage, err)
			}
			if log := r.log.String(); strings.Count(log, "supervisor] loading qwen3-small\n") != 1 {
				t.Errorf("the log does not say once what is loaded:\n%s", log)
			}
			r.cancel()
			if err := r.end(); err != nil {
				t.Error(err)
			}
		}
	})
}

// What runs may finish after the server was asked to end; nothing new is taken.
func TestRequestsFinish(t *testing.T) {
	eachWay(t, func(t *testing.T, inProcess bool) {
		r := start(t, settings(inProcess), "")
		url := r.serving()
		asked, _ := get(t, url+"/wait")
		r.cancel()
		waitFor(t, "the port to be closed", func() bool {
			c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err == nil {
				_ = c.Close()
			}
			return err != nil
		})
		if err := os.WriteFile(filepath.Join(r.folder(), "release"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := rest(asked); got != "done\n" {
			t.Errorf("the request got %q, want its answer", got)
		}
		if err := r.end(); err != nil {
			t.Errorf("the end: %v", err)
		}
	})
}

func TestRequestsThatDoNotFinish(t *testing.T) {
	eachWay(t, func(t *testing.T, inProcess bool) {
		a := settings(inProcess)
		a.ShutdownTimeout = 0.01
		r := start(t, a, "")
		asked, _ := get(t, r.serving()+"/wait")
		r.cancel()
		err := r.end()
		if err == nil || !strings.Contains(err.Error(), "10ms after the server was asked to end (--shutdown-timeout); they were cut off") {
			t.Errorf("the end: %v", err)
		}
		if !strings.Contains(r.log.String(), "] ledger: built ") {
			t.Errorf("no ledger in the log:\n%s", r.log)
		}
		if got := rest(asked); !strings.HasPrefix(got, "error: requests had not finished") {
			t.Errorf("the client got %q, want the reason", got)
		}
	})
}

// sglang#10121: a part that does not come up is not started again for ever.
func TestPartsThatDoNotStart(t *testing.T) {
	for _, k := range []struct {
		fault, want string
		goroutine   bool
	}{
		{"scheduler=error", "failed: too little memory; last lines of its log: ", false},
		{"scheduler=error", "failed: too little memory", true},
		{"detokenizer-1=panic", "failed: exit status 2; last lines of its log: ", false},
		{"worker-2=exit", "failed: it ended, which nobody had asked for", false},
		{"router=return", "failed: it ended, which nobody had asked for", false},
		{"router=processors", "failed: it runs on 1", false},
		{"router=return", "failed: it ended, which nobody had asked for", true},
		{"detokenizer-router=nonsense", "failed: exit status 1", false},
	} {
		name, _, _ := strings.Cut(k.fault, "=")
		t.Run(k.fault, func(t *testing.T) {
			t.Parallel()
			r := start(t, settings(k.goroutine), k.fault)
			if err := r.end(); err == nil || !strings.HasPrefix(err.Error(), name+" (pid ") || !strings.Contains(err.Error(), k.want) {
				t.Errorf("got %v, want that %s %s", err, name, k.want)
			}
			if strings.Contains(r.log.String(), "fired up") {
				t.Error("it says that it serves")
			}
		})
	}
}

// sglang#10121: all register in time or the start fails, with the names of those missing.
func TestPartsThatDoNotRegister(t *testing.T) {
	eachWay(t, func(t *testing.T, inProcess bool) {
		a := settings(inProcess)
		a.StartTimeout = 1 // a child must have been started and logged by then
		r := start(t, a, "worker-1=mute")
		err := r.end()
		if err == nil || !strings.Contains(err.Error(), "worker-1 did not register within 1s (--start-timeout)") {
			t.Errorf("got %v", err)
		}
		if !inProcess && err != nil && !strings.Contains(err.Error(), "thinking") {
			t.Errorf("%v does not have the last lines of the log", err)
		}
	})
}

// vllm#39863, vllm PR 21728: a part that dies under a request takes the server
// down, the client is told at once, and nothing stays.
func TestPartsThatDie(t *testing.T) {
	for _, name := range []string{"scheduler", "router", "detokenizer-router", "detokenizer-0", "worker-2"} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, inProcess bool) {
				r := start(t, settings(inProcess), "")
				asked, _ := get(t, r.serving()+"/wait")
				c, err := net.Dial("unix", filepath.Join(r.folder(), name))
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if err := r.end(); err == nil || !strings.HasPrefix(err.Error(), name+" (pid ") || !strings.Contains(err.Error(), "failed: somebody touched me") {
					t.Errorf("got %v", err)
				}
				// A worker's own clients may lose their connection instead.
				if got := rest(asked); name != "worker-2" && got != "error: "+named(name)+" has failed (somebody touched me)\n" {
					t.Errorf("the client got %q, want the reason", got)
				}
			})
		})
	}
}

// named is a part as clients are told of it: never with its process or its log.
func named(part string) string {
	if strings.Contains(part, "-") && part != "detokenizer-router" {
		return part
	}
	return "the " + part
}

func TestKilledParts(t *testing.T) {
	for _, name := range []string{"scheduler", "router", "detokenizer-router", "detokenizer-1", "worker-0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, settings(false), "")
			asked, _ := get(t, r.serving()+"/wait")
			if err := syscall.Kill(r.pids()[name], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := r.end(); err == nil || !strings.HasPrefix(err.Error(), name+" (pid ") || !strings.Contains(err.Error(), "failed: signal: killed") {
				t.Errorf("got %v", err)
			}
			if got := rest(asked); name != "worker-0" && got != "error: "+named(name)+" has failed (signal: killed)\n" {
				t.Errorf("the client got %q, want the reason", got)
			}
			if n := strings.Count(r.log.String(), "] ledger: built "); n != 1 {
				t.Errorf("the log has %d ledgers, want one:\n%s", n, r.log)
			}
		})
	}
}

// A part that got SIGTERM itself, as a service manager sends it to every process,
// does not end before its requests.
func TestSignalToAPart(t *testing.T) {
	t.Parallel()
	r := start(t, settings(false), "")
	asked, _ := get(t, r.serving()+"/wait")
	for _, pid := range r.pids() {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the log to tell", func() bool { return strings.Contains(r.log.String(), "got a signal (terminated): the server ends") })
	if err := os.WriteFile(filepath.Join(r.folder(), "release"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := rest(asked); got != "done\n" {
		t.Errorf("the request got %q, want its answer", got)
	}
	if err := r.end(); err != nil {
		t.Errorf("the end: %v", err)
	}
}

// A second signal ends even what does not listen.
func TestEndAtOnce(t *testing.T) {
	t.Parallel()
	a := settings(false)
	a.SkipServerWarmup = true // it may come to the deaf one
	r := start(t, a, "worker-1=deaf")
	r.serving()
	r.cancel()
	waitFor(t, "the log to tell", func() bool { return strings.Contains(r.log.String(), "the server ends") })
	close(r.now)
	if err := r.end(); !errors.Is(err, errNow) {
		t.Errorf("got %v, want %v", err, errNow)
	}
}

func TestEndWhileItStarts(t *testing.T) {
	eachWay(t, func(t *testing.T, inProcess bool) {
		r := start(t, settings(inProcess), "router=mute")
		waitFor(t, "the part to start", func() bool { return strings.Contains(r.log.String(), "thinking") })
		r.cancel()
		if err := r.end(); !errors.Is(err, errAsked) {
			t.Errorf("got %v, want %v", err, errAsked)
		}
	})
}

// Who asks for a quiet log must learn the address all the same.
func TestTheAddressAtEveryLevel(t *testing.T) {
	for _, level := range []string{"warning", "error"} {
		a := settings(true)
		a.LogLevel = level
		r := start(t, a, "")
		r.serving()
		r.cancel()
		if err := r.end(); err != nil {
			t.Error(err)
		}
		if strings.Contains(r.log.String(), "ledger") {
			t.Errorf("at level %s the log has more:\n%s", level, r.log)
		}
	}
}

// Rows that are lost or doubled are an error, though every client was content.
func TestLedger(t *testing.T) {
	for want, l := range map[string]counters.Ledger{
		"":                                     {Built: 9, Delivered: 6, Dropped: map[string]uint64{"request_ended": 2, "router": 1}},
		"in flight 1; missing 0":               {Built: 9, Delivered: 8},
		"in flight -1; missing 0":              {Built: 9, Delivered: 10},
		"missing 1, doubled 0, reordered 0":    {Missing: 1},
		"missing 0, doubled 1, reordered 0":    {Doubled: 1},
		"missing 0, doubled 0, reordered 1; w": {Reordered: 1},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := start(t, settings(true), "", func(c *Config) {
				c.Ledger = func(string) (counters.Ledger, error) { return l, nil }
			})
			r.serving()
			r.cancel()
			err := r.end()
			switch {
			case want == "" && err != nil:
				t.Errorf("got %v", err)
			case want == "" && !strings.Contains(r.log.String(), "built 9 = delivered 6 + dropped 3 (request_ended 2, router 1) + in flight 0"):
				t.Errorf("the log tells another ledger:\n%s", r.log)
			case strings.Count(r.log.String(), "] ledger: built ") != 1:
				t.Errorf("want one ledger in the log:\n%s", r.log)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	other := start(t, settings(false), "")
	_, port, _ := strings.Cut(strings.TrimPrefix(other.serving(), "http://"), ":")
	for _, l := range []string{taken.Addr().String(), "127.0.0.1:" + port} {
		a := settings(false)
		at, err := net.ResolveTCPAddr("tcp", l)
		if err != nil {
			t.Fatal(err)
		}
		a.Port = at.Port
		if err := start(t, a, "").end(); err == nil || !strings.Contains(err.Error(), "is in use at 127.0.0.1; want a free one, or 0 for any") {
			t.Errorf("%s: %v", l, err)
		}
	}
	if _, err := http.Get("http://127.0.0.1:" + port + "/health_generate"); err != nil { //nolint:bodyclose // it has none
		t.Errorf("the first server: %v", err)
	}
	other.cancel()
	if err := other.end(); err != nil {
		t.Error(err)
	}
}

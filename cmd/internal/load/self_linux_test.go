package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The limit of descriptors is of the whole process, so what needs one runs in a process of its own: this
// test again, with the variable set to the server's URL and the limits.
const descriptorsVariable = "FANOUTBENCH_TEST_DESCRIPTORS"

func again(t *testing.T, name, url string, soft, hard uint64) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), guard)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", descriptorsVariable, url, soft, hard))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// limited sets the limits that the variable asks for; ok is false in the first process.
func limited(t *testing.T) (url string, ok bool) {
	t.Helper()
	var soft, hard uint64
	value, ok := os.LookupEnv(descriptorsVariable)
	if !ok {
		return "", false
	}
	if _, err := fmt.Sscan(value, &url, &soft, &hard); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: soft, Max: hard}); err != nil {
		t.Fatal(err)
	}
	return url, true
}

func TestDescriptorsAreRaised(t *testing.T) {
	if _, ok := limited(t); !ok {
		if out := again(t, t.Name(), "none", 100, 300); !strings.Contains(out, "{Before:100 Limit:300 Raised:true} then {Before:300 Limit:300 Raised:false}") {
			t.Errorf("%s", out)
		}
		return
	}
	first, err := raiseDescriptors()
	if err != nil {
		t.Fatal(err)
	}
	second, err := raiseDescriptors()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v then %+v", first, second)
}

// Requests for which there is no descriptor are not sent, and said to be; nothing waits for one to come
// free, which would be a cap on concurrency that nobody sees.
func TestDescriptorsRunOut(t *testing.T) {
	url, ok := limited(t)
	if !ok {
		release := make(chan struct{})
		target := handler(t, func(http.ResponseWriter, *http.Request) { <-release })
		defer close(release)
		if out := again(t, t.Name(), target.URL, 40, 40); !strings.Contains(out, "too many open files: the limit of descriptors is 40, the hard limit") {
			t.Errorf("%s", out)
		}
		return
	}
	s, bodies := unique(t, 400, 0.5)
	target := to(url)
	target.Timeout = time.Second
	r := run(t, s, target, bodies, nil)
	v := Judge(s, r, lenient)
	wantReason(t, v, RuleUnsent, "too many open files: the limit of descriptors is 40, the hard limit")
	if v.Unsent+v.Failed != len(s.At) {
		t.Errorf("%d unsent and %d failed of %d, want no other end", v.Unsent, v.Failed, len(s.At))
	}
	t.Log(v.Reasons)
}

// A server that takes no connection holds up the requests that need one, and nobody else: the dispatcher goes on.
func TestDispatcherDoesNotWaitForConnections(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("http://127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
	// The kernel takes a connection or two by itself, and those are given requests.
	s, bodies := unique(t, 40, 0.5)
	target := to(url)
	target.Timeout = 10 * time.Second // after which a connection that is not taken fails
	x, err := newSender(s, target, bodies, false)
	if err != nil {
		t.Fatal(err)
	}
	x.clock = preciseClock{time.Now()}
	x.pending.Add(len(s.At))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i := range s.At {
		x.inFlight.Add(1)
		x.send(ctx, i)
	}
	if n := int(x.inFlight.Load()); n != len(s.At) {
		t.Errorf("%d of %d requests in flight after the last was sent, want all: none has ended, and none was waited for", n, len(s.At))
	}
	cancel()
	x.open.close()
	x.pending.Wait()
	x.readers.Wait()
}

// Start is told in the clock that all processes of a machine share.
func TestStartMonotonic(t *testing.T) {
	before, err := monotonicNow()
	if err != nil {
		t.Fatal(err)
	}
	s, bodies := unique(t, 100, 0.1)
	n, err := StartNullServer("127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	r := run(t, s, to(n.URL()), bodies, nil)
	after, err := monotonicNow()
	if err != nil {
		t.Fatal(err)
	}
	if r.StartMonotonic <= before || r.StartMonotonic+r.Wall >= after || r.Wall <= 0 {
		t.Errorf("started at %v and took %v, want it within %v and %v", r.StartMonotonic, r.Wall, before, after)
	}
}

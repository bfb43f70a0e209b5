package transport_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// stale leaves a socket file at which nobody listens.
func stale(t *testing.T, endpoint string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path(endpoint), Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	must(t, l.Close())
}

func exists(t *testing.T, endpoint string) bool {
	t.Helper()
	_, err := os.Lstat(path(endpoint))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func TestStaleSocketFile(t *testing.T) {
	e := endpoint(t)
	stale(t, e)
	pull := bindAt(t, e, transport.Options{})
	push := connect(t, pull, transport.Options{})
	must(t, push.Send([]byte("x")))
	must(t, push.Flush())
	want(t, pull, "x")
	must(t, pull.Close())
	if exists(t, e) {
		t.Fatal("Close left the socket file")
	}
}

func TestLiveSocketFile(t *testing.T) {
	pull := bind(t, transport.Options{})
	for range 3 {
		_, err := transport.Bind("zmtp", pull.Endpoint(), transport.Options{})
		if !errors.Is(err, transport.ErrLive) || !strings.Contains(err.Error(), pull.Endpoint()) {
			t.Fatalf("a second Bind: %v", err)
		}
	}
	push := connect(t, pull, transport.Options{})
	must(t, push.Send([]byte("the probes went unnoticed")))
	must(t, push.Flush())
	want(t, pull, "the probes went unnoticed")
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"file":    func(p string) error { return os.WriteFile(p, []byte("precious"), 0o600) },
		"folder":  func(p string) error { return os.Mkdir(p, 0o700) },
		"symlink": func(p string) error { return os.Symlink("nowhere", p) },
	} {
		e := endpoint(t)
		must(t, make(path(e)))
		_, err := transport.Bind("zmtp", e, transport.Options{})
		if err == nil || !strings.Contains(err.Error(), "is no socket") || !exists(t, e) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Close unlinks what Bind made, not what somebody else put there since.
func TestCloseUnlinksItsOwnFile(t *testing.T) {
	pull := bind(t, transport.Options{})
	must(t, os.Remove(path(pull.Endpoint())))
	stale(t, pull.Endpoint())
	must(t, pull.Close())
	if !exists(t, pull.Endpoint()) {
		t.Fatal("Close unlinked another's file")
	}
	gone := bind(t, transport.Options{})
	must(t, os.Remove(path(gone.Endpoint())))
	must(t, gone.Close())
}

// Of many that find the same stale file, one gets it.
func TestRaceForAStaleFile(t *testing.T) {
	for range 20 {
		e := endpoint(t)
		stale(t, e)
		pulls := make(chan transport.Pull, 8)
		var all sync.WaitGroup
		for range cap(pulls) {
			all.Go(func() {
				pull, err := transport.Bind("zmtp", e, transport.Options{})
				if err == nil {
					pulls <- pull
				} else if !errors.Is(err, transport.ErrLive) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(pulls) != 1 {
			t.Fatalf("%d of %d binders won", len(pulls), cap(pulls))
		}
		pull := <-pulls
		connect(t, pull, transport.Options{})
		must(t, pull.Close())
	}
}

func TestEndpoints(t *testing.T) {
	most := map[string]int{"linux": 107, "darwin": 103}[runtime.GOOS]
	dir := filepath.Dir(path(endpoint(t)))
	if len(dir) > 90 {
		t.Fatalf("the temporary folder %s is too deep for a socket", dir)
	}
	longest := filepath.Join(dir, strings.Repeat("x", most-len(dir)-1))
	pull := bindAt(t, "ipc://"+longest, transport.Options{})
	connect(t, pull, transport.Options{})
	for endpoint, reason := range map[string]string{
		"ipc://" + longest + "y": longest + "y has " + map[int]string{107: "108", 103: "104"}[most] + " bytes; a unix socket takes at most " + map[int]string{107: "107", 103: "103"}[most],
		"tcp://127.0.0.1:5555":   "want ipc://PATH",
		"/tmp/x":                 "want ipc://PATH",
		"ipc://":                 "path of a file",
		"ipc://*":                "path of a file",
		"ipc://@abstract":        "path of a file",
		"ipc://a\x00b":           "path of a file",
	} {
		if _, err := transport.Bind("zmtp", endpoint, transport.Options{}); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("Bind %q: %v", endpoint, err)
		}
		if _, err := transport.Connect(background, "zmtp", endpoint, transport.Options{}); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("Connect %q: %v", endpoint, err)
		}
	}
	if _, err := transport.Bind("zmtp", "ipc://"+dir+"/no/folder", transport.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Bind in no folder: %v", err)
	}
}

func TestEnginesAndOptions(t *testing.T) {
	if names := transport.Engines(); len(names) == 0 || names[0] != "zmtp" {
		t.Fatalf("engines %v", names)
	}
	_, err := transport.Bind("nanomsg", endpoint(t), transport.Options{})
	if err == nil || !strings.Contains(err.Error(), `no engine "nanomsg"; known: zmtp`) {
		t.Errorf("Bind: %v", err)
	}
	if _, err := transport.Connect(background, "nanomsg", endpoint(t), transport.Options{}); err == nil {
		t.Error("Connect to an unknown engine")
	}
	for field, opt := range map[string]transport.Options{
		"MaxFrame":         {MaxFrame: -1},
		"SendTimeout":      {SendTimeout: -time.Second},
		"DialTimeout":      {DialTimeout: -1},
		"HandshakeTimeout": {HandshakeTimeout: -1},
		"Burst":            {Burst: -1},
	} {
		if _, err := transport.Bind("zmtp", endpoint(t), opt); err == nil || !strings.Contains(err.Error(), "option "+field+" is -1") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

//go:build python

package transport_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// python runs testdata/peer.py, a pyzmq peer, and gives its lines.
func python(t *testing.T, args ...string) *bufio.Scanner {
	t.Helper()
	exe := os.Getenv("FANOUTBENCH_PYTHON")
	if exe == "" {
		t.Fatal("FANOUTBENCH_PYTHON is not set; it must name a Python that has pyzmq")
	}
	cmd := exec.Command(exe, append([]string{"testdata/peer.py"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close() // the peer stays until then
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("peer.py %v: %v\n%s", args, err, stderr.Bytes())
		}
	})
	return bufio.NewScanner(out)
}

func line(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("the peer says no more: %v", lines.Err())
	}
	return lines.Text()
}

const pythonMessages = 5000

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func mixed(rng *rand.Rand) []byte {
	return payload(rng, []int{0, 1, 255, 256, rng.IntN(600), rng.IntN(600), rng.IntN(600), rng.IntN(20 << 10), rng.IntN(70 << 10)}[rng.IntN(9)])
}

func TestPythonPushToOurPull(t *testing.T) {
	pull := bind(t, transport.Options{})
	lines := python(t, "push", pull.Endpoint(), fmt.Sprint(pythonMessages))
	all := sha256.New()
	largest := 0
	for i := range pythonMessages {
		msg, err := recv(t, pull)
		must(t, err)
		largest = max(largest, len(msg))
		fmt.Fprintf(all, "%d %s\n", i, digest(msg))
	}
	wantEmpty(t, pull)
	if got, said := hex.EncodeToString(all.Sum(nil)), line(t, lines); got != said {
		t.Fatalf("received %s; sent %s", got, said)
	}
	if largest != 1<<20 {
		t.Fatalf("the largest message had %d bytes; want 1 MiB", largest)
	}
}

func TestOurPushToPythonPull(t *testing.T) {
	e := endpoint(t)
	lines := python(t, "pull", e, fmt.Sprint(pythonMessages))
	push, err := transport.Connect(background, "zmtp", e, transport.Options{})
	must(t, err)
	rng := rand.New(rand.NewPCG(5, 5))
	all := sha256.New()
	for i := range pythonMessages {
		msg := mixed(rng)
		if i%1000 == 500 {
			msg = payload(rng, 1<<20)
		}
		must(t, push.Send(msg))
		if rng.IntN(50) == 0 {
			must(t, push.Flush())
		}
		fmt.Fprintf(all, "%d %s\n", i, digest(msg))
	}
	must(t, push.Flush())
	if sent, got := hex.EncodeToString(all.Sum(nil)), line(t, lines); got != sent {
		t.Fatalf("pyzmq received %s; sent %s", got, sent)
	}
	must(t, push.Close())
}

// pyzmq's PUSH drops a connection whose PINGs are not answered within its time-out; it reports that in its monitor.
func TestPythonHeartbeatsToOurPull(t *testing.T) {
	pull := bind(t, transport.Options{})
	lines := python(t, "push-heartbeat", pull.Endpoint(), "40")
	for i := range 40 {
		want(t, pull, fmt.Sprint(i))
	}
	if said := line(t, lines); said != "disconnects 0" {
		t.Fatal(said)
	}
}

func TestPythonHeartbeatsToOurPush(t *testing.T) {
	e := endpoint(t)
	lines := python(t, "pull-heartbeat", e, "40")
	push, err := transport.Connect(background, "zmtp", e, transport.Options{})
	must(t, err)
	for i := range 40 {
		must(t, push.Send([]byte(fmt.Sprint(i))))
		must(t, push.Flush())
		if said := line(t, lines); said != fmt.Sprint("got ", i) { // comes after a pause longer than the heartbeat
			t.Fatal(said)
		}
	}
	if said := line(t, lines); said != "disconnects 0" {
		t.Fatal(said)
	}
	must(t, push.Close())
}

// The other way round: a peer of ours that answers nothing is dropped by pyzmq, so that the two tests above can fail.
func TestPythonHeartbeatsUnanswered(t *testing.T) {
	e := endpoint(t)
	lines := python(t, "pull-heartbeat", e, "1")
	push, err := transport.Connect(background, "zmtp", e, transport.Options{})
	must(t, err)
	must(t, push.Send([]byte("0")))
	must(t, push.Flush())
	line(t, lines)
	if said := line(t, lines); !strings.HasPrefix(said, "disconnects ") {
		t.Fatal(said)
	}
	if said := line(t, lines); said != "dropped" {
		t.Fatalf("pyzmq says %q of a push that answers no PING; want dropped", said)
	}
	_ = push.Close()
}

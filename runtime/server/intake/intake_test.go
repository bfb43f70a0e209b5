package intake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// recorder notes what Serve does, as words. It fails where told to.
type recorder struct {
	words  chan string
	frame  error
	flush  error
	blocks chan struct{} // Frame waits for it, if not nil
}

func (r *recorder) Frame(_ context.Context, frame []byte) error {
	if r.blocks != nil {
		<-r.blocks
	}
	r.words <- string(frame)
	return r.frame
}

func (r *recorder) Flush() error {
	r.words <- "flush"
	return r.flush
}

func (r *recorder) Peer(err error) { r.words <- "peer" }

// place is a bound PULL and a served recorder.
type place struct {
	*recorder
	endpoint string
	folder   string
	end      context.CancelFunc
	served   chan error
}

func serve(t *testing.T, r *recorder) *place {
	t.Helper()
	folder := t.TempDir()
	p := &place{recorder: r, folder: folder, endpoint: "ipc://" + filepath.Join(folder, "in"), served: make(chan error, 1)}
	r.words = make(chan string, 4*MaxBurst)
	set, err := counters.Create(filepath.Join(folder, "part.counters"), []counters.Spec{{Name: "loop", Help: "A loop.", Kind: counters.KindBeat}})
	if err != nil {
		t.Fatal(err)
	}
	pull, err := transport.Bind("zmtp", p.endpoint, transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, p.end = context.WithCancel(t.Context())
	go func() {
		err := Serve(ctx, pull, set.Beat("loop"), r)
		p.served <- errors.Join(err, pull.Close(), set.Close())
	}()
	t.Cleanup(p.end)
	return p
}

// await takes n words.
func (p *place) await(t *testing.T, n int) []string {
	t.Helper()
	var words []string
	for range n {
		select {
		case w := <-p.words:
			words = append(words, w)
		case <-time.After(time.Minute):
			t.Fatalf("%d of %d words within a minute: %q", len(words), n, words)
		}
	}
	return words
}

func (p *place) result(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.served:
		return err
	case <-time.After(time.Minute):
		t.Fatal("Serve did not return within a minute")
		return nil
	}
}

func connect(t *testing.T, endpoint string) transport.Push {
	t.Helper()
	push, err := transport.Connect(t.Context(), "zmtp", endpoint, transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return push
}

// TestBursts: what has arrived together is handled in order and flushed once;
// more than MaxBurst is flushed in between.
func TestBursts(t *testing.T) {
	gate := make(chan struct{})
	p := serve(t, &recorder{blocks: gate})
	push := connect(t, p.endpoint)
	const total = MaxBurst + 10
	var want []string
	for i := range total {
		if i == MaxBurst {
			want = append(want, "flush")
		}
		want = append(want, fmt.Sprint("frame ", i))
		if err := push.Send([]byte(fmt.Sprint("frame ", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := push.Close(); err != nil { // all of it lies in the kernel now
		t.Fatal(err)
	}
	close(gate)
	want = append(want, "flush")
	if got := p.await(t, len(want)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	p.end()
	if err := p.result(t); err != nil {
		t.Errorf("after the end of the context: %v, want nil", err)
	}
}

// TestEndUnderLoad: a sender that never pauses does not keep Serve from its end.
func TestEndUnderLoad(t *testing.T) {
	p := serve(t, &recorder{})
	push := connect(t, p.endpoint)
	sent := make(chan error, 1)
	go func() {
		for {
			err := push.Send(bytes.Repeat([]byte("x"), 1000))
			if err != nil {
				sent <- err
				return
			}
		}
	}()
	p.await(t, 10)
	p.end()
	go func() {
		for range p.words { // Serve must not wait for the test
		}
	}()
	if err := p.result(t); err != nil {
		t.Error(err)
	}
	<-sent // the closed PULL ends it
	push.Close()
}

// TestBadPeer: a client that is no pusher is told of, and the others go on.
func TestBadPeer(t *testing.T) {
	p := serve(t, &recorder{})
	push := connect(t, p.endpoint)
	c, err := net.Dial("unix", strings.TrimPrefix(p.endpoint, "ipc://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(bytes.Repeat([]byte("GET / HTTP/1.1\r\n"), 10)); err != nil {
		t.Fatal(err)
	}
	if got := p.await(t, 2); !slices.Equal(got, []string{"peer", "flush"}) {
		t.Errorf("got %q, want the peer", got)
	}
	if err := push.Send([]byte("on")); err != nil {
		t.Fatal(err)
	}
	if err := push.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := p.await(t, 2); !slices.Equal(got, []string{"on", "flush"}) {
		t.Errorf("got %q, want what the other peer sent", got)
	}
	push.Close()
}

// TestHandlerFails: an error of the handler ends Serve, and is its error.
func TestHandlerFails(t *testing.T) {
	failed := errors.New("no way on")
	for _, r := range []*recorder{{frame: failed}, {flush: failed}} {
		p := serve(t, r)
		push := connect(t, p.endpoint)
		if err := push.Send([]byte("x")); err != nil {
			t.Fatal(err)
		}
		push.Close()
		if err := p.result(t); !errors.Is(err, failed) {
			t.Errorf("%v, want %v", err, failed)
		}
	}
}

// TestBeat: the loop is busy exactly while a message is handled (sglang#26482 and
// sglang#22511 blamed the stage that waited).
func TestBeat(t *testing.T) {
	gate := make(chan struct{})
	p := serve(t, &recorder{blocks: gate})
	push := connect(t, p.endpoint)
	defer push.Close()
	state := func(want counters.State) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			values, err := counters.Read(filepath.Join(p.folder, "part.counters"))
			if err != nil {
				t.Fatal(err)
			}
			if values["loop"].State == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the loop is %s, want %s", values["loop"].State, want)
			}
		}
	}
	state(counters.Idle)
	if err := push.Send([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := push.Flush(); err != nil {
		t.Fatal(err)
	}
	state(counters.Busy)
	close(gate)
	state(counters.Idle)
}

func TestIs(t *testing.T) {
	for _, c := range []struct {
		frame string
		want  bool
	}{
		{"\x93\xabFreezeGCReq\xc0\xc0", true},
		{"\xdc\x00\x01\xabFreezeGCReq", true},
		{"\x91\xd9\x0bFreezeGCReq", true},
		{"\x91\xacFreezeGCReqX", false},
		{"\x91\xaaFreezeGCRe", false},
		{"\x91\xabFreezeGC", false},
		{"\xabFreezeGCReq", false},
		{"\x90", false},
		{"", false},
	} {
		if got := Is([]byte(c.frame), "FreezeGCReq"); got != c.want {
			t.Errorf("Is(%q) is %v, want %v", c.frame, got, c.want)
		}
	}
}

// TestFaults: ten a second are logged, and the next one says how many were not.
func TestFaults(t *testing.T) {
	var out strings.Builder
	now := time.Unix(0, 0)
	f := NewFaults(slog.New(slog.NewTextHandler(&out, nil)))
	f.now = func() time.Time { return now }
	for range faultsLogged + 5 {
		f.Log("bad", "row", 1)
	}
	if n := strings.Count(out.String(), "msg=bad"); n != faultsLogged || strings.Contains(out.String(), "left_out") {
		t.Errorf("%d lines, want %d, and none left out yet:\n%s", n, faultsLogged, out.String())
	}
	now = now.Add(faultsSpan)
	out.Reset()
	f.Log("bad", "row", 2)
	if got := out.String(); !strings.Contains(got, "row=2 left_out=5\n") {
		t.Errorf("got %q, want the five left out", got)
	}
	for range faultsLogged + 1 {
		f.Log("bad", "row", 3)
	}
	out.Reset()
	f.Close()
	f.Close()
	if got := out.String(); strings.Count(got, "left_out=2") != 1 {
		t.Errorf("got %q, want two left out, once", got)
	}
}

package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A client that leaves frees its slot, whether it streams, waits for a whole answer or is still queued
// (sglang#36333, llama.cpp#24496), and the queued one is never computed (sglang PR 6855).
func TestClientsThatLeave(t *testing.T) {
	r := launch(t, append([]string{"--max-running-requests", "2", "--tokenizer-worker-num", "2"}, slow...)...)
	leave := func(stream bool) (cancel func()) {
		ctx, stop := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			response, err := r.ask(ctx, prompt(1, 100_000), stream)
			if err == nil {
				_, _ = io.Copy(io.Discard, response.Body) // it is cut off
				_ = response.Body.Close()                 // as above
			}
		}()
		return func() { stop(); <-gone }
	}
	stream := leave(true)
	unary := leave(false)
	r.waitFor("both to run", func() bool { return r.running(t) == 2 })
	queued := leave(true)
	r.waitFor("the third to wait", func() bool { return r.metric(t, "sglang:num_queue_reqs") == 1 })
	prefills := r.metric(t, "fanoutbench:prefill_batches_total")
	queued()
	r.waitFor("the third to leave the queue", func() bool { return r.metric(t, "sglang:num_queue_reqs") == 0 })
	if got := r.metric(t, "fanoutbench:prefill_batches_total"); got != prefills {
		t.Errorf("%v prefill batches, before %v: a request that left was computed", got, prefills)
	}
	stream()
	r.waitFor("the stream to end", func() bool { return r.running(t) == 1 })
	unary()
	r.waitFor("the unary request to end", func() bool { return r.running(t) == 0 })
	r.term()
}

// A full queue answers 503, to the worker that asked (sglang#33858, sglang PR 31802), and what runs goes on.
func TestFullQueue(t *testing.T) {
	r := launch(t, append([]string{"--max-running-requests", "1", "--max-queued-requests", "1", "--tokenizer-worker-num", "3"}, slow...)...)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for i := range 2 {
		group.Go(func() { _, _ = r.unary(ctx, prompt(i+1, 100_000)) }) // cut off below
		r.waitFor("one request more", func() bool {
			return r.running(t) == 1 && r.metric(t, "sglang:num_queue_reqs") == float64(i)
		})
	}
	for range 6 {
		if status, answer := r.post(t, "/generate", prompt(9, 5)); status != 503 || !strings.Contains(fmt.Sprint(answer), "max_queued_requests") {
			t.Errorf("got %d %v, want 503", status, answer)
		}
	}
	cancel()
	group.Wait()
	r.waitFor("the server to be idle", func() bool { return r.running(t) == 0 })
	if s, err := r.unary(t.Context(), prompt(9, 5)); err != nil || len(s.IDs) != 5 {
		t.Errorf("afterwards: %+v, %v", s, err)
	}
	r.term()
}

// A client that does not read gets all of its text when it does, and nobody waits for it (vllm PR 12298).
func TestSlowReaders(t *testing.T) {
	const tokens = 6000
	r := launch(t, "--device", "sim", "--sim-step-base", "0", "--sim-multi-byte", "0.5", "--incremental-streaming-output", "--context-length", "8192")
	var asleep []net.Conn
	for i := range 4 {
		asleep = append(asleep, r.asleep(t, prompt(i+1, tokens)))
	}
	r.waitFor("the device to have made their tokens", func() bool {
		return r.metric(t, "sglang:generation_tokens_total") >= 4*tokens && r.running(t) == 0
	})
	if s, err := r.generate(t.Context(), prompt(9, 20)); err != nil || len(s.IDs) != 20 {
		t.Errorf("beside them: %+v, %v", s, err)
	}
	for i, conn := range asleep {
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got streamed
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if err := got.take(lines.Text()); err != nil {
				t.Fatal(err)
			}
		}
		want, err := r.unary(t.Context(), prompt(i+1, tokens))
		if err != nil || !got.Done || got.Text != want.Text || len(got.IDs) != tokens {
			t.Errorf("reader %d: %d ids, done %t, want %d and the text of a unary request (%v)", i, len(got.IDs), got.Done, tokens, err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	r.term()
}

// asleep sends a stream's request and reads nothing; its socket has little room.
func (s *server) asleep(t *testing.T, body map[string]any) net.Conn {
	t.Helper()
	body["stream"] = true
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(s.url, "http://")
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) { failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
		if err != nil {
			return err
		}
		return failed
	}}
	conn, err := dialer.DialContext(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST /generate HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", host, len(data), data); err != nil {
		t.Fatal(err)
	}
	return conn
}

// Ten thousand connections that say nothing keep nobody from being served, where the machine lets a
// process have so many.
func TestManyConnections(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	n := min(10_000, int(limit.Cur)-500)
	r := launch(t, "--device", "sim", "--sim-step-base", "0", "--incremental-streaming-output", "--tokenizer-worker-num", "2")
	host := strings.TrimPrefix(r.url, "http://")
	conns := make([]net.Conn, n)
	for i := range conns {
		conn, err := net.DialTimeout("tcp", host, patience)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		conns[i] = conn
	}
	for _, s := range r.all(t, 8, 20) {
		if !s.Done || len(s.IDs) != 20 {
			t.Errorf("beside %d connections: %+v", n, s)
		}
	}
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	r.term()
}

// A server that is told to end finishes what runs, takes nothing new, and its account of rows is even.
func TestEndUnderLoad(t *testing.T) {
	r := launch(t, "--device", "sim", "--sim-step-base", "0.005", "--incremental-streaming-output", "--tokenizer-worker-num", "2", "--detokenizer-worker-num", "2")
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			s, err := r.generate(t.Context(), prompt(i+1, 200))
			if err != nil || !s.Done || len(s.IDs) != 200 {
				t.Errorf("stream %d: %d ids, done %t, %v %s", i, len(s.IDs), s.Done, err, s.Err)
			}
		})
	}
	r.waitFor("the streams to run", func() bool { return r.running(t) == 12 })
	begin := time.Now()
	r.term()
	group.Wait()
	if time.Since(begin) > patience/2 {
		t.Errorf("it took %v", time.Since(begin))
	}
}

// A port that is in use is an error that says so, and the server that has it goes on.
func TestPortInUse(t *testing.T) {
	r := launch(t, "--device", "sim")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	second := exec.Command(os.Args[0], "--device", "sim", "--host", "127.0.0.1", "--port", port)
	second.Env = append(os.Environ(), programVar+"=1", "TMPDIR="+r.dir)
	out, err := second.CombinedOutput()
	if err == nil || !strings.Contains(string(out), port) || !strings.Contains(string(out), "in use") {
		t.Errorf("got %v, log %s", err, out)
	}
	if status, _ := r.raw(t, "GET", "/health", nil); status != 200 {
		t.Errorf("the first one's /health is %d", status)
	}
	r.term()
}

// Scores and texts share batches (sglang#25414), and scores do not depend on how items are sent.
func TestScoresBesideTexts(t *testing.T) {
	t.Parallel()
	var want string
	for _, way := range [][]string{nil, {"--enable-tokenizer-batch-encode"}, {"--enable-tokenizer-batch-encode", "--batch-send-max-tokens", "40"}, {"--disable-radix-cache", "--chunked-prefill-size", "16"}} {
		t.Run(strings.Join(way, " "), func(t *testing.T) {
			r := launch(t, append(way, "--incremental-streaming-output")...)
			var group sync.WaitGroup
			for i := range 4 {
				group.Go(func() {
					if s, err := r.generate(t.Context(), prompt(i+1, 30)); err != nil || len(s.IDs) != 30 {
						t.Errorf("a stream beside: %+v, %v", s, err)
					}
				})
			}
			status, answer := r.post(t, "/v1/score", map[string]any{
				"query": "Is this a colour? ", "items": []string{"red", "seven", "blue", "a longer item"}, "label_token_ids": []int{89, 78}, "apply_softmax": true,
			})
			got := fmt.Sprint(answer["scores"])
			if want == "" {
				want = got
			}
			if status != 200 || got != want || strings.Count(got, "[") != 5 {
				t.Errorf("got %d %v, want %s", status, answer, want)
			}
			group.Wait()
			r.term()
		})
	}
}

package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// leaver is a client that closes its connection somewhere: before the request, within it, while it waits or
// reads, or after the answer.
func (s *server) leaver(rng *rand.Rand) error {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(s.url, "http://"), patience)
	if err != nil {
		return err
	}
	body := prompt(rng.IntN(1000), []int{1, 5, 50, 100_000}[rng.IntN(4)])
	body["stream"] = rng.IntN(2) == 0
	switch rng.IntN(6) {
	case 0:
		body["sampling_params"].(map[string]any)["n"] = 1 + rng.IntN(16)
	case 1:
		body["text"] = []string{"a", "b", "c"}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	head := fmt.Sprintf("POST /generate HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", len(data))
	text := head + string(data)
	text = text[:[]int{0, rng.IntN(len(head)), len(head), rng.IntN(len(text)), len(text), len(text), len(text), len(text)}[rng.IntN(8)]]
	_, err = io.WriteString(conn, text)
	if err == nil && rng.IntN(2) == 0 {
		_ = conn.SetReadDeadline(time.Now().Add(time.Duration(rng.IntN(200)) * time.Millisecond)) // a connection that is open
		_, _ = io.CopyN(io.Discard, conn, int64(rng.IntN(20_000)))                                // as far as it comes
	}
	if rng.IntN(3) == 0 {
		_ = conn.(*net.TCPConn).SetLinger(0) // a reset
	}
	return conn.Close()
}

// files is how many descriptors each part has.
func (s *server) files(t *testing.T) map[string]int {
	t.Helper()
	n := map[string]int{}
	for name, pid := range s.pids() {
		all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		if err != nil && runtime.GOOS == "linux" {
			t.Fatal(err)
		}
		n[name] = len(all)
	}
	return n
}

// Waves of clients that leave at any moment leave nothing behind: no request, no slot, no descriptor; and
// every row is accounted for.
func TestWavesOfLeavers(t *testing.T) {
	const waves, clients, parallel = 3, 600, 30
	s := launch(t, small...)
	var before map[string]int
	for wave := range waves {
		var group sync.WaitGroup
		for p := range parallel {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(wave), uint64(p)))
				for range clients / parallel {
					if err := s.leaver(rng); err != nil && !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "broken pipe") {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		for _, name := range []string{"sglang:num_running_reqs", "sglang:num_queue_reqs", "sglang:num_used_tokens", "fanoutbench:rows_in_flight"} {
			s.waitFor(name+" to be 0", func() bool { return s.metric(t, name) == 0 })
		}
		if wave == 0 { // every part has connected to all that it talks to
			before = s.files(t)
			continue
		}
		s.waitFor("the descriptors to be as many as before", func() bool {
			for name, n := range s.files(t) {
				if n > before[name]+2 { // a connection of this test's own, a file that is being read
					return false
				}
			}
			return true
		})
	}
	s.term()
}

package serve

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// health asks /health_generate.
func (s *server) health(t *testing.T) (status int, text string) {
	t.Helper()
	response, err := http.Get(s.url + "/health_generate")
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // read only
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// One detokenizer of two stands still, and the other's rows go on: the check fails
// all the same, whichever of them it is, and is well again when the part is.
func TestOneDetokenizerStandsStill(t *testing.T) {
	for _, name := range []string{"detokenizer-0", "detokenizer-1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Steps are long, so that what waits for the stopped part keeps nobody waiting.
			s := launch(t, "--device", "sim", "--sim-step-base", "0.05", "--tokenizer-worker-num", "2", "--detokenizer-worker-num", "2", "--health-timeout", "2")
			if status, text := s.health(t); status != http.StatusOK {
				t.Fatalf("while all parts work: %d %s", status, text)
			}
			l := s.load(12, 1_000_000)
			stop := func(sig syscall.Signal) {
				t.Helper()
				if err := syscall.Kill(s.pids()[name], sig); err != nil {
					t.Fatal(err)
				}
			}
			stop(syscall.SIGSTOP)
			for i := range 2 {
				before := s.metric(t, "fanoutbench:rows_delivered_total")
				if status, text := s.health(t); status != http.StatusServiceUnavailable {
					t.Errorf("check %d: %d %s, want 503", i, status, text)
				}
				if after := s.metric(t, "fanoutbench:rows_delivered_total"); after < before+12 {
					t.Fatalf("%g rows came during check %d: too few to say anything", after-before, i)
				}
			}
			stop(syscall.SIGCONT)
			s.waitFor("the check to be well", func() bool {
				status, _ := s.health(t)
				return status == http.StatusOK
			})
			if status, got := s.post(t, "/abort_request", map[string]any{"abort_all": true}); status != http.StatusOK {
				t.Errorf("abort_all: %d %v", status, got)
			}
			for range l.n {
				if r := <-l.results; r.err != nil || len(r.events) == 0 || !strings.Contains(strings.Join(r.events[max(0, len(r.events)-2):], ""), `"type":"abort"`) {
					t.Errorf("a stream of %d events ended with %v", len(r.events), r.err)
				}
			}
			s.term()
		})
	}
}

// Who is told once that the server serves is told so by every worker: none says
// 503 after another has said 200.
func TestWorkersServeAtOnce(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	const after = 64 // answers, of all workers
	asked := make(chan []int, 1)
	go func() {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // each time another worker
		var got []int
		for len(got) < after && t.Context().Err() == nil {
			status := 0 // nobody listens
			if answer, err := client.Get("http://" + address.String() + "/health"); err == nil {
				status = answer.StatusCode
				_ = answer.Body.Close() // not read
			}
			if status == http.StatusOK || len(got) > 0 {
				got = append(got, status)
			}
		}
		asked <- got
	}()
	s := launch(t, "--device", "sim", "--port", strconv.Itoa(address.Port), "--tokenizer-worker-num", "8", "--detokenizer-worker-num", "2")
	if got := <-asked; slices.Min(got) != http.StatusOK || slices.Max(got) != http.StatusOK {
		t.Errorf("after the first 200: %v", got)
	}
	s.term()
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cpuclock"
)

// server is a fanoutserve that this program started.
type server struct {
	cmd     *exec.Cmd
	address string
	log     *logBuffer
	first   time.Duration // from its start to the first token it gave
	done    chan error
}

// logBuffer is what the server has written so far.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// start runs the command on a free port, and asks for one token as soon as it serves.
func start(ctx context.Context, command []string, patience time.Duration) (*server, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	args := append(slices.Clone(command[1:]), "--host", "127.0.0.1", "--port", port)
	s := &server{cmd: exec.Command(command[0], args...), address: address, log: &logBuffer{}, done: make(chan error, 1)}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	begin := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { s.done <- s.cmd.Wait() }()
	if err := s.wait(ctx, begin.Add(patience)); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.first = time.Since(begin)
	return s, nil
}

// wait asks until the server has given a token.
func (s *server) wait(ctx context.Context, until time.Time) error {
	for time.Now().Before(until) {
		select {
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("the server ended: %v; it wrote:\n%s", err, s.log)
		case <-time.After(2 * time.Millisecond):
		}
		conn, err := dial(ctx, s.address)
		if err != nil {
			continue // it does not listen yet
		}
		one := &client{config: Config{Address: s.address, Tokens: 1, Prompt: 1}, seed: 1}
		_, err = conn.unary(one.request(false))
		_ = conn.Close() // read to its end or failed
		if err == nil {
			return nil
		}
	}
	return errors.New("the server gave no token in time")
}

// stop ends the server and says how it ended.
func (s *server) stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case err := <-s.done:
		s.done <- err
		if err != nil {
			return fmt.Errorf("the server ended with %w; it wrote:\n%s", err, s.log)
		}
		return nil
	case <-time.After(time.Minute):
		return errors.Join(errors.New("the server did not end within a minute of SIGTERM"), s.cmd.Process.Kill())
	}
}

// usage is what a process has used.
type usage struct {
	name string
	cpu  time.Duration
	kib  int // resident
}

// usages are those of the server and its parts, by pid.
func (s *server) usages() (map[int]usage, error) {
	all := map[int]usage{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return nil, err
		}
		if pid != s.cmd.Process.Pid && parent(pid) != s.cmd.Process.Pid {
			continue
		}
		cpu, err := cpuclock.Process(pid)
		if err != nil {
			continue // it has just ended
		}
		all[pid] = usage{name: s.partName(pid), cpu: cpu, kib: resident(pid)}
	}
	return all, nil
}

// parent is a process's parent, 0 of one that is gone.
func parent(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	ppid, _ := strconv.Atoi(fields[1]) // a number, says proc(5)
	return ppid
}

var partLine = regexp.MustCompile(`supervisor\] (\S+): pid (\d+)\n`)

// partName is what the server's log calls the process.
func (s *server) partName(pid int) string {
	for _, m := range partLine.FindAllStringSubmatch(s.log.String(), -1) {
		if m[2] == strconv.Itoa(pid) {
			return m[1]
		}
	}
	return "supervisor"
}

func resident(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(data))[1]) // a number, says proc(5)
	return pages * os.Getpagesize() / 1024
}

// rows reads the ledger from /metrics: what begins with fanoutbench:rows_, summed over the parts.
func (s *server) rows(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // read only
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	sums := map[string]float64{}
	for _, m := range rowsLine.FindAllStringSubmatch(string(body), -1) {
		v, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, err
		}
		sums[m[1]] += v
	}
	if len(sums) == 0 {
		return nil, fmt.Errorf("/metrics (%s) has no fanoutbench:rows_ lines", response.Status)
	}
	return sums, nil
}

var rowsLine = regexp.MustCompile(`(?m)^fanoutbench:rows_(built|delivered|dropped|in_flight|missing|doubled|reordered)(?:_total)?(?:\{[^}]*\})? (\S+)$`)

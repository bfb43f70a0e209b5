package servearm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/process"
)

// Config of one start.
type Config struct {
	Log          io.Writer     // of what the server writes
	ReadyTimeout time.Duration // until it serves; 0 is a minute, and ten seconds of one that runs already
	StopTimeout  time.Duration // from SIGTERM to SIGKILL; 0 is half a minute
	Records      int           // items and prefill batches whose records are asked for; 0: as many as the server keeps by itself
}

const (
	defaultReady = time.Minute
	defaultThere = 10 * time.Second
	defaultStop  = 30 * time.Second
	// pollEvery is the time between two questions whether the server is ready.
	pollEvery = 10 * time.Millisecond
	// pollTimeout bounds one of them.
	pollTimeout = 5 * time.Second
)

// Server runs.
type Server struct {
	URL   string
	Arm   Arm
	child *process.Child // nil: it is not ours to end
	stop  time.Duration
}

// Start starts the arm's server and waits until it is ready.
func Start(ctx context.Context, a Arm, c Config) (*Server, error) {
	s := &Server{Arm: a, stop: c.StopTimeout}
	if s.stop == 0 {
		s.stop = defaultStop
	}
	wait := c.readyTimeout(a)
	within, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("it is not ready after %v", wait))
	defer cancel()
	log := newWatch(c.Log)
	err := s.launch(a, c, log)
	if err == nil {
		err = s.ready(within, log)
	}
	if err == nil {
		return s, nil
	}
	if s.child == nil {
		return nil, fmt.Errorf("servearm: %s: %w", a.Spec, err)
	}
	s.child.End(0, s.stop)
	return nil, fmt.Errorf("servearm: %s: %w; last lines of its log: %s", a.Spec, err, s.child.Log())
}

// readyTimeout is how long the arm's server is waited for.
func (c Config) readyTimeout(a Arm) time.Duration {
	switch {
	case c.ReadyTimeout != 0:
		return c.ReadyTimeout
	case a.Started():
		return defaultReady
	}
	return defaultThere
}

// launch starts the process, if there is one to start.
func (s *Server) launch(a Arm, c Config, log *watch) error {
	argv := a.Command(c.Records)
	switch a.Kind {
	case KindURL:
		s.URL = a.Name
		return nil
	case KindLaunch:
		port, err := freePort()
		if err != nil {
			return err
		}
		s.URL = "http://" + net.JoinHostPort(host, port)
		argv[len(argv)-1] = strings.ReplaceAll(argv[len(argv)-1], portMark, port)
	}
	var err error
	s.child, err = process.StartLogged(argv, process.TermWithParent, log)
	return err
}

// Command is the whole command line that Start starts the server by, with {port}
// where a launch arm has its port; none of a server that runs already. Records are
// as in Config.
func (a Arm) Command(records int) []string {
	switch a.Kind {
	case KindURL:
		return nil
	case KindLaunch:
		return []string{"sh", "-c", "exec " + a.Name}
	}
	argv := slices.Concat(a.Program, []string{"--host", host, "--port", "0"}, a.flags())
	if _, has := a.Options["admission-records"]; !has && records > 0 {
		argv = append(argv, "--admission-records="+strconv.Itoa(records))
	}
	return argv
}

const host = "127.0.0.1"

// freePort is one that nobody listened at just now.
func freePort() (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// ready waits until the server serves.
func (s *Server) ready(ctx context.Context, log *watch) error {
	if s.Arm.Ours() {
		for _, said := range []<-chan struct{}{log.listens, log.rolls} {
			select {
			case <-said:
			case <-s.ended():
				return s.obituary()
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		s.URL = log.url
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var last error // what the server last said, or that it said nothing
	for {
		err := healthy(ctx, s.URL)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil { // else it says that the time is over
			last = err
		}
		select {
		case <-tick.C:
		case <-s.ended():
			return s.obituary()
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), last)
		}
	}
}

// healthy is nil if GET /health answers 200.
func healthy(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return err
	}
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s/health: status %d, expected 200", url, answer.StatusCode)
	}
	return nil
}

// PID is the server's process, 0 if it was not started here.
func (s *Server) PID() int {
	if s.child == nil {
		return 0
	}
	return s.child.PID()
}

// ended is closed when the process has ended; never for one that is not ours.
func (s *Server) ended() <-chan struct{} {
	if s.child == nil {
		return nil
	}
	return s.child.Ended()
}

func (s *Server) obituary() error {
	how := "exit status 0"
	if err := s.child.Exit(); err != nil {
		how = err.Error()
	}
	return fmt.Errorf("the server ended (%s) without having been told to", how)
}

// Err says of a server that was started here how it ended, if it has.
func (s *Server) Err() error {
	select {
	case <-s.ended():
		return fmt.Errorf("servearm: %s: %w; last lines of its log: %s", s.Arm.Spec, s.obituary(), s.child.Log())
	default:
		return nil
	}
}

// Stop ends a server that was started here, and says whether it ended as it should.
func (s *Server) Stop() error {
	if s.child == nil {
		return nil
	}
	if err := s.Err(); err != nil {
		s.child.End(0, 0) // what is left of its group
		return err
	}
	if s.child.End(0, s.stop) {
		return fmt.Errorf("servearm: %s: the server did not end within %v of SIGTERM and was killed; last lines of its log: %s", s.Arm.Spec, s.stop, s.child.Log())
	}
	if err := s.child.Exit(); err != nil && (s.Arm.Ours() || !bySignal(err)) {
		return fmt.Errorf("servearm: %s: the server ended with %w, expected exit status 0; last lines of its log: %s", s.Arm.Spec, err, s.child.Log())
	}
	return nil
}

// bySignal says whether a process ended as SIGTERM or a SIGKILL of its own does,
// by the signal or with the status that stands for it.
func bySignal(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok {
		return false
	}
	if status.Signaled() {
		return status.Signal() == syscall.SIGTERM || status.Signal() == syscall.SIGKILL
	}
	const shell = 128
	return status.ExitStatus() == shell+int(syscall.SIGTERM) || status.ExitStatus() == shell+int(syscall.SIGKILL)
}

// What the log of a server of this module says.
var (
	listensAt = regexp.MustCompile(`listening at (http://\S+)`)
	ready     = "The server is fired up and ready to roll!"
)

// watch passes a log on and notices two of its lines.
type watch struct {
	to      io.Writer
	mu      sync.Mutex
	line    []byte
	rolled  bool
	url     string        // valid once listens is closed
	listens chan struct{} // closed: the address is known
	rolls   chan struct{} // closed: the server's own first request is done
}

func newWatch(to io.Writer) *watch {
	return &watch{to: to, listens: make(chan struct{}), rolls: make(chan struct{})}
}

// lineBytes is how much of a line is looked at.
const lineBytes = 1 << 12

func (w *watch) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rolled && w.url != "" {
		return w.to.Write(p)
	}
	for _, b := range p {
		if b != '\n' {
			if len(w.line) < lineBytes {
				w.line = append(w.line, b)
			}
			continue
		}
		w.see(string(w.line))
		w.line = w.line[:0]
	}
	return w.to.Write(p)
}

func (w *watch) see(line string) {
	if found := listensAt.FindStringSubmatch(line); found != nil && w.url == "" {
		w.url = found[1]
		close(w.listens)
	}
	if strings.Contains(line, ready) && !w.rolled {
		w.rolled = true
		close(w.rolls)
	}
}

package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

// Config of a server.
type Config struct {
	Args    args.Args
	Parts   map[string]part.Run // by kind
	Command []string            // runs a part as a child, by RunPart; not looked at with Args.InProcess
	Ledger  func(folder string) (counters.Ledger, error)
	Log     io.Writer
	TempDir string          // where the private folder is made
	Now     <-chan struct{} // closed: end at once, whatever is unfinished
}

// server is a server that runs.
type server struct {
	Config
	out       *sink
	slog      *slog.Logger
	accounted bool // the ledger has been told
	folder    *folder
	listeners []*net.TCPListener // those not given to a worker yet
	address   *net.TCPAddr
	ids       []part.ID
	units     []unit // of ids, as far as they have been started
	events    chan event

	ready, drained, told, ended []bool // of ids
}

// Run runs a server until ctx ends, and then ends it in order; nil says that every
// request was answered and every row accounted for. Nothing of it is left after
// Run: no process, no socket, no folder.
func Run(ctx context.Context, c Config) (err error) {
	log := newSpool(c.Log, spoolLimit)
	defer func() { err = errors.Join(err, log.close(spoolGrace)) }()
	s := &server{Config: c, out: &sink{w: log}, ids: part.All(c.Args)}
	s.slog = s.out.logger("supervisor", c.Args.LogLevel)
	base, err := folderBase(c.TempDir)
	if err != nil {
		return err
	}
	for _, path := range sweep(base) {
		s.slog.Warn("removed what a server that was killed had left", "folder", path)
	}
	if s.folder, err = newFolder(base); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.folder.remove()) }()
	if s.listeners, err = listen(base, c.Args.Host, c.Args.Port, c.Args.TokenizerWorkerNum); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(s.listeners)) }()
	s.address = s.listeners[0].Addr().(*net.TCPAddr)
	if err := s.live(ctx); err != nil {
		s.fail(err)
		s.lastLedger()
		return err
	}
	return nil
}

// live starts the parts, watches them and ends them.
func (s *server) live(ctx context.Context) error {
	s.slog.Info("loading " + cmp.Or(s.Args.ModelPath, s.Args.ServedModelName))
	if err := s.start(); err != nil {
		return err
	}
	if err := s.register(ctx); err != nil {
		return err
	}
	if err := s.announce(ctx); err != nil {
		return err
	}
	if err := s.watch(ctx); err != nil {
		return err
	}
	return s.finish()
}

func (s *server) start() error {
	n := len(s.ids)
	s.ready, s.drained, s.told, s.ended = make([]bool, n), make([]bool, n), make([]bool, n), make([]bool, n)
	s.events = make(chan event, 16*n)
	for i, id := range s.ids {
		tell := func(e event) {
			e.unit = i
			s.events <- e
		}
		var l *net.TCPListener
		if id.Kind == part.Worker {
			l, s.listeners = s.listeners[0], s.listeners[1:]
		}
		u, err := s.startUnit(id, l, tell)
		if err != nil {
			return fmt.Errorf("start %s: %w", id, err)
		}
		s.units = append(s.units, u)
	}
	return nil
}

func (s *server) startUnit(id part.ID, l *net.TCPListener, tell func(event)) (unit, error) {
	if !s.Args.InProcess {
		j := job{Type: typeJob, ID: id, Args: s.Args, APIKey: s.Args.APIKey, Folder: s.folder.path, Listener: l != nil}
		c, err := startChild(s.Command, j, l, s.out, tell)
		if l != nil {
			err = errors.Join(err, l.Close()) // the child's copy is the only one: the port is free when it ends
		}
		return c, err
	}
	run, ok := s.Parts[id.Kind]
	if !ok {
		run = noRun(id.Kind)
	}
	e := part.Env{ID: id, Args: s.Args, Folder: s.folder.path, Log: s.out.logger(id.String(), s.Args.LogLevel)}
	if l != nil {
		e.Listener = l
	}
	return startRoutine(run, e, tell), nil
}

// next waits for an event and notes it. Its error is the end of a part that nobody
// had asked to end, or that failed in ending.
func (s *server) next(ctx context.Context) (event, error) {
	select {
	case e := <-s.events:
		return e, s.note(e)
	case <-ctx.Done():
		return event{}, context.Cause(ctx)
	case <-s.Now:
		return event{}, errNow
	}
}

var errNow = errors.New("ended at once, as it was asked to a second time; requests may have been cut off")

func (s *server) note(e event) error {
	switch e.kind {
	case typeReady:
		s.ready[e.unit] = true
	case typeDrained:
		s.drained[e.unit] = true
	case typeEnd:
		s.ended[e.unit] = true
		if e.err != nil || !s.told[e.unit] {
			return s.obituary(e)
		}
	}
	return nil
}

// failure is an error of which clients are told less: neither process ids nor
// what the parts wrote to their logs.
type failure struct {
	error
	told string
}

// reason is what clients are told of an error that ends the server; the worker
// says before it that it ends.
func reason(err error) string {
	var f *failure
	if errors.As(err, &f) {
		return f.told
	}
	return err.Error()
}

// obituary names the part and says how it ended, with the last it wrote.
func (s *server) obituary(e event) error {
	how := "it ended, which nobody had asked for"
	if e.err != nil {
		how = e.err.Error()
	}
	id, u := s.ids[e.unit], s.units[e.unit]
	name := id.String()
	if !id.Numbered() {
		name = "the " + name
	}
	told := fmt.Sprintf("%s has failed (%s)", name, how)
	if log := u.log(); log != "" {
		how += "; last lines of its log: " + log
	}
	return &failure{fmt.Errorf("%s (pid %d) failed: %s", id, u.pid(), how), told}
}

// errAsked is why a server ends that was asked to.
var errAsked = errors.New("the server was asked to end before it served")

// register waits until every part can serve (sglang#10121).
func (s *server) register(ctx context.Context) error {
	limit := seconds(s.Args.StartTimeout)
	late, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	for slices.Contains(s.ready, false) {
		e, err := s.next(late)
		switch {
		case errors.Is(err, errLate):
			return s.lateError(limit)
		case ctx.Err() != nil || err == nil && e.kind == typeSignal:
			return errAsked
		case err != nil:
			return err
		}
	}
	return nil
}

var errLate = errors.New("too late")

func (s *server) lateError(limit time.Duration) error {
	var names, logs []string
	for i, ready := range s.ready {
		if !ready {
			names = append(names, s.ids[i].String())
			if log := s.units[i].log(); log != "" {
				logs = append(logs, fmt.Sprintf("; last lines of %s's log: %s", s.ids[i], log))
			}
		}
	}
	told := fmt.Sprintf("%s did not register within %v (--start-timeout)", strings.Join(names, ", "), limit)
	return &failure{errors.New(told + strings.Join(logs, "")), told}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// announce says what runs and where, asks it once for a token, and lets the workers
// serve.
func (s *server) announce(ctx context.Context) error {
	if err := part.Reach(s.folder.path, part.Warming); err != nil {
		return err
	}
	for i, id := range s.ids {
		s.slog.Info(fmt.Sprintf("%s: pid %d", id, s.units[i].pid()))
	}
	// At every level: without the address nobody can use it, and published scripts
	// wait for the last word.
	always := s.out.logger("supervisor", "info")
	always.Info("listening at http://" + net.JoinHostPort(s.Args.Host, strconv.Itoa(s.address.Port)))
	if !s.Args.SkipServerWarmup {
		if err := s.warmUp(ctx); err != nil {
			return err
		}
	}
	if err := part.Reach(s.folder.path, part.Serving); err != nil {
		return err
	}
	always.Info("The server is fired up and ready to roll!")
	return nil
}

// watch waits for the wish that the server end, or for a part's end.
func (s *server) watch(ctx context.Context) error {
	for {
		e, err := s.next(ctx)
		switch {
		case e.kind == typeSignal:
			s.slog.Info(fmt.Sprintf("%s got a signal (%s): the server ends", s.ids[e.unit], e.signal))
			return nil
		case err == nil:
		case e.kind == "" && !errors.Is(err, errNow): // ctx has ended
			s.slog.Info("the server ends")
			return nil
		default:
			return err
		}
	}
}

// self is where the server's own requests go.
func (s *server) self() string {
	ip := s.address.IP
	switch {
	case ip.IsUnspecified() && ip.To4() != nil:
		ip = net.IPv4(127, 0, 0, 1)
	case ip.IsUnspecified():
		ip = net.IPv6loopback
	}
	return "http://" + net.JoinHostPort(ip.String(), strconv.Itoa(s.address.Port))
}

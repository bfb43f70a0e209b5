package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
)

const (
	listenerFD = 3
	// orphanGrace is how long a part whose supervisor is gone has to end.
	orphanGrace = 3 * time.Second
)

// errOrphan ends the parts of a supervisor that was killed (sglang#15165,
// vllm#32116).
var errOrphan = &part.Failure{Reason: "the supervisor of the server is gone"}

// side is the child's end of the conversation.
type side struct {
	conn    *protocol.Conn
	sending sync.Mutex // a part's goroutines and the signals speak
	job     job
	ending  chan struct{}
	orphan  chan struct{} // closed when the input has ended without a line "end"
}

// RunPart is the life of a child: it reads its job and runs the part of that kind.
// An error has been told to the supervisor, if there still is one.
func RunPart(stdin io.Reader, stdout, stderr io.Writer, parts map[string]part.Run) error {
	// Whoever writes to a supervisor that is gone gets an error, not the signal: the
	// sockets must still be removed.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	s := &side{conn: protocol.NewConn(stdin, stdout), ending: make(chan struct{}), orphan: make(chan struct{})}
	line, err := s.conn.Receive()
	if err == nil {
		err = line.Expect(typeJob, &s.job)
	}
	if err != nil {
		return fmt.Errorf("a part's job: %w", err)
	}
	err = s.run(stderr, parts)
	select {
	case <-s.orphan:
		return errors.Join(err, os.RemoveAll(s.job.Folder))
	default:
	}
	if err != nil {
		s.say(protocol.Error{Type: protocol.TypeError, Message: err.Error()})
	}
	return err
}

func (s *side) run(stderr io.Writer, parts map[string]part.Run) error {
	run, ok := parts[s.job.ID.Kind]
	if !ok {
		return fmt.Errorf("no part of kind %q", s.job.ID.Kind)
	}
	if _, set := os.LookupEnv("GOMAXPROCS"); !set {
		all := runtime.GOMAXPROCS(0)
		if own := processors(s.job.ID.Kind, &s.job.Args, all); own < all { // Go no longer follows a cgroup's limit then
			runtime.GOMAXPROCS(own)
		}
	}
	s.job.Args.APIKey = s.job.APIKey
	env := part.Env{
		ID: s.job.ID, Args: s.job.Args, Folder: s.job.Folder,
		Log:   NewLogger(stderr, s.job.ID.String(), s.job.Args.LogLevel),
		Ready: func() { s.say(word{typeReady}) }, Drained: func() { s.say(word{typeDrained}) },
		Ending: s.ending,
	}
	if s.job.Listener {
		var err error
		if env.Listener, err = inherited(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go s.obey(cancel)
	defer s.passSignals()()
	return verdict(ctx, run(ctx, env))
}

// processors are how many of all a part runs on at once: parts of one kind share them, and the routers are a loop each. A
// process that may run on more than it gets wakes a thread for each goroutine that is ready, only to have it
// find nothing to do. The scheduler has all, for the model.
func processors(kind string, a *args.Args, all int) int {
	switch kind {
	case part.Worker:
		return max(1, all/a.TokenizerWorkerNum)
	case part.Detokenizer:
		return max(1, all/a.DetokenizerWorkerNum)
	case part.Router, part.DetokenizerRouter:
		return 1
	}
	return all
}

func inherited() (net.Listener, error) {
	file := os.NewFile(listenerFD, "listener")
	l, err := net.FileListener(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("the listener at descriptor %d: %w", listenerFD, err)
	}
	return l, nil
}

// verdict is what a part's end means: nothing if it was told to end.
func verdict(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case cause == nil && err == nil:
		return errors.New("it ended, which nobody had asked for")
	case cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Canceled)):
		return nil
	}
	return err
}

// obey reads what the supervisor says.
func (s *side) obey(cancel context.CancelCauseFunc) {
	draining := false
	for {
		line, err := s.conn.Receive()
		switch {
		case err == nil && line.Type == typeDrain:
			if !draining {
				draining = true
				close(s.ending)
			}
			continue
		case err == nil && line.Type == typeEnd:
			var end endLine
			if err = line.Decode(&end); err == nil {
				cancel(end.cause())
				return
			}
		}
		// The end of the input, or a line that means nothing: no supervisor of ours.
		close(s.orphan)
		cancel(errOrphan)
		time.Sleep(orphanGrace)
		_ = os.RemoveAll(s.job.Folder) // what cannot be removed is swept by the next server
		os.Exit(1)
	}
}

// passSignals tells the supervisor of signals that this process gets, and it ends
// the server in order: a service manager signals all processes of a server at once.
func (s *side) passSignals() (stop func()) {
	got := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(got, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		for {
			select {
			case g := <-got:
				s.say(signalLine{typeSignal, g.String()})
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(got)
		close(done)
	}
}

// say sends a line. It fails only if the supervisor is gone, which obey sees.
func (s *side) say(line any) {
	s.sending.Lock()
	defer s.sending.Unlock()
	_ = s.conn.Send(line)
}

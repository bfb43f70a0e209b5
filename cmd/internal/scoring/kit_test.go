package scoring

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/serve"
	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
)

// serverWord makes the test binary the server.
const serverWord = "__serve"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serverWord {
		os.Exit(serve.Main(os.Args[1:2], os.Args[2:]))
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "__") {
		fmt.Fprintf(os.Stderr, "started as %q, which must not run the tests\n", os.Args[1:])
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// patience bounds what must not happen; no test waits for it to pass.
const patience = 2 * time.Minute

// logged is a log that can be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// server is a running arm.
type server struct {
	Client
	t   *testing.T
	log *logged
}

// start runs a builtin arm until the test ends, when it must end as it should.
func start(t *testing.T, spec string) *server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	a, err := servearm.Resolver{Server: []string{self, serverWord}}.Resolve(ctx, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	s, err := servearm.Start(ctx, a, servearm.Config{Log: log, ReadyTimeout: patience, StopTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &server{Client{URL: s.URL, Timeout: patience}, t, log}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// set is the bodies of a shape, their tokens counted by the server.
func (s *server) set(shape Shape, o Options) *Set {
	s.t.Helper()
	ctx := within(s.t)
	alphabet, err := s.Alphabet(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	prompts, err := shape.Prompts(alphabet)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.Count(ctx, prompts); err != nil {
		s.t.Fatal(err)
	}
	if o.Labels, err = s.Labels(ctx); err != nil {
		s.t.Fatal(err)
	}
	o.API = shape.API
	set, err := NewSet(o, prompts)
	if err != nil {
		s.t.Fatal(err)
	}
	return set
}

// send sends the n-th body of a set and takes its answer.
func (s *server) send(set *Set, n int) Answer {
	s.t.Helper()
	status, body, err := s.ask(within(s.t), http.MethodPost, set.Path(), set.Body(n))
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := set.Answer(n, status, body)
	if err != nil {
		s.t.Fatalf("send %d: %v", n, err)
	}
	return a
}

// spread is how a send's items went through the scheduler.
func (s *server) spread(set *Set, n int) Spread {
	s.t.Helper()
	rids := set.RIDs(n)
	a, err := s.Admissions(within(s.t), rids)
	if err != nil {
		s.t.Fatal(err)
	}
	spread, err := a.Spread(rids)
	if err != nil {
		s.t.Fatal(err)
	}
	return spread
}

// published is the published request with another number of items.
func published(items int) Shape {
	return Shape{API: Score, Items: items, QueryTokens: PublishedQueryTokens, ItemTokens: PublishedItemTokens, Unique: 1}
}
